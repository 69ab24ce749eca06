"""Keeps a memory in working memory for as long as a session keeps asking for it."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from memory.enums import Review
from memory.errors import RedisAway
from memory.models import Memory
from memory.services.tenancy.policy import in_force
from memory.stores import asked, working
from memory.stores.asked import AskedMemory
from memory.stores.working import RepeatedAsking

log = logging.getLogger("memos.working")

# This many questions of a session within an hour that bring a memory back keep it in working memory.
OFTEN = 3
# The most memories kept for one session, so that a session that asks about everything leaves room for new memories.
MOST_EACH = 5


def note_asked(found: Sequence[AskedMemory]) -> int:
    """Count the memories that questions brought back; return how many of them working memory keeps for it.

    Memories that the gate or a person doubts stay out, as they do when they are new. Without Redis nothing is kept.
    """
    try:
        totals = asked.count(found)
        often = [(one, total) for one, total in zip(found, totals, strict=True) if total >= OFTEN]
        return sum(_keep(namespace_id, askings) for namespace_id, askings in _choose(often).items())
    except RedisAway as error:
        log.warning("requested memories are not kept in working memory", extra={"reason": str(error)})
        return 0


def _choose(often: Sequence[tuple[AskedMemory, int]]) -> dict[int, dict[UUID, RepeatedAsking]]:
    """Choose for each session the memories that it asked for most, and for each memory the session that asked most."""
    by_session: dict[tuple[int, str], list[tuple[AskedMemory, int]]] = defaultdict(list)
    for one, total in often:
        by_session[one.namespace_id, one.session].append((one, total))
    chosen: dict[int, dict[UUID, RepeatedAsking]] = defaultdict(dict)
    for (namespace_id, session), own in sorted(by_session.items()):
        own.sort(key=lambda pair: (-pair[1], pair[0].memory_id))
        for one, total in own[:MOST_EACH]:
            known = chosen[namespace_id].get(one.memory_id)
            if known is None or known.times < total:
                chosen[namespace_id][one.memory_id] = RepeatedAsking(session, total, one.at)
    return chosen


def _keep(namespace_id: int, askings: dict[UUID, RepeatedAsking]) -> int:
    rows = Memory.objects.filter(namespace_id=namespace_id, pk__in=askings).active().exclude(review=Review.SUSPECTED)
    kept = {one: askings[one] for one in rows.values_list("pk", flat=True)}
    if kept:
        working.keep(namespace_id, kept, hours=in_force(namespace_id).policy.working_memory_hours)
    return len(kept)
