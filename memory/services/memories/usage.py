"""Stores what decay and importance depend on: how memories were used, marked and restored."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import orjson
from django.db import transaction

from memory.models import UpkeepMark
from memory.models.keys import first_id_of
from memory.models.queries import memories as queries
from memory.services.memories import asked_for
from memory.stores.asked import AskedMemory
from memory.types import Scope

USES = "uses"
# The number of audit events that one transaction counts.
EVENTS = 1_000
# Only this many of a pack's first hits count as requested; the ones after them came along.
FOREMOST = 3
# Events younger than this wait: one with a smaller id may still be on its way.
SETTLED = timedelta(minutes=1)


def note_marked(scope: Scope, *, memory_ids: Iterable[uuid.UUID]) -> None:
    """Have the importance of memories recomputed because a person has marked them."""
    queries.note_marked(scope.namespace_id, memory_ids)


def count_uses(*, now: datetime, seconds: float = float("inf")) -> int:
    """Add to each memory how often packs and searches carried it since the last run; return how many uses.

    Continues where the last run ended; the position and the counts change together, so each event counts once. A second
    concurrent run does nothing. Ends after about `seconds`.
    """
    deadline = time.monotonic() + seconds
    UpkeepMark.objects.get_or_create(name=USES)
    total = 0
    more = True
    while more and time.monotonic() < deadline:
        used, more = _count_batch(now=now)
        total += used
    return total


def _count_batch(*, now: datetime) -> tuple[int, bool]:
    with transaction.atomic():
        mark = UpkeepMark.objects.select_for_update(skip_locked=True).filter(name=USES).first()
        if mark is None:
            return 0, False
        before = first_id_of(now - SETTLED)
        # A clock that was ahead may have stored a position in the future: nothing would be counted until then.
        after = min(mark.position or uuid.UUID(int=0), before)
        read, last, used, asked = queries.count_uses(after=after, before=before, limit=EVENTS, foremost=FOREMOST)
        # Do this while the memories are locked, so that an erasure that follows finds what is stored about them.
        asked_for.note_asked([_read_asked(*row) for row in orjson.loads(asked or "[]")])
        if last is not None or after != mark.position:
            mark.position = last or after
            mark.save(update_fields=["position"])
    return used, read == EVENTS


def _read_asked(namespace_id: int, session: str, memory_id: str, times: int, at: float) -> AskedMemory:
    return AskedMemory(namespace_id, session, uuid.UUID(memory_id), times, datetime.fromtimestamp(at, UTC))
