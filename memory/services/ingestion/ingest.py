"""Ingests turns: asks the gate, embeds, stores and indexes them, and requests a summary when one is due."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import DatabaseError, transaction

from memory import deadline
from memory.enums import Degradation, GateDecision
from memory.errors import RedisAway
from memory.services.index.embedding import BatchEmbedding, Embedded, Expected, passages_to_embed
from memory.services.index.insert import MemoryRow, SessionState, prepare_row, write, write_vectors
from memory.services.ingestion.admission import JudgedTurn, judge_turn, keep_out, within_quota
from memory.services.ingestion.second_opinion import hear_model
from memory.services.jobs import queue
from memory.services.summaries import refresh
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy import quota
from memory.stores import window, working
from memory.stores.redis import together
from memory.types import Idempotency, Ingested, NewMemory, Outcome, Scope, WindowMessage

log = logging.getLogger("memos.ingest")

EMBEDDING_DELAYED = Degradation.EMBEDDING_DELAYED.value
WINDOW_SKIPPED = Degradation.SESSION_WINDOW_UNAVAILABLE.value
# This many turns are embedded while the gate judges the next ones.
JUDGED_TOGETHER = 32
# A turn of up to this many characters is embedded while the gate judges it, because nearly all of them are let in.
BEGUN_CHARS = 1_000


def ingest(scope: Scope, *, memory: NewMemory, now: datetime, idempotency: Idempotency | None = None) -> Ingested:
    """Remember one turn. See `ingest_batch`."""
    return ingest_batch([(scope, memory)], now=now, idempotency=idempotency)


def ingest_batch(
    items: Sequence[tuple[Scope, NewMemory]],
    *,
    now: datetime,
    idempotency: Idempotency | None = None,
    note: Mapping[str, Any] = MappingProxyType({}),
    beside: Callable[[Sequence[Outcome]], None] | None = None,
    after: Callable[[Sequence[Outcome]], None] | None = None,
) -> Ingested:
    """Remember turns in order, as far as the gate lets them in. When it returns, they are durable, both retrievers find
    them, and quarantined turns are stored where no search looks. On an error nothing is stored.

    Without the embedding provider, or with more text than a request can wait for (INLINE_PASSAGES), turns are stored
    and found by words; the worker embeds them later. Without Redis, they are only missing in session window and working
    memory. Both are named in `degraded`. All items belong to one caller. `note` is stored with the answer to the key.
    `beside` is called with the outcomes inside the transaction that stores the turns, before they are stored, and
    `after` when they are.

    Raises IdempotencyConflict when the key came with another body before.
    """
    if not items:
        return Ingested([], [])
    if idempotency and (answered := _find_given_answer(idempotency)):
        return answered
    with BatchEmbedding(len(items)) as vectors:
        if len(items) == 1 and len(items[0][1].text) <= BEGUN_CHARS:
            vectors.begin(passages_to_embed(items[0][1].text, items[0][1].speaker))
        turns, offered = _judge(items, vectors)
        turns, unheard = hear_model(turns, now=now)
        rows, places = _find_rows(turns, offered)
        has_quota = _has_quota(rows)
        vectors.wait_for_most()
        # Quota accounting locks the namespace row and blocks its other writers.
        awaited = None if has_quota else vectors.expected
        made = None if awaited else vectors.wait()
        deadline.check()
        if idempotency or beside or after or awaited or len(rows) < len(turns) or has_quota:
            with transaction.atomic():
                if idempotency and not answers.claim(
                    idempotency,
                    memory_ids=[turn.id for turn in turns],
                    answer={**note, **_collect_outcomes(turns)},
                    now=now,
                ):
                    answered = _find_given_answer(idempotency)
                    assert answered is not None
                    return answered
                allowed = within_quota(turns, now=now)
                if allowed != turns:
                    turns = allowed
                    rows, places = _find_rows(turns, offered)
                    if idempotency:
                        answers.amend(idempotency, answer={**note, **_collect_outcomes(turns)})
                _call(beside, turns)
                keep_out(turns, now=now)
                if awaited and rows:
                    embedded = _write_beside(rows, places, awaited, vectors, now=now)
                    sessions = []
                else:
                    embedded = made and made.only(places)
                    sessions = write(rows, embedded, now=now) if rows else []
                _call(after, turns)
        else:
            embedded = made
            sessions = write(rows, embedded, now=now)
    ask_for_summaries(sessions, now=now)
    degraded = finish(rows, embedded, now=now) + unheard
    if idempotency and degraded:
        answers.amend(idempotency, degraded=degraded)
    return Ingested([turn.outcome for turn in turns], degraded)


def _call(hook: Callable[[Sequence[Outcome]], None] | None, turns: Sequence[JudgedTurn]) -> None:
    if hook:
        hook([turn.outcome for turn in turns])


def finish(rows: Sequence[MemoryRow], embedded: Embedded | None, *, now: datetime) -> list[str]:
    """Run the steps after the write of memories, outside its transaction; return the degradations."""
    if not rows:
        return []
    degraded = []
    if embedded is None or len(embedded.memories) < len(rows):
        degraded.append(EMBEDDING_DELAYED)
        _ask_for_vectors()
    if not append_to_windows(rows, now=now):
        degraded.append(WINDOW_SKIPPED)
    return degraded


def _ask_for_vectors() -> None:
    """Have the worker embed memories without vectors. On an error the schedule finds them later, because they are
    stored."""
    try:
        queue.enqueue(queue.EMBED_PENDING)
    except DatabaseError as error:
        log.warning("vectors put off", extra={"reason": type(error).__name__})


def _place(number: int, count: int) -> str:
    """Return the prefix of an item's field names in an error."""
    return f"items[{number}]." if count > 1 else ""


def _judge(
    items: Sequence[tuple[Scope, NewMemory]], vectors: BatchEmbedding
) -> tuple[list[JudgedTurn], dict[uuid.UUID, tuple[int, MemoryRow]]]:
    """Judge the turns; return them, and for admitted ones, by id, the index in `vectors` and the row."""
    turns: list[JudgedTurn] = []
    offered: dict[uuid.UUID, tuple[int, MemoryRow]] = {}
    for start in range(0, len(items), JUDGED_TOGETHER):
        part = [
            judge_turn(scope, memory, place=_place(number, len(items)))
            for number, (scope, memory) in enumerate(items[start : start + JUDGED_TOGETHER], start)
        ]
        let_in = [turn for turn in part if turn.admitted]
        vectors.add([passages_to_embed(turn.memory.text, turn.memory.speaker) for turn in let_in])
        offered |= {turn.id: (place, _row(turn)) for place, turn in enumerate(let_in, len(offered))}
        turns += part
    return turns, offered


def _find_rows(
    turns: Sequence[JudgedTurn], offered: Mapping[uuid.UUID, tuple[int, MemoryRow]]
) -> tuple[list[MemoryRow], list[int]]:
    """Return the current rows of the admitted turns, and their indexes among the offered ones."""
    rows, places = [], []
    for turn in turns:
        if turn.admitted:
            place, row = offered[turn.id]
            is_same = row.memory is turn.memory and row.let_in is turn.let_in
            rows.append(row if is_same else _row(turn))
            places.append(place)
    return rows, places


def _row(turn: JudgedTurn) -> MemoryRow:
    return prepare_row(turn.scope, turn.memory, identity=turn.id, let_in=turn.let_in)


def _has_quota(rows: Sequence[MemoryRow]) -> bool:
    return any(quota.has_quota(row.scope.namespace_id) for row in rows)


def _write_beside(
    rows: Sequence[MemoryRow], places: Sequence[int], awaited: Expected, vectors: BatchEmbedding, *, now: datetime
) -> Embedded | None:
    """Store the rows and request due summaries while the last of their vectors are made, and then store these vectors.

    To be called in a transaction. Returns the stored vectors; None if there are none.
    """
    unwritten = transaction.savepoint()
    ask_for_summaries(write(rows, awaited.only(places), now=now), now=now)
    made = vectors.wait()
    deadline.check()
    if made is None:
        transaction.savepoint_rollback(unwritten)
        ask_for_summaries(write(rows, None, now=now), now=now)
        return None
    made = made.only(places)
    write_vectors(rows, made)
    transaction.savepoint_commit(unwritten)
    return made


def ask_for_summaries(sessions: Sequence[SessionState], *, now: datetime) -> None:
    """Request the due summaries. On an error the schedule finds them later, because the memories are stored."""
    due: dict[int, list[str]] = defaultdict(list)
    for session in sessions:
        if session.summary_due:
            due[session.namespace_id].append(session.name)
    if not due:
        return
    try:
        with transaction.atomic():
            for namespace_id in sorted(due):
                refresh.request_each(namespace_id, due[namespace_id], now=now)
    except DatabaseError as error:
        count = sum(map(len, due.values()))
        log.warning("summaries put off", extra={"sessions": count, "reason": type(error).__name__})


def _collect_outcomes(turns: Sequence[JudgedTurn]) -> dict[str, Any]:
    """Return the verdicts and reasons for an idempotency record, of turns that have reasons."""
    told = {
        str(place): {"verdict": turn.outcome.verdict.value, "reasons": turn.outcome.reasons}
        for place, turn in enumerate(turns)
        if turn.judgement.reasons
    }
    return {"outcomes": told} if told else {}


def _find_given_answer(idempotency: Idempotency) -> Ingested | None:
    """Find the answer already given to this key, if any."""
    record = answers.find_answer(idempotency)
    if record is None:
        return None
    told = record.answer.get("outcomes", {})
    outcomes = []
    for place, value in enumerate(record.memory_ids):
        found = told.get(str(place), {"verdict": GateDecision.ACCEPT, "reasons": []})
        verdict = GateDecision(found["verdict"])
        outcomes.append(
            Outcome(verdict, None if verdict == GateDecision.REJECT else uuid.UUID(value), found["reasons"])
        )
    return Ingested(outcomes, record.degraded, replayed=True)


def append_to_windows(rows: Sequence[MemoryRow], *, now: datetime) -> bool:
    """Add the rows to their session windows, and important ones to working memory.

    Returns False (logged) when Redis is away.
    """
    messages: dict[tuple[int, str], list[WindowMessage]] = defaultdict(list)
    noted: dict[int, list[uuid.UUID]] = defaultdict(list)
    hours: dict[int, int] = {}
    for row in rows:
        memory = row.memory
        namespace_id = row.scope.namespace_id
        messages[namespace_id, memory.session].append(
            WindowMessage(
                str(row.id),
                memory.role,
                memory.speaker,
                memory.text,
                row.tokens,
                (memory.occurred_at or now).isoformat(),
                row.let_in.suspected,
            )
        )
        if row.let_in.working_hours:
            noted[namespace_id].append(row.id)
            hours[namespace_id] = row.let_in.working_hours
    try:
        together(window.appending(messages), working.noting(noted, hours=hours, now=now))
    except RedisAway as error:
        log.warning("session window skipped", extra={"reason": str(error), "memories": len(rows)})
        return False
    return True
