"""Makes the vectors of memories that are being written, within the request if that does not take long."""

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

# A request waits for at most this many passages (about half a minute of the bundled model on two cores); the worker
# embeds larger ones.
INLINE_PASSAGES = 6_000
# A batch of more than BESIDE_MEMORIES memories is embedded while the caller checks and writes it, in parts of
# BESIDE_PASSAGES: few, so that the first part begins early, but enough for efficient runs of the model.
BESIDE_MEMORIES = 64
BESIDE_PASSAGES = 64
PARTS_LEFT = 2
# A memory with more passages is left to the worker (this many take a quarter of a second): such turns are documents,
# whose senders do not wait for vectors.
INLINE_PASSAGES_EACH = 64


@dataclass(frozen=True, slots=True)
class Embedded:
    """Holds vectors, float32 [passages, dimensions], and the id of the stored model that made them.

    `places` has for each row the place of the memory in the embedded batch, and its passage, both from 0.
    """

    model_id: int
    vectors: np.ndarray
    places: list[tuple[int, int]]

    @property
    def memories(self) -> set[int]:
        """Returns the places of the memories that have vectors."""
        return {memory for memory, _ in self.places}

    def only(self, memories: Sequence[int]) -> Embedded:
        """Returns the vectors of some of the memories, given by their places; these are renumbered from 0."""
        place_of = {memory: place for place, memory in enumerate(memories)}
        rows = [row for row, (memory, _) in enumerate(self.places) if memory in place_of]
        places = [(place_of[self.places[row][0]], self.places[row][1]) for row in rows]
        return Embedded(self.model_id, self.vectors[rows], places)


@dataclass(frozen=True, slots=True)
class Expected:
    """Holds the model of vectors that are being made, and the places of the memories that will have some."""

    model_id: int
    memories: set[int]

    def only(self, memories: Sequence[int]) -> Expected:
        """Selects some of the memories, as `Embedded.only` does."""
        return Expected(self.model_id, {place for place, memory in enumerate(memories) if memory in self.memories})


@dataclass(frozen=True, slots=True)
class Begun:
    """Holds texts that `model` is already embedding; `pending` is None if it embeds only when asked for the result."""

    model: ActiveModel
    texts: list[str]
    pending: Pending | None

    def embed(self, model: ActiveModel, texts: list[str]) -> np.ndarray:
        """Embeds texts as `model.embed` does, or waits for the vectors if they have been begun for the same texts.

        Raises EmbeddingUnavailable.
        """
        if self.pending is None or (model, texts) != (self.model, self.texts):
            return model.embed(texts)
        return model.check(self.pending.result())


class BatchEmbedding:
    """Makes the vectors of memories that are added in parts; many memories are embedded in parallel to the caller.

    A small batch, and vectors of a model that is called over the network, are only made in `wait`. At its end, the
    context manager cancels the parts that were not begun.
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
        """Starts to embed the passages of a memory that will probably be added, while the caller checks it."""
        with suppress(EmbeddingUnavailable):
            # The gate may refuse the memory, which must not activate a model then.
            model = active_model(choose=False)
            provider = model.provider
            if isinstance(provider, EmbedsElsewhere):
                self._begun = Begun(model, list(passages), provider.start(passages))

    def add(self, memories: Sequence[Sequence[str]]) -> None:
        """Adds memories, each given as its passages (`passages_to_embed`)."""
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
        """Returns the vectors that `wait` will return if nothing fails, or None if none are made in parallel."""
        if self._pool is None or self._model is None or not self._places:
            return None
        return Expected(self._model.id, {place for place, _ in self._places})

    def wait_for_most(self) -> None:
        """Waits until at most PARTS_LEFT parts are left, so that a caller who then locks rows holds them briefly."""
        wait(self._making[:-PARTS_LEFT])

    def wait(self) -> Embedded | None:
        """Returns the vectors of all added memories, as `embed_short_or_none` does; `expected` is None afterwards."""
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
    """Embeds memories, each given as its passages (`passages_to_embed`). Raises EmbeddingUnavailable."""
    model = active_model()
    texts = [text for own in memories for text in own]
    vectors = model.embed(texts) if begun is None else begun.embed(model, texts)
    places = [(memory, passage) for memory, own in enumerate(memories) for passage in range(len(own))]
    return Embedded(model.id, vectors, places)


def embed_or_none(memories: Sequence[Sequence[str]], *, begun: Begun | None = None) -> Embedded | None:
    """Embeds memories as `embed_memories` does, or returns None if the worker must do it, which is logged.

    The worker must do it if the provider is unavailable, or if there are more than INLINE_PASSAGES.
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
    """Embeds memories as `embed_or_none` does, except those of more than INLINE_PASSAGES_EACH passages.

    The worker embeds these.
    It waits for what was `begun`, if that is of these texts.
    """
    short = [place for place, own in enumerate(memories) if len(own) <= INLINE_PASSAGES_EACH]
    if not short:
        return None
    made = embed_or_none([memories[place] for place in short], begun=begun)
    if made is None:
        return None
    return Embedded(made.model_id, made.vectors, [(short[memory], passage) for memory, passage in made.places])


def text_to_embed(text: str, speaker: str, context: str = "") -> str:
    """Returns the text that is indexed for a memory: speaker and context come first, as a part of its meaning."""
    said = " > ".join(part for part in (speaker, context) if part)
    return f"{said}: {text}" if said else text


def passages_to_embed(text: str, speaker: str, context: str = "") -> list[str]:
    """Returns the texts that get a vector each: one for nearly every memory, several for a long text."""
    return [text_to_embed(passage, speaker, context) for passage in passages(text)]
