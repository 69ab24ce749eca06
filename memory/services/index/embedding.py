"""Vectors of what is being written, made in the request where that does not take long."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from memory.errors import EmbeddingUnavailable
from memory.providers.embedding.interface import EmbedsElsewhere, Pending
from memory.services.index.embedding_model import ActiveModel, active_model
from memory.text.passages import passages

log = logging.getLogger("memos.embedding")

# What a request waits for (about half a minute of the bundled model on two cores); with more, the worker embeds.
INLINE_PASSAGES = 6_000
# A batch of more memories is embedded while the rest of it is looked at and written, in parts of so many passages: few,
# so that the first are soon on their way, and enough for a good many runs of the model each.
BESIDE_MEMORIES = 64
BESIDE_PASSAGES = 64
PARTS_LEFT = 2
# Of one memory: a turn with more is a document, whose sender does not wait for its vectors (a quarter of a second).
INLINE_PASSAGES_EACH = 64


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors, float32 [passages, dimensions], and the stored model that made them.

    `places` says of each row the memory (its place in what was embedded) and the passage in it, both from 0.
    """

    model_id: int
    vectors: np.ndarray
    places: list[tuple[int, int]]

    @property
    def memories(self) -> set[int]:
        """The places of the memories that have vectors."""
        return {memory for memory, _ in self.places}

    def only(self, memories: Sequence[int]) -> Embedded:
        """What belongs to some of the memories, given by their places, which are counted anew."""
        place_of = {memory: place for place, memory in enumerate(memories)}
        rows = [row for row, (memory, _) in enumerate(self.places) if memory in place_of]
        places = [(place_of[self.places[row][0]], self.places[row][1]) for row in rows]
        return Embedded(self.model_id, self.vectors[rows], places)


@dataclass(frozen=True, slots=True)
class Expected:
    """Vectors that are being made: the model, and the places of the memories that will have some."""

    model_id: int
    memories: set[int]

    def only(self, memories: Sequence[int]) -> Expected:
        """As `Embedded.only`."""
        return Expected(self.model_id, {place for place, memory in enumerate(memories) if memory in self.memories})


@dataclass(frozen=True, slots=True)
class Begun:
    """Texts that `model` is embedding meanwhile, if it does that at all."""

    model: ActiveModel
    texts: list[str]
    pending: Pending | None

    def embed(self, model: ActiveModel, texts: list[str]) -> np.ndarray:
        """As `model.embed`; what was begun is waited for, if it is the same. Raises EmbeddingUnavailable."""
        if self.pending is None or (model, texts) != (self.model, self.texts):
            return model.embed(texts)
        return model.check(self.pending.result())


class BatchEmbedding:
    """Vectors of memories that come in parts: of many, made beside what the caller does meanwhile.

    A few, and those of a model that is called over the network, are made when they are waited for. Leaving it as a
    context manager gives up what was not begun.
    """

    def __init__(self, memories: int) -> None:
        self._memories: list[Sequence[str]] = []
        self._places: list[tuple[int, int]] = []
        self._making: list[Future[np.ndarray]] = []
        self._model: ActiveModel | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._begun: Begun | None = None
        if memories > BESIDE_MEMORIES:
            with suppress(EmbeddingUnavailable):
                model = active_model()
                if not model.calls_network:
                    self._model, self._pool = model, ThreadPoolExecutor(2, thread_name_prefix="embed-batch")

    def __enter__(self) -> BatchEmbedding:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def begin(self, passages: Sequence[str]) -> None:
        """Has the passages of a memory embedded that will probably be added: it is looked at meanwhile."""
        with suppress(EmbeddingUnavailable):
            # It may not be let in, and then it chooses no model either.
            model = active_model(choose=False)
            provider = model.provider
            if isinstance(provider, EmbedsElsewhere):
                self._begun = Begun(model, list(passages), provider.start(passages))

    def add(self, memories: Sequence[Sequence[str]]) -> None:
        """Takes in further memories, each given as its passages (`passages_to_embed`)."""
        first = len(self._memories)
        self._memories += memories
        if self._pool is None or self._model is None:
            return
        short = [place for place, own in enumerate(memories, first) if len(own) <= INLINE_PASSAGES_EACH]
        places = [(place, passage) for place in short for passage in range(len(self._memories[place]))]
        self._places += places
        if len(self._places) > INLINE_PASSAGES:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            return
        for start in range(0, len(places), BESIDE_PASSAGES):
            part = [self._memories[place][passage] for place, passage in places[start : start + BESIDE_PASSAGES]]
            self._making.append(self._pool.submit(contextvars.copy_context().run, self._model.embed, part))

    @property
    def expected(self) -> Expected | None:
        """What `wait` answers if nothing goes wrong, or None when nothing is being made meanwhile."""
        if self._pool is None or self._model is None or not self._places:
            return None
        return Expected(self._model.id, {place for place, _ in self._places})

    def wait_for_most(self) -> None:
        """Until no more than PARTS_LEFT are in the making: whoever locks rows from then on locks them for a moment."""
        wait(self._making[:-PARTS_LEFT])

    def wait(self) -> Embedded | None:
        """The vectors of all that was added, as `embed_short_or_none` has them. Nothing is expected from then on."""
        expected, self._model = self.expected, None
        if expected is None:
            return embed_short_or_none(self._memories, begun=self._begun)
        try:
            vectors = np.concatenate([part.result() for part in self._making])
        except EmbeddingUnavailable as error:
            log.warning("embedding put off", extra={"memories": len(self._memories), "reason": error.message})
            return None
        return Embedded(expected.model_id, vectors, self._places)


def embed_memories(memories: Sequence[Sequence[str]], *, begun: Begun | None = None) -> Embedded:
    """Vectors of memories, each given as its passages (`embedded_passages`). Raises EmbeddingUnavailable."""
    model = active_model()
    texts = [text for own in memories for text in own]
    vectors = model.embed(texts) if begun is None else begun.embed(model, texts)
    places = [(memory, passage) for memory, own in enumerate(memories) for passage in range(len(own))]
    return Embedded(model.id, vectors, places)


def embed_or_none(memories: Sequence[Sequence[str]], *, begun: Begun | None = None) -> Embedded | None:
    """As `embed_memories`, but None (logged) when the worker will make the vectors.

    That is so when the provider is away, and when there are more than INLINE_PASSAGES.
    """
    passage_count = sum(len(own) for own in memories)
    if passage_count > INLINE_PASSAGES:
        log.info("embedding put off", extra={"memories": len(memories), "passages": passage_count})
        return None
    try:
        return embed_memories(memories, begun=begun)
    except EmbeddingUnavailable as error:
        log.warning("embedding put off", extra={"memories": len(memories), "reason": error.message})
        return None


def embed_short_or_none(memories: Sequence[Sequence[str]], *, begun: Begun | None = None) -> Embedded | None:
    """As `embed_or_none`, without the memories of more than INLINE_PASSAGES_EACH passages: the worker embeds those.

    What was `begun` is waited for, if it is of these texts.
    """
    short = [place for place, own in enumerate(memories) if len(own) <= INLINE_PASSAGES_EACH]
    if not short:
        return None
    made = embed_or_none([memories[place] for place in short], begun=begun)
    if made is None:
        return None
    return Embedded(made.model_id, made.vectors, [(short[memory], passage) for memory, passage in made.places])


def text_to_embed(text: str, speaker: str, context: str = "") -> str:
    """What is indexed of a memory: who said it, and what it stands under, belong to its meaning."""
    said = " > ".join(part for part in (speaker, context) if part)
    return f"{said}: {text}" if said else text


def passages_to_embed(text: str, speaker: str, context: str = "") -> list[str]:
    """What is embedded of a memory, a vector each: nearly always one, its `embedded_text`; of a long text several."""
    return [text_to_embed(passage, speaker, context) for passage in passages(text)]
