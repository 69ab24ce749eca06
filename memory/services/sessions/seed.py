"""Fills a session once with prepared turns, and keeps default prompts and tools in place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory import audit
from memory.enums import AuditEvent
from memory.models import AuditLog, Procedure
from memory.services.ingestion.ingest import ingest_batch
from memory.services.sessions.reset import reset_session
from memory.types import Idempotency, Ingested, NewMemory, Scope, list_forms


def fill_session(scope: Scope, *, session: str, turns: Sequence[NewMemory], reset: bool, now: datetime) -> Ingested:
    """Remember `turns` unless the session was filled before and not emptied since (then `replayed` is true).

    Works as an Idempotency-Key that names the session and how often it was reset: two concurrent calls add the turns
    once, whatever their dates are, and a reset allows a new filling. Raises WindowUnavailable on `reset`.
    """
    if reset:
        reset_session(scope, session=session, dry_run=False, clear_audit=False, now=now)
    resets = (
        AuditLog.objects.in_scope(scope)
        .filter(session__in=list_forms(session), event_type=AuditEvent.SESSION_RESET)
        .count()
    )
    key = Idempotency(
        principal=f"seed:{scope.namespace_id}",
        key=f"{resets}:{session}",
        # The key does not depend on the turns: their dates differ every day, and their words may with the next version
        # of MemOS.
        body_hash="",
        keep_forever=True,
    )
    filled = ingest_batch([(scope, turn) for turn in turns], now=now, idempotency=key)
    if not filled.replayed:
        audit.record(scope, AuditEvent.DEV_SEED, session=session, details={"inserted": len(filled.memory_ids)}, now=now)
    return filled


def ensure_procedures(entries: Sequence[Procedure]) -> None:
    """Store the `entries` whose kind, name and version do not exist yet; changes of staff stay."""
    Procedure.objects.bulk_create(entries, ignore_conflicts=True)
