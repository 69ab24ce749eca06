"""Records what happened. Called by services inside their transaction; never with memory text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings

from memory.models import AuditLog
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.types import Scope


def record(
    scope: Scope,
    event: str,
    *,
    session: str = "",
    subject: str = "",
    details: Mapping[str, Any] | None = None,
    now: datetime,
) -> AuditLog:
    """Appends one event of a namespace."""
    return AuditLog.objects.create(**fields(scope, event, session=session, subject=subject, details=details, now=now))


_RECORD_READ = """
WITH commit AS MATERIALIZED (
    SELECT set_config('synchronous_commit', coalesce(%(commit)s, current_setting('synchronous_commit')), true)
)
INSERT INTO memory_auditlog (id, namespace_id, namespace, session, event_type, actor, subject, details, request_id,
                             created_at)
SELECT %(id)s::uuid, %(namespace_id)s, %(namespace)s, %(session)s, %(event_type)s, %(actor)s, %(subject)s,
       %(details)s::jsonb, %(request_id)s, %(created_at)s
FROM commit RETURNING id
"""


def record_read(scope: Scope, event: str, *, details: Mapping[str, Any], now: datetime) -> None:
    """Appends one event of a read, which waits for the disk only with MEMOS_DURABLE_READS."""
    event_fields = fields(scope, event, details=details, now=now)
    parameters = {
        **event_fields,
        "id": new_id(),
        "details": orjson.dumps(event_fields["details"]).decode(),
        "commit": commit_of_reads(),
    }
    fetch(_RECORD_READ, parameters, prepared=True)


def commit_of_reads() -> str | None:
    """PostgreSQL's `synchronous_commit` for a transaction that records a read; None: as the server has it."""
    return None if settings.MEMOS_DURABLE_READS else "off"


def record_many(entries: list[dict[str, Any]]) -> None:
    """Appends several events (made by `fields`) at once."""
    AuditLog.objects.bulk_create([AuditLog(**entry) for entry in entries])


def record_system(actor: str, event: str, *, subject: str = "", details: Mapping[str, Any], now: datetime) -> AuditLog:
    """Appends one event that belongs to no namespace."""
    return AuditLog.objects.create(
        event_type=event, actor=actor, subject=subject, details=dict(details), created_at=now
    )


def fields(
    scope: Scope,
    event: str,
    *,
    session: str = "",
    subject: str = "",
    details: Mapping[str, Any] | None = None,
    now: datetime,
) -> dict[str, Any]:
    """The columns of one event."""
    return {
        "namespace_id": scope.namespace_id,
        "namespace": scope.namespace,
        "session": session,
        "event_type": event,
        "actor": scope.actor,
        "subject": subject,
        "details": dict(details or {}),
        "request_id": scope.request_id,
        "created_at": now,
    }
