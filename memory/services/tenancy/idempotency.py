"""Answers already given: a repeated write gets the first one's. Kept for a day, then forgotten."""

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

# How long an Idempotency-Key is remembered.
REMEMBERED_HOURS = 24
# Stands for the body's hash when what the body wrote was erased: a hash tells of a short text what it was.
ERASED = ""

Made = TypeVar("Made")


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


def make_once(
    idempotency: Idempotency | None,
    *,
    make: Callable[[], Made],
    identify: Callable[[Made], uuid.UUID],
    find: Callable[[uuid.UUID], Made],
    now: datetime,
) -> Made:
    """What `make` makes, in a transaction; for a key that came before what it made then, as `find` finds it now.

    `identify` gives the id by which it is found. Raises IdempotencyConflict, and what `make` and `find` raise.
    """
    if idempotency is None:
        return make()
    # An erasure does not find it by the memories that came of it: without the server's secret the hash tells nothing.
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
    """Changes fields of the answer that was kept: what is known only after the claim."""
    IdempotencyRecord.objects.filter(principal=idempotency.principal, key=idempotency.key).update(**changes)


def forget_old(*, now: datetime) -> int:
    """Deletes the records whose time is over; returns how many."""
    oldest = now - timedelta(hours=REMEMBERED_HOURS)
    return IdempotencyRecord.objects.filter(keep_forever=False, created_at__lt=oldest).delete()[0]
