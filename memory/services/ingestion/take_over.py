"""Restores memories from a cube's file: they keep ids, times, positions and marks, and pass the gate and the quota as
new memories do.

Turns that the gate quarantines wait for a person; a chunk or a fact cannot, and is left out. All functions run inside
the caller's transaction.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

import numpy as np
from django.conf import settings
from django.db.models import Min

from memory import audit
from memory.enums import AuditEvent, EmbeddingState, GateDecision, MemoryState, Review
from memory.errors import InvalidInput
from memory.gate.judgement import Judgement, Reason
from memory.kinds import SESSION_PREFIX
from memory.models import DocumentChunk, EmbeddingModel, ImportedTurn, Memory, QuarantinedItem, Session
from memory.models.memory import content_hash
from memory.services.index import entries
from memory.services.index.embedding import Embedded
from memory.services.index.entries import Indexed
from memory.services.index.insert import LetIn
from memory.services.ingestion.admission import (
    JudgedTurn,
    audit_details,
    judge_document,
    judge_turn,
    keep_out,
    over_quota,
)
from memory.services.jobs import queue
from memory.services.tenancy import quota
from memory.services.tenancy.quota import Granted
from memory.text.tokens import count_tokens
from memory.text.utterances import live_text
from memory.types import NewDocument, NewMemory, Scope

_MOVED = Reason(
    "redacted_history",
    "The gate redacts it, and parts of it were retired: where these are then, a person must say.",
    1.0,
)


class Arrival(StrEnum):
    """The outcomes of a memory from a file."""

    NEW = "new"
    REDACTED = "redacted"
    PRESENT = "present"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"


@dataclass(slots=True)
class ArrivingMemory:
    """A memory from a file, with the ids that it gets here, and the parts of its line that are stored with it.

    `origin`: its id in the file. `unsearched`: the statements, [start, end), that are out of search. `names`: further
    terms by which it is found. `vectors`: those of its passages, float32, under the active model; empty: the worker
    makes them. `settled`, `extracted`, `preferences_read`: it was compared with others, and searched for facts and
    preferences.
    """

    origin: uuid.UUID
    memory: Memory
    unsearched: Sequence[tuple[int, int]] = ()
    names: Collection[str] = ()
    chunk: DocumentChunk | None = None
    vectors: Sequence[np.ndarray] = ()
    settled: bool = False
    extracted: bool = False
    preferences_read: bool = False
    outcome: Arrival = Arrival.NEW
    judgement: Judgement | None = field(default=None, repr=False)
    here: uuid.UUID | None = None

    @property
    def is_turn(self) -> bool:
        return self.memory.turn > 0

    @property
    def changed(self) -> bool:
        """Return whether the gate changed the text, which shifts positions in it."""
        return self.outcome == Arrival.REDACTED


def decide(scope: Scope, arrivals: Sequence[ArrivingMemory]) -> None:
    """Determine the outcome of each memory: whether it exists already, and the gate's verdict. Writes nothing.

    It exists if its id does, or another memory with the same text at the same moment in the same session. Sets
    `outcome`, `here` (the id that it has or would have), and the fields that the gate changes.
    """
    present = _find_present(scope, arrivals)
    for arrival in arrivals:
        arrival.here = present.get(arrival.origin)
        if arrival.here is not None:
            arrival.outcome = Arrival.PRESENT
        else:
            arrival.here = arrival.memory.pk
            _judge(scope, arrival)


def take_over(
    scope: Scope, arrivals: Sequence[ArrivingMemory], *, model_id: int | None, now: datetime
) -> list[ArrivingMemory]:
    """Store the memories that `decide` lets in, in the order given; return the stored ones.

    Turns keep their numbers if these come after the session's last turn; otherwise they are appended to it.
    """
    _count_quota(scope, arrivals, now=now)
    let_in = [one for one in arrivals if one.outcome in (Arrival.NEW, Arrival.REDACTED)]
    kept_out = [one for one in arrivals if one.outcome in (Arrival.QUARANTINED, Arrival.REJECTED)]
    keep_out([_as_turn(scope, one, now=now) for one in kept_out if one.judgement is not None], now=now)
    _note_equals(scope, arrivals)
    if not let_in:
        return []
    _place(scope, let_in)
    indexed = []
    for one in let_in:
        entry = Indexed.of(one.memory, text=live_text(one.memory.text, one.unsearched), names=one.names)
        one.memory.terms, one.memory.length = list(entry.frequencies), entry.length
        one.memory.embedded = bool(one.vectors) and model_id is not None
        indexed.append(entry)
    memories = [one.memory for one in let_in]
    Memory.objects.bulk_create(memories, batch_size=500)
    DocumentChunk.objects.bulk_create([one.chunk for one in let_in if one.chunk is not None], batch_size=1000)
    active = [entry for one, entry in zip(let_in, indexed, strict=True) if one.memory.state == MemoryState.ACTIVE]
    entries.insert_postings(active)
    if active:
        entries.change_counts(entries.counts_of((entry.namespace_id, entry.length) for entry in active))
    if model_id is not None:
        for searchable in (True, False):
            _insert_vectors(let_in, model_id, searchable=searchable)
    audit.record_many([_event(scope, one, now=now) for one in let_in])
    if not all(one.memory.embedded for one in let_in):
        queue.enqueue(queue.EMBED_PENDING)
    return let_in


def find_model(*, provider: str, name: str, dimensions: int) -> int | None:
    """Return the id of the embedding model if it is the active one, so that its vectors can be used; otherwise None."""
    rows = EmbeddingModel.objects.filter(
        provider=provider, name=name, dimensions=dimensions, state=EmbeddingState.ACTIVE
    )
    return rows.values_list("pk", flat=True).first()


def find_equals(scope: Scope, origins: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return, by their ids in the file, the memories for which another memory stands here, with its id."""
    keys = {_key_of(scope, origin): origin for origin in origins}
    rows = ImportedTurn.objects.in_scope(scope).filter(key__in=list(keys)).values_list("key", "memory_id")
    return {keys[key]: memory_id for key, memory_id in rows}


def take_over_ends(scope: Scope, sessions: Sequence[Session]) -> int:
    """Have restored sessions continue the numbering of their origin, even if their last turns were deleted there;
    return how many of the sessions exist here."""
    given = {one.name: one for one in sessions}
    rows = list(Session.objects.in_scope(scope).filter(name__in=given).order_by("name").select_for_update())
    behind = []
    for row in rows:
        end = given[row.name]
        if row.first_message_at == end.first_message_at and row.message_count < end.message_count:
            if row.settled_turn == row.message_count:
                row.settled_turn = end.message_count
            if row.extracted_turn == row.message_count:
                row.extracted_turn = end.message_count
            row.message_count = end.message_count
            behind.append(row)
    Session.objects.bulk_update(behind, ["message_count", "settled_turn", "extracted_turn"])
    return len(rows)


def find_quarantined(scope: Scope, items: Sequence[QuarantinedItem]) -> set[uuid.UUID]:
    """Return the ids of the items that are quarantined here: under their id, or with the same words, session and
    moment."""
    rows = QuarantinedItem.objects.in_scope(scope)
    there = set(rows.filter(id__in=[one.pk for one in items]).values_list("id", flat=True))
    alike = rows.filter(content_hash__in=[one.content_hash for one in items])
    said = alike.values_list("session", "content_hash", "created_at")
    known = {(session, bytes(digest), at) for session, digest, at in said}
    return there | {one.pk for one in items if (one.session, bytes(one.content_hash), one.created_at) in known}


def take_over_quarantine(scope: Scope, items: Sequence[QuarantinedItem], *, now: datetime) -> int:
    """Store the quarantined items of the file that do not exist here; return how many."""
    ids = [one.pk for one in items]
    there = find_quarantined(scope, items)
    there |= set(Memory.objects.in_scope(scope).filter(pk__in=ids).values_list("pk", flat=True))
    new = [one for one in items if one.pk not in there]
    QuarantinedItem.objects.bulk_create(new)
    audit.record_many(
        [
            audit.fields(
                scope,
                AuditEvent.QUARANTINE,
                session=one.session,
                subject=str(one.pk),
                details={"memory_id": str(one.pk), "rule": one.rule, "characters": one.characters},
                now=now,
            )
            for one in new
        ]
    )
    return len(new)


def _judge(scope: Scope, arrival: ArrivingMemory) -> None:
    memory = arrival.memory
    context = memory.context
    try:
        if memory.session.startswith(SESSION_PREFIX):
            document = NewDocument(text=memory.text, title=memory.speaker, source=context, metadata=memory.metadata)
            judged = judge_document(scope, document)
            judgement, speaker, metadata = judged.judgement, judged.document.title, judged.document.metadata
            context = judged.document.source
        else:
            turn = judge_turn(scope, _as_new(memory))
            judgement, speaker, metadata = turn.judgement, turn.memory.speaker, turn.memory.metadata
    except InvalidInput:
        # The gate refused the name of its session.
        arrival.outcome = Arrival.REJECTED
        return
    arrival.judgement = judgement
    if not judgement.decision.lets_in:
        waits = judgement.decision == GateDecision.QUARANTINE and arrival.is_turn
        arrival.outcome = Arrival.QUARANTINED if waits else Arrival.REJECTED
        if not waits:
            arrival.judgement = replace(judgement, decision=GateDecision.REJECT)
        memory.metadata = metadata
        return
    if judgement.text != memory.text:
        if arrival.unsearched:
            _keep_apart(arrival, _MOVED)
            return
        arrival.outcome = Arrival.REDACTED
        memory.text, memory.content_hash = judgement.text, content_hash(judgement.text)
        arrival.vectors = ()
    if (speaker, metadata, context) != (memory.speaker, memory.metadata, memory.context):
        memory.speaker, memory.metadata, memory.context, arrival.vectors = speaker, metadata, context, ()
    memory.tokens = count_tokens(memory.text, settings.MEMOS_TOKENIZER)
    if judgement.suspected:
        memory.review = Review.SUSPECTED


def _keep_apart(arrival: ArrivingMemory, reason: Reason) -> None:
    judgement = arrival.judgement
    assert judgement is not None
    decision = GateDecision.QUARANTINE if arrival.is_turn else GateDecision.REJECT
    arrival.outcome = Arrival.QUARANTINED if arrival.is_turn else Arrival.REJECTED
    arrival.judgement = replace(judgement, decision=decision, reasons=(reason, *judgement.reasons))


def _find_present(scope: Scope, arrivals: Sequence[ArrivingMemory]) -> dict[uuid.UUID, uuid.UUID]:
    """Return the existing memories (or quarantined items) by the ids that they have in the file."""
    ids = {one.memory.pk: one.origin for one in arrivals}
    found = {ids[pk]: pk for pk in Memory.objects.in_scope(scope).filter(pk__in=list(ids)).values_list("pk", flat=True)}
    waiting = QuarantinedItem.objects.in_scope(scope).filter(id__in=list(ids)).values_list("id", flat=True)
    found |= {ids[pk]: pk for pk in waiting}
    noted = find_equals(scope, [one.origin for one in arrivals if one.origin not in found])
    there = set(Memory.objects.in_scope(scope).filter(pk__in=noted.values()).values_list("pk", flat=True))
    found |= {origin: pk for origin, pk in noted.items() if pk in there}
    rest = [one for one in arrivals if one.origin not in found]
    return found | _find_equal(scope, rest, taken={*ids, *found.values()})


def _find_equal(
    scope: Scope, arrivals: Sequence[ArrivingMemory], *, taken: Collection[uuid.UUID]
) -> dict[uuid.UUID, uuid.UUID]:
    hashes = {one.memory.content_hash for one in arrivals}
    columns = ("session", "role", "speaker", "content_hash", "occurred_at", "pk")
    equal: dict[tuple, list[uuid.UUID]] = defaultdict(list)
    rows = Memory.objects.in_scope(scope).filter(content_hash__in=hashes).order_by("pk")
    for *said, pk in rows.values_list(*columns):
        if pk not in taken:
            equal[_key_by_words(*said)].append(pk)
    found = {}
    for one in arrivals:
        memory = one.memory
        own = _key_by_words(memory.session, memory.role, memory.speaker, memory.content_hash, memory.occurred_at)
        if equal[own]:
            found[one.origin] = equal[own].pop(0)
    return found


def _key_by_words(session: str, role: str, speaker: str, said: bytes | memoryview, at: datetime) -> tuple:
    return session, str(role), speaker, bytes(said), at


def _note_equals(scope: Scope, arrivals: Iterable[ArrivingMemory]) -> None:
    """Store which memories of the file have another id here."""
    ImportedTurn.objects.bulk_create(
        [
            ImportedTurn(namespace_id=scope.namespace_id, key=_key_of(scope, one.origin), memory_id=one.here)
            for one in arrivals
            if one.outcome == Arrival.PRESENT and one.here is not None and one.here != one.memory.pk
        ],
        ignore_conflicts=True,
    )


def _key_of(scope: Scope, origin: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(audit.hash_words(scope, "cube", str(origin))[:32])


def _count_quota(scope: Scope, arrivals: Sequence[ArrivingMemory], *, now: datetime) -> None:
    let_in = [one for one in arrivals if one.outcome in (Arrival.NEW, Arrival.REDACTED)]
    granted = quota.take({scope.namespace_id: len(let_in)}, now=now).get(scope.namespace_id) if let_in else None
    if granted is None:
        return
    for one in let_in[granted.memories :]:
        _refuse_room(one, granted)


def _refuse_room(arrival: ArrivingMemory, granted: Granted) -> None:
    assert arrival.judgement is not None
    arrival.outcome = Arrival.QUARANTINED if arrival.is_turn else Arrival.REJECTED
    judgement = over_quota(arrival.judgement, granted)
    arrival.judgement = judgement if arrival.is_turn else replace(judgement, decision=GateDecision.REJECT)


def _place(scope: Scope, arrivals: Sequence[ArrivingMemory]) -> None:
    """Number turns and facts, and advance their sessions' counters; the sessions are locked in the order of their
    names."""
    own: dict[str, list[ArrivingMemory]] = defaultdict(list)
    for one in arrivals:
        if not one.memory.session.startswith(SESSION_PREFIX):
            own[one.memory.session].append(one)
    began = {name: min(one.memory.created_at for one in arrived) for name, arrived in own.items()}
    Session.objects.bulk_create(
        [
            Session(namespace_id=scope.namespace_id, name=name, first_message_at=at, last_message_at=at)
            for name, at in sorted(began.items())
        ],
        ignore_conflicts=True,
    )
    rows = list(Session.objects.in_scope(scope).filter(name__in=list(own)).order_by("name").select_for_update())
    for session in rows:
        turns = [one for one in own[session.name] if one.is_turn]
        _number_facts(scope, session.name, [one for one in own[session.name] if not one.is_turn])
        moments = [one.memory.created_at for one in turns]
        if turns and not session.message_count:
            # The facts read in its turns are later than these turns, and may have been stored before them.
            session.first_message_at, session.last_message_at = min(moments), max(moments)
        session.last_message_at = max([session.last_message_at, *moments])
        for one in turns:
            before = session.message_count
            one.memory.turn = max(one.memory.turn, before + 1)
            session.message_count = one.memory.turn
            # All turns before it are done, and so is this one.
            if one.settled and session.settled_turn == before and session.skipped_turn is None:
                session.settled_turn = one.memory.turn
            if one.extracted and session.extracted_turn == before:
                session.extracted_turn = one.memory.turn
            if one.preferences_read and session.preference_turn == before:
                session.preference_turn = one.memory.turn
    Session.objects.bulk_update(
        rows,
        [
            "message_count", "settled_turn", "extracted_turn", "preference_turn", "first_message_at",
            "last_message_at",
        ],
    )  # fmt: skip


def _number_facts(scope: Scope, session: str, facts: Sequence[ArrivingMemory]) -> None:
    if not facts:
        return
    rows = Memory.objects.in_scope(scope).in_session(session).filter(turn__lt=0)
    taken = set(rows.filter(turn__in=[one.memory.turn for one in facts]).values_list("turn", flat=True))
    lowest = min(rows.aggregate(lowest=Min("turn"))["lowest"] or 0, *(one.memory.turn for one in facts))
    for one in facts:
        if one.memory.turn in taken:
            lowest -= 1
            one.memory.turn = lowest
        taken.add(one.memory.turn)


def _insert_vectors(arrivals: Sequence[ArrivingMemory], model_id: int, *, searchable: bool) -> None:
    own = [one for one in arrivals if one.vectors and (one.memory.state == MemoryState.ACTIVE) == searchable]
    if not own:
        return
    places = [(number, passage) for number, one in enumerate(own) for passage in range(len(one.vectors))]
    vectors = np.stack([vector for one in own for vector in one.vectors])
    entries.insert_vectors([one.memory for one in own], Embedded(model_id, vectors, places), searchable=searchable)


def _as_new(memory: Memory) -> NewMemory:
    return NewMemory(memory.session, memory.role, memory.text, memory.speaker, memory.metadata, memory.occurred_at)


def _as_turn(scope: Scope, arrival: ArrivingMemory, *, now: datetime) -> JudgedTurn:
    assert arrival.judgement is not None
    text = arrival.judgement.text or arrival.memory.text
    memory = replace(_as_new(arrival.memory), text=text)
    return JudgedTurn(arrival.memory.pk, scope, memory, arrival.judgement, LetIn())


def _event(scope: Scope, arrival: ArrivingMemory, *, now: datetime) -> dict:
    memory = arrival.memory
    details = {
        "memory_id": str(memory.pk),
        "role": memory.role,
        "characters": len(memory.text),
        "tokens": memory.tokens,
        "embedded": memory.embedded,
        "cube_file": scope.request_id,
        **(audit_details(arrival.judgement) if arrival.judgement else {}),
    }
    return audit.fields(
        scope, AuditEvent.INGEST, session=memory.session, subject=str(memory.pk), details=details, now=now
    )


def count_outcomes(arrivals: Iterable[ArrivingMemory]) -> Counter[str]:
    """Count the memories by outcome."""
    return Counter(one.outcome.value for one in arrivals)
