"""Answers already given: a repeated write gets the first one's. Kept for MEMOS_IDEMPOTENCY_HOURS, then forgotten."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from memory.errors import IdempotencyConflict
from memory.models import IdempotencyRecord
from memory.types import Idempotency

# Stands for the body's hash when what the body wrote was erased: a hash tells of a short text what it was.
ERASED = ""


def find_answer(idempotency: Idempotency) -> IdempotencyRecord | None:
    """What was answered to this key, if anything. Raises IdempotencyConflict when that was to another body.

    What was erased since is not written again by a repeat: any body gets the answer that was given.
    """
    record = IdempotencyRecord.objects.filter(principal=idempotency.principal, key=idempotency.key).first()
    if record is not None and record.body_hash not in (idempotency.body_hash, ERASED):
        raise IdempotencyConflict(
            f"The Idempotency-Key {idempotency.key!r} was used with another body: use a new key for a new request.",
            detail={"header": "Idempotency-Key"},
        )
    return record


def claim(
    idempotency: Idempotency, *, memory_ids: Sequence[uuid.UUID], answer: dict[str, Any] | None = None, now: datetime
) -> bool:
    """Keeps the answer in the current transaction; False when a request that ran beside this one has kept one.

    `memory_ids` are new: they tell this claim from another's.
    """
    ids = [str(value) for value in memory_ids]
    IdempotencyRecord.objects.bulk_create(
        [
            IdempotencyRecord(
                principal=idempotency.principal,
                key=idempotency.key,
                body_hash=idempotency.body_hash,
                memory_ids=ids,
                answer=answer or {},
                keep_forever=idempotency.keep_forever,
                created_at=now,
            )
        ],
        ignore_conflicts=True,
    )
    stored = IdempotencyRecord.objects.filter(principal=idempotency.principal, key=idempotency.key)
    return stored.values_list("memory_ids", flat=True).get() == ids


def amend(idempotency: Idempotency, **changes: Any) -> None:
    """Changes fields of the answer that was kept: what is known only after the claim."""
    IdempotencyRecord.objects.filter(principal=idempotency.principal, key=idempotency.key).update(**changes)


def forget_old(*, now: datetime) -> int:
    """Deletes the records whose time is over; returns how many."""
    oldest = now - timedelta(hours=settings.MEMOS_IDEMPOTENCY_HOURS)
    return IdempotencyRecord.objects.filter(keep_forever=False, created_at__lt=oldest).delete()[0]
