"""Converts audit events for clients: ids and figures of the event, but never typed words or memories' texts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, ErasureStatus, EventType

# A position in the events: the transaction number and the id of the last event that was read.
Place = tuple[int, uuid.UUID]
NO_ID = uuid.UUID(int=0)
BEFORE_ALL: Place = (-1, NO_ID)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An audit event as it is stored, with its position."""

    id: uuid.UUID
    xact: int
    event_type: str
    session: str
    actor: str
    subject: str
    details: Mapping[str, Any]
    request_id: str
    created_at: datetime

    @property
    def place(self) -> Place:
        return (self.xact, self.id)


@dataclass(frozen=True, slots=True)
class Event:
    """An event for clients. `memory_ids`: the memories that it concerns, as far as they may have a text."""

    id: uuid.UUID
    type: str
    at: datetime
    actor: str
    request_id: str
    data: dict[str, Any]
    memory_ids: tuple[uuid.UUID, ...] = ()


Describe = Callable[[AuditRow], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """The event type for an audit event. `names_memories`: `memory_ids` are those of existing memories."""

    type: EventType
    describe: Describe
    names_memories: bool = True


def _of(row: AuditRow, *names: str) -> dict[str, Any]:
    return {name: row.details[name] for name in names if name in row.details}


def _one(row: AuditRow, **more: Any) -> dict[str, Any]:
    return {"memory_ids": [row.subject], "session_id": row.session or None, **more, **_of(row, "revision")}


def _addition(row: AuditRow) -> dict[str, Any]:
    return _one(row, **_of(row, "role", "characters", "tokens"))


def _facts(row: AuditRow) -> dict[str, Any]:
    ids = [str(identity) for identity in row.details.get("memory_ids", [])]
    return {"memory_ids": ids, "session_id": row.session or None, "kind": "fact"}


def _preferences(row: AuditRow) -> dict[str, Any]:
    return {**_facts(row), "kind": "preference"}


def _supersession(row: AuditRow) -> dict[str, Any]:
    after = row.details.get("after", {})
    by = row.details.get("by") or after.get("superseded_by")
    whole = row.event_type == AuditEvent.MEMORY_SUPERSEDE
    return _one(row, by=by, whole=whole, **_of(row, "confidence", "statements"))


def _reinstatement(row: AuditRow) -> dict[str, Any]:
    return _one(row, **_of(row, "statements"))


def _conflict(row: AuditRow) -> dict[str, Any]:
    ids = [row.subject, *([row.details["by"]] if row.details.get("by") else [])]
    return {**_one(row, **_of(row, "confidence")), "memory_ids": ids}


def _erasure(row: AuditRow) -> dict[str, Any]:
    cleared = row.details.get("cleared", {})
    return {
        "erasure_id": row.subject,
        "target": row.details.get("target"),
        "session_id": row.session or None,
        "memories": cleared.get("memory_memory", 0),
    }


def _quarantine_entry(row: AuditRow) -> dict[str, Any]:
    return {"item_id": row.subject, "session_id": row.session or None, **_of(row, "rule", "role", "characters")}


def _document(row: AuditRow) -> dict[str, Any]:
    return {"document_id": row.subject, "session_id": row.session or None, **_of(row, "version", "chunks")}


def _reset(row: AuditRow) -> dict[str, Any]:
    return {"session_id": row.session, **_of(row, "memories", "documents", "quarantined")}


def _summary(row: AuditRow) -> dict[str, Any]:
    return {"summary_id": row.subject, "session_id": row.session, **_of(row, "number", "method", "trigger_reason")}


def _job(row: AuditRow) -> dict[str, Any]:
    return {"job_id": row.subject, **_of(row, "kind", "error", "attempts")}


def _budget(row: AuditRow) -> dict[str, Any]:
    return _of(row, "of", "limit", "unit", "most", "period", "resets_at")


_KINDS: dict[str, _Kind] = {
    AuditEvent.INGEST: _Kind(EventType.MEMORY_ADDED, _addition),
    AuditEvent.FACTS_EXTRACT: _Kind(EventType.MEMORY_ADDED, _facts),
    AuditEvent.PREFERENCES_READ: _Kind(EventType.MEMORY_ADDED, _preferences),
    AuditEvent.MEMORY_EDIT: _Kind(EventType.MEMORY_CHANGED, _one),
    AuditEvent.MEMORY_PIN: _Kind(EventType.MEMORY_CHANGED, _one),
    AuditEvent.MEMORY_UNPIN: _Kind(EventType.MEMORY_CHANGED, _one),
    AuditEvent.MEMORY_SUPERSEDE: _Kind(EventType.MEMORY_SUPERSEDED, _supersession),
    AuditEvent.MEMORY_RETIRE: _Kind(EventType.MEMORY_SUPERSEDED, _supersession),
    AuditEvent.MEMORY_REINSTATE: _Kind(EventType.MEMORY_REINSTATED, _reinstatement),
    AuditEvent.MEMORY_ARCHIVE: _Kind(EventType.MEMORY_ARCHIVED, _one),
    AuditEvent.MEMORY_RESTORE: _Kind(EventType.MEMORY_RESTORED, _one),
    AuditEvent.MEMORY_CONTRADICTION: _Kind(EventType.MEMORY_CONFLICT, _conflict),
    AuditEvent.ERASURE_FINISH: _Kind(EventType.MEMORY_ERASED, _erasure, names_memories=False),
    AuditEvent.QUARANTINE: _Kind(EventType.MEMORY_QUARANTINED, _quarantine_entry, names_memories=False),
    AuditEvent.DOCUMENT_INGEST: _Kind(EventType.DOCUMENT_ADDED, _document, names_memories=False),
    AuditEvent.DOCUMENT_DELETE: _Kind(EventType.DOCUMENT_DELETED, _document, names_memories=False),
    AuditEvent.SESSION_RESET: _Kind(EventType.SESSION_RESET, _reset, names_memories=False),
    AuditEvent.CONDENSATION: _Kind(EventType.SUMMARY_MADE, _summary, names_memories=False),
    AuditEvent.JOB_FAIL: _Kind(EventType.JOB_FAILED, _job, names_memories=False),
    AuditEvent.BUDGET_REACH: _Kind(EventType.BUDGET_REACHED, _budget, names_memories=False),
}


def sources(types: Iterable[str]) -> list[str]:
    """Return the audit events behind `types`; without any, all that clients can get."""
    wanted = frozenset(types)
    return [str(name) for name, kind in _KINDS.items() if not wanted or kind.type in wanted]


def event_of(row: AuditRow) -> Event | None:
    """Return the event for an audit event; None when clients get none."""
    kind = _KINDS.get(row.event_type)
    if kind is None or _is_empty(row):
        return None
    data = kind.describe(row)
    named = tuple(uuid.UUID(str(identity)) for identity in data["memory_ids"]) if kind.names_memories else ()
    return Event(row.id, kind.type.value, row.created_at, row.actor, row.request_id, data, named)


def _is_empty(row: AuditRow) -> bool:
    """Return whether the event has no content: reading turns may find no fact or preference, and an erasure may
    fail."""
    if row.event_type in (AuditEvent.FACTS_EXTRACT, AuditEvent.PREFERENCES_READ):
        return not row.details.get("memory_ids")
    return row.event_type == AuditEvent.ERASURE_FINISH and row.details.get("status") != ErasureStatus.FINISHED
