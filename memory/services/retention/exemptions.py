"""Exempts single memories from the policy: by a legal hold, or by their own time to live."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.errors import InvalidInput, NotFound
from memory.models import Memory, MemoryUpkeep
from memory.services.memories.change import check_reason
from memory.types import Scope


class Unchanged:
    """Means that a value stays as it is, where None is a value."""


UNCHANGED: Final = Unchanged()


def exempt(
    scope: Scope,
    *,
    memory_ids: Sequence[uuid.UUID],
    reason: str,
    legal_hold: bool | None = None,
    expires_at: datetime | Unchanged | None = UNCHANGED,
    now: datetime,
) -> int:
    """Put memories under a legal hold or take it off, and set when they expire; all of them, or none.

    `expires_at` replaces the policy's ttl_days, whether sooner or later; None returns to the policy. Returns how many
    changed. Raises InvalidInput, and NotFound when the namespace does not have one of the memories.
    """
    reason = check_reason(reason)
    if legal_hold is None and isinstance(expires_at, Unchanged):
        raise InvalidInput("Give legal_hold, expires_at or both.", detail={"field": "legal_hold"})
    ids = sorted(set(memory_ids))
    with transaction.atomic():
        # The sweep takes these locks too: it either sees the exemption or has archived the memory before.
        held = Memory.objects.in_scope(scope).filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
        sessions = dict(held.values_list("pk", "session"))
        missing = [str(identity) for identity in ids if identity not in sessions]
        if missing:
            raise NotFound(
                f"The namespace {scope.namespace!r} has no memory {missing[0]}.", detail={"field": "memory_ids"}
            )
        rows = {row.memory_id: row for row in MemoryUpkeep.objects.in_scope(scope).filter(memory_id__in=ids)}
        changed: list[MemoryUpkeep] = []
        events: list[dict[str, Any]] = []
        for identity in ids:
            row = rows.get(identity) or MemoryUpkeep(namespace_id=scope.namespace_id, memory_id=identity)
            before = _state(row)
            if legal_hold is not None:
                row.legal_hold = legal_hold
            if not isinstance(expires_at, Unchanged):
                row.expires_at = expires_at
            if _state(row) == before:
                continue
            changed.append(row)
            events.append(
                audit.fields(
                    scope,
                    AuditEvent.POLICY_EXEMPTION,
                    session=sessions[identity],
                    subject=str(identity),
                    details={"reason": reason, "before": before, "after": _state(row)},
                    now=now,
                )
            )
        MemoryUpkeep.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["namespace", "memory"],
            update_fields=["legal_hold", "expires_at"],
        )
        audit.record_many(events)
    return len(changed)


def _state(row: MemoryUpkeep) -> dict[str, Any]:
    return {"legal_hold": row.legal_hold, "expires_at": row.expires_at.isoformat() if row.expires_at else None}
