"""Which embedding model is in use, vectors for memories that lack one, and the switch to another model."""

from __future__ import annotations

import contextvars
import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from memory import audit, caller
from memory.caches import Cache, for_seconds
from memory.enums import AuditEvent, EmbeddingState, MemoryState
from memory.errors import BudgetExceeded, EmbeddingRefused, EmbeddingUnavailable, InvalidInput
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.models.locks import Lock, try_lock
from memory.models.memory import MemoryQuerySet, spans_of
from memory.models.search import has_vector
from memory.postgresql import reach
from memory.providers.embedding.interface import EmbedsElsewhere, Pending
from memory.providers.embedding.registry import EmbeddingProvider, provider_for, read_configured_model
from memory.services.index import marks
from memory.services.index.searchable_text import Span, spans_out_of_search
from memory.services.jobs import runner
from memory.stores import model_calls
from memory.text.passages import passages
from memory.text.question_frames import take_out
from memory.text.requests import REQUESTS
from memory.text.utterances import live_text
from memory.text.vectors import halfvec_literal

log = logging.getLogger("memos.embedding")

# How long a process may go on with the model it knows after another one became active.
KNOWN_SECONDS = 3.0
# A question that is asked again (an agent tries again, another one asks the same) is not embedded again.
QUESTION_SECONDS = 600.0
QUESTIONS_KEPT = 2_000
# What the worker embeds and stores at once: memories, and passages unless one memory alone has more.
BATCH = 128
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
class ActiveModel:
    """The model that search uses: its row's id and what makes its vectors."""

    id: int
    provider_name: str
    name: str
    dimensions: int

    @property
    def provider(self) -> EmbeddingProvider:
        return provider_for(self.provider_name, self.name, self.dimensions)

    @property
    def calls_network(self) -> bool:
        """Whether its vectors are made elsewhere, and may cost something."""
        return self.provider_name == "openai"

    @property
    def is_minilm(self) -> bool:
        """Whether its cosines are those that weights learned for MiniLM hold for."""
        return self.provider_name == "minilm"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32 [len(texts), dimensions]. Raises EmbeddingUnavailable, also for vectors of another length."""
        return self.check(self.provider.embed(texts))

    def check(self, vectors: np.ndarray) -> np.ndarray:
        """What the provider answered. Raises EmbeddingUnavailable for vectors of another length."""
        if vectors.shape[1:] != (self.dimensions,):
            raise EmbeddingUnavailable(
                f"{self.name} answers {vectors.shape[-1]} dimensions, the stored vectors have {self.dimensions}: "
                "set MEMOS_EMBEDDING_DIMENSIONS back, or switch by `manage.py reembed`."
            )
        model_calls.note_answer(model_calls.EMBEDDING)
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> np.ndarray:
        """As `embed`, of questions to be compared with memories: without what all questions have in common."""
        return self._take_frames_out(self.embed(texts))

    def _take_frames_out(self, vectors: np.ndarray) -> np.ndarray:
        frames = self.provider.frames()
        return vectors if frames is None else take_out(frames, vectors)

    def embed_requests(self) -> np.ndarray:
        """Vectors of requests of all kinds, float32 [requests, dimensions], made once a process; none for a model of
        which it was not measured what they say. Raises EmbeddingUnavailable."""
        known = _requests.get(self.id)
        if known is not None:
            return known
        asked = REQUESTS if self.is_minilm else ()
        return _requests.put(
            self.id, self.embed_questions(asked) if asked else np.zeros((0, self.dimensions), np.float32)
        )

    def start_embedding(self, text: str) -> Pending | np.ndarray:
        """The vector of one question, float32 [dimensions]: in the making beside what the caller does meanwhile, or
        made within the last QUESTION_SECONDS."""
        key = (
            self.id,
            reach.current(),
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
        )
        known = _questions.get(key)
        if known is not None:
            return known
        provider = self.provider
        if isinstance(provider, EmbedsElsewhere) and (pending := provider.start([text])) is not None:
            return _PendingQuestion(
                pending, lambda vectors: _questions.put(key, self._take_frames_out(self.check(vectors))[0])
            )
        # In the caller's context: the call of a model over the network is put down to whoever asks.
        context = contextvars.copy_context()
        return _beside().submit(context.run, lambda: _questions.put(key, self.embed_questions([text])[0]))


class _PendingQuestion:
    """The vector of a question: `finish` makes it of what the model answers."""

    def __init__(self, pending: Pending, finish: Callable[[np.ndarray], np.ndarray]) -> None:
        self._pending = pending
        self._finish = finish
        self._vector: np.ndarray | None = None

    def result(self) -> np.ndarray:
        if self._vector is None:
            self._vector = self._finish(self._pending.result())
        return self._vector


@cache
def _beside() -> ThreadPoolExecutor:
    """As many threads as a web process answers requests with: none waits for another's vector."""
    return ThreadPoolExecutor(settings.MEMOS_WEB_THREADS, thread_name_prefix="embed-question")


# By model, whose they are, so that nobody can tell by the time it takes what others asked, and digest: no text is kept.
_questions: Cache[tuple[int, reach.Reach, bytes], np.ndarray] = for_seconds(QUESTION_SECONDS, most=QUESTIONS_KEPT)
# By model: of one process there is one in use, and for a moment a former one.
_requests: Cache[int, np.ndarray] = for_seconds(QUESTION_SECONDS * 144, most=4)
# It has one key.
_active: Cache[None, ActiveModel] = for_seconds(KNOWN_SECONDS)


def active_model(*, choose: bool = True) -> ActiveModel:
    """The active model; on an empty server the configured one becomes it, if the caller may `choose`.

    Raises EmbeddingUnavailable.
    """
    known = _active.get(None)
    if known is not None:
        return known
    row = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    if row is None and not choose:
        raise EmbeddingUnavailable("No embedding model is active yet: remember something first.")
    row = row or _first_model()
    return _active.put(None, ActiveModel(row.pk, row.provider, row.name, row.dimensions))


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


def pending_count() -> int:
    """Active memories that wait for their vector."""
    return Memory.objects.across_namespaces().awaiting_vector().count()


def embed_pending(*, limit: int = 10_000, seconds: float = float("inf")) -> int:
    """Makes missing vectors of the active model, in batches that are each kept; returns of how many memories.

    Ends after `limit` memories or about `seconds`; one run at a time, another returns 0. A text that the provider
    refuses is stepped over, and so are the memories of a namespace that has spent its budget of model calls. Raises
    EmbeddingUnavailable when the provider is away; what was made until then stays.
    """
    deadline = time.monotonic() + seconds
    waiting = Memory.objects.across_namespaces().awaiting_vector()
    with try_lock(Lock.EMBEDDING) as only:
        made = 0
        for batch in _fill(active_model(), waiting, limit=limit, may_wait=True) if only else ():
            made += batch
            if runner.give_way() or time.monotonic() > deadline:
                break
        return made


def reembed(
    *, provider: str, name: str, actor: str, now: Callable[[], datetime], progress: Callable[[int, int], None]
) -> EmbeddingModel:
    """Builds the vectors of another model beside the present ones and switches when none is missing.

    Search keeps using the present model until the switch, which is one row's change. Resumable: a second call goes on
    where the first ended. `progress(done, total)` is called after every batch. The former model's vectors are kept
    until `prune_retired`. Raises EmbeddingUnavailable, InvalidInput.
    """
    target = _model_row(provider, name)
    if target.state == EmbeddingState.ACTIVE:
        raise InvalidInput(f"{target} is the active model already: there is nothing to switch to.")
    model = ActiveModel(target.pk, target.provider, target.name, target.dimensions)
    memories = Memory.objects.across_namespaces()
    total = memories.count()
    done = MemoryVector.objects.across_namespaces().filter(model_id=target.pk, passage=0).count()
    progress(done, total)
    lacking = memories.filter(~has_vector(target.pk))
    for made in _fill(model, lacking):
        done += made
        progress(min(done, total), total)
    with transaction.atomic():
        former = EmbeddingModel.objects.select_for_update().filter(state=EmbeddingState.ACTIVE).first()
        EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).update(state=EmbeddingState.RETIRED)
        EmbeddingModel.objects.filter(pk=target.pk).update(state=EmbeddingState.ACTIVE, activated_at=now())
        audit.record_system(
            actor,
            AuditEvent.REEMBED,
            subject=str(target),
            details={"from": str(former) if former else None, "to": str(target), "vectors": done},
            now=now(),
        )
    marks.correct_marks()
    _active.clear()
    # Processes that still know the former model may have stored memories with its vectors only.
    time.sleep(KNOWN_SECONDS + 0.5)
    for made in _fill(model, lacking):
        done += made
        progress(done, max(done, total))
    marks.correct_marks()
    target.refresh_from_db()
    return target


def prune_retired() -> int:
    """Deletes the vectors of models that are no longer active; returns how many."""
    deleted, _ = MemoryVector.objects.across_namespaces().filter(model__state=EmbeddingState.RETIRED).delete()
    EmbeddingModel.objects.filter(state=EmbeddingState.RETIRED).delete()
    return deleted


def _first_model() -> EmbeddingModel:
    provider, name = read_configured_model()
    row = _model_row(provider, name)
    try:
        with transaction.atomic():
            EmbeddingModel.objects.filter(pk=row.pk).update(state=EmbeddingState.ACTIVE)
    except IntegrityError:
        # Another process was faster with another model.
        return EmbeddingModel.objects.get(state=EmbeddingState.ACTIVE)
    row.state = EmbeddingState.ACTIVE
    return row


def _model_row(provider: str, name: str) -> EmbeddingModel:
    dimensions = provider_for(provider, name).dimensions
    row, _ = EmbeddingModel.objects.get_or_create(
        provider=provider, name=name, dimensions=dimensions, defaults={"state": EmbeddingState.BUILDING}
    )
    return row


def _fill(
    model: ActiveModel, lacking: MemoryQuerySet, *, limit: float = float("inf"), may_wait: bool = False
) -> Iterator[int]:
    """Makes the vectors that are `lacking` batch by batch, oldest memories first; yields how many memories got theirs.

    Asks anew for every batch.
    """
    made = 0
    last_id = None
    while made < limit:
        rows = lacking if last_id is None else lacking.filter(pk__gt=last_id)
        columns = ("pk", "namespace_id", "content_hash", "retired_spans", "text", "speaker", "context")
        found = list(rows.order_by("pk").values_list(*columns)[:BATCH])
        if not found:
            return
        last_id = found[-1][0]
        held = spans_out_of_search({row[1] for row in found}, [row[0] for row in found])
        for batch in _batches([_pending(row, held.get(row[0], ())) for row in found]):
            kept = _embed_and_insert(model, batch, may_wait=may_wait)
            made += kept
            yield kept


class _Pending(NamedTuple):
    """A memory without vectors; its passages were cut from the text of that hash, without the retired spans."""

    memory_id: UUID
    namespace_id: int
    content_hash: bytes
    retired_spans: list[int]
    speaker: str
    context: str
    passages: list[str]


def _pending(row: tuple[UUID, int, bytes, list[int], str, str, str], held: Sequence[Span]) -> _Pending:
    memory_id, namespace_id, content_hash, retired_spans, text, speaker, context = row
    passages = passages_to_embed(live_text(text, [*spans_of(retired_spans), *held]), speaker, context)
    return _Pending(memory_id, namespace_id, bytes(content_hash), retired_spans, speaker, context, passages)


def _batches(memories: Sequence[_Pending]) -> Iterator[list[_Pending]]:
    """The memories in groups of at most BATCH passages; a memory that has more is a group of its own."""
    group: list[_Pending] = []
    size = 0
    for memory in memories:
        if group and size + len(memory.passages) > BATCH:
            yield group
            group, size = [], 0
        group.append(memory)
        size += len(memory.passages)
    yield group


def _embed_and_insert(model: ActiveModel, batch: Sequence[_Pending], *, may_wait: bool) -> int:
    """Stores the batch's vectors; one text that the provider refuses must not keep out the others.

    What a namespace's budget does not allow now is left out where it `may_wait`. Else raises BudgetExceeded.
    """
    if model.calls_network:
        # What a call costs is put down to one namespace.
        by_namespace = sorted(batch, key=lambda memory: memory.namespace_id)
        parts = [list(part) for _, part in groupby(by_namespace, key=lambda memory: memory.namespace_id)]
        return sum(_embed_and_insert_of(model, part, may_wait=may_wait) for part in parts)
    return _embed_and_insert_of(model, batch, may_wait=may_wait)


def _embed_and_insert_of(model: ActiveModel, batch: Sequence[_Pending], *, may_wait: bool) -> int:
    try:
        with caller.within_namespace(batch[0].namespace_id):
            vectors = model.embed([text for memory in batch for text in memory.passages])
    except BudgetExceeded as error:
        if not may_wait:
            raise
        # They wait for the budget, and other namespaces do not wait for them.
        log.warning("memories still wait for their vectors", extra={"memories": len(batch), "reason": error.message})
        return 0
    except EmbeddingRefused as error:
        if len(batch) == 1:
            extra = {"memory": str(batch[0].memory_id), "reason": error.message}
            log.warning("a memory stays without vector", extra=extra)
            return 0
        return sum(_embed_and_insert_of(model, [memory], may_wait=may_wait) for memory in batch)
    _insert_vectors(model.id, batch, vectors)
    return len(batch)


def _insert_vectors(model_id: int, batch: Sequence[_Pending], vectors: np.ndarray) -> None:
    places = [(memory, passage) for memory in batch for passage in range(len(memory.passages))]
    # Joined to the memory as it is now and stays: it may have been erased, archived or edited meanwhile. Locked in the
    # order of ids, as everyone locks memories.
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH input AS (
                SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::bytea[], %s::text[], %s::text[], %s::text[],
                                     %s::smallint[], %s::text[])
                    AS v (memory_id, namespace_id, content_hash, retired, speaker, context, passage, embedding)
            ), own AS MATERIALIZED (
                SELECT m.namespace_id, m.id, m.state, m.embedded FROM input i
                JOIN memory_memory m
                  ON m.namespace_id = i.namespace_id AND m.id = i.memory_id AND m.content_hash = i.content_hash
                 AND m.retired_spans = i.retired::int[] AND m.speaker = i.speaker AND m.context = i.context
                WHERE i.passage = 0
                ORDER BY m.id
                FOR NO KEY UPDATE OF m
            ), vectors AS (
                INSERT INTO memory_memoryvector (namespace_id, model_id, memory_id, passage, embedding, searchable)
                SELECT o.namespace_id, %s, o.id, i.passage, i.embedding::halfvec, o.state = %s
                FROM own o JOIN input i ON i.namespace_id = o.namespace_id AND i.memory_id = o.id
                ON CONFLICT DO NOTHING
            )
            UPDATE memory_memory m SET embedded = true FROM own o
            WHERE m.namespace_id = o.namespace_id AND m.id = o.id AND NOT o.embedded
              AND EXISTS (SELECT FROM memory_embeddingmodel WHERE id = %s AND state = %s)
            """,
            [
                [memory.memory_id for memory, _ in places],
                [memory.namespace_id for memory, _ in places],
                [memory.content_hash for memory, _ in places],
                ["{" + ",".join(map(str, memory.retired_spans)) + "}" for memory, _ in places],
                [memory.speaker for memory, _ in places],
                [memory.context for memory, _ in places],
                [passage for _, passage in places],
                [halfvec_literal(vector) for vector in vectors],
                *(model_id, MemoryState.ACTIVE),
                *(model_id, EmbeddingState.ACTIVE),
            ],
        )
