"""Records what happened. Called by services inside their transaction; never with memory text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory.models import AuditLog
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
