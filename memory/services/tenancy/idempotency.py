"""Stores the answers to requests with an Idempotency-Key for a day, so that a repeated write gets the first answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils.crypto import salted_hmac

from memory.errors import IdempotencyConflict
from memory.models import IdempotencyRecord
from memory.models.keys import new_id
from memory.types import Idempotency

# The time for which an Idempotency-Key is remembered.
REMEMBERED_HOURS = 24
# Replaces the body's hash when the written data were erased, because the hash of a short text reveals it.
ERASED = ""

Made = TypeVar("Made")


def find_answer(idempotency: Idempotency) -> IdempotencyRecord | None:
    """Return the record of this key, if any. Raises IdempotencyConflict when it was used with another body.

    Once the written data are erased, any body gets the former answer, so that a repeat does not write them again.
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
    """Store the answer in the current transaction; return False when a concurrent request has stored one.

    `memory_ids` are new, and so distinguish this claim from another one.
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


def make_once(
    idempotency: Idempotency | None,
    *,
    make: Callable[[], Made],
    identify: Callable[[Made], uuid.UUID],
    find: Callable[[uuid.UUID], Made],
    now: datetime,
) -> Made:
    """Return the result of `make`, run in a transaction; for a repeated key, return the former result as `find` finds
    it now.

    `identify` gives the id for `find`. Raises IdempotencyConflict, and what `make` and `find` raise.
    """
    if idempotency is None:
        return make()
    # An erasure does not find this record by the memories made from it: without the server's secret, the hash reveals
    # nothing.
    sealed = salted_hmac("memos.idempotency", idempotency.body_hash, algorithm="sha256").hexdigest()
    idempotency = replace(idempotency, body_hash=sealed)
    if record := find_answer(idempotency):
        return find(uuid.UUID(record.answer["id"]))
    with transaction.atomic():
        if claim(idempotency, memory_ids=[new_id()], now=now):
            made = make()
            amend(idempotency, answer={"id": str(identify(made))})
            return made
    record = find_answer(idempotency)
    assert record is not None
    return find(uuid.UUID(record.answer["id"]))


def amend(idempotency: Idempotency, **changes: Any) -> None:
    """Change fields of the stored answer that are known only after the claim."""
    IdempotencyRecord.objects.filter(principal=idempotency.principal, key=idempotency.key).update(**changes)


def forget_old(*, now: datetime) -> int:
    """Delete expired records; return how many."""
    oldest = now - timedelta(hours=REMEMBERED_HOURS)
    return IdempotencyRecord.objects.filter(keep_forever=False, created_at__lt=oldest).delete()[0]
