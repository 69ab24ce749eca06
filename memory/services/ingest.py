"""Takes in what was said: embeds it, makes it durable and findable, and asks for a new summary when one is due."""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import DatabaseError, transaction

from memory.errors import WindowUnavailable
from memory.services import idempotency as answers
from memory.services import refresh
from memory.services.embedding import embed_or_none, embedded_passages
from memory.services.write import Row, SessionState, prepare, write
from memory.stores import window
from memory.types import Idempotency, Ingested, NewMemory, Scope, WindowMessage

log = logging.getLogger("memos.ingest")

EMBEDDING_DELAYED = "embedding_delayed"
WINDOW_SKIPPED = "session_window_unavailable"


def ingest(scope: Scope, *, memory: NewMemory, now: datetime, idempotency: Idempotency | None = None) -> Ingested:
    """Remembers one turn. See `ingest_batch`."""
    return ingest_batch([(scope, memory)], now=now, idempotency=idempotency)


def ingest_batch(
    items: Sequence[tuple[Scope, NewMemory]], *, now: datetime, idempotency: Idempotency | None = None
) -> Ingested:
    """Remembers turns, all or none, in their order. When it returns they are durable and both search arms find them.

    With the embedding provider away, or with more text than a request can wait for (INLINE_PASSAGES), they are stored
    and found by words; the worker embeds them later. With Redis away they miss the session window only. Both are named
    in `degraded`. All items are of one caller.

    Raises IdempotencyConflict when the key came with another body before.
    """
    if idempotency and (answered := _answered(idempotency)):
        return answered
    rows = prepare(items)
    embedded = embed_or_none([embedded_passages(row.memory.text, row.memory.speaker) for row in rows])
    ids = [row.id for row in rows]
    if idempotency:
        with transaction.atomic():
            if not answers.claim(idempotency, memory_ids=ids, now=now):
                answered = _answered(idempotency)
                assert answered is not None
                return answered
            sessions = write(rows, embedded, now=now)
    else:
        sessions = write(rows, embedded, now=now)
    ask_for_summaries(rows, sessions, now=now)
    degraded = [] if embedded is not None else [EMBEDDING_DELAYED]
    if not append_to_windows(rows, now=now):
        degraded.append(WINDOW_SKIPPED)
    if idempotency and degraded:
        answers.amend(idempotency, degraded=degraded)
    return Ingested(ids, degraded)


def ask_for_summaries(rows: Sequence[Row], sessions: Sequence[SessionState], *, now: datetime) -> None:
    """Asks for the summaries that are due. The memories are stored already: what fails here the schedule finds."""
    scopes = {row.scope.namespace_id: row.scope for row in rows}
    due = [session for session in sessions if session.summary_due]
    try:
        for session in due:
            with transaction.atomic():
                refresh.request_if_due(scopes[session.namespace_id], session=session.name, has_summary=True, now=now)
    except DatabaseError as error:
        log.warning("summaries put off", extra={"sessions": len(due), "reason": type(error).__name__})


def _answered(idempotency: Idempotency) -> Ingested | None:
    """The answer already given to this key, if any."""
    record = answers.answered(idempotency)
    if record is None:
        return None
    return Ingested([uuid.UUID(value) for value in record.memory_ids], record.degraded, replayed=True)


def append_to_windows(rows: Sequence[Row], *, now: datetime) -> bool:
    """Adds the rows to their session windows; False (logged) when Redis is away."""
    messages: dict[tuple[int, str], list[WindowMessage]] = defaultdict(list)
    for row in rows:
        memory = row.memory
        messages[row.scope.namespace_id, memory.session].append(
            WindowMessage(
                str(row.id),
                memory.role,
                memory.speaker,
                memory.text,
                row.tokens,
                (memory.occurred_at or now).isoformat(),
            )
        )
    try:
        window.append(messages)
    except WindowUnavailable as error:
        log.warning("session window skipped", extra={"reason": error.message, "memories": len(rows)})
        return False
    return True
