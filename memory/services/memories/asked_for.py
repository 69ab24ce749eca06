"""What a session keeps asking for goes into working memory, and stays there while it is asked for."""

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

# A session whose questions brought a memory back so often within an hour keeps asking for it.
OFTEN = 3
# Of one session, so many are kept in mind: a session that asks about everything leaves room for what is new.
MOST_EACH = 5


def note_asked(found: Sequence[AskedMemory]) -> int:
    """Counts what questions brought back; returns how many memories working memory keeps for it. With Redis away, none.

    Memories that the gate or a person doubts stay out, as they do when they are new.
    """
    try:
        totals = asked.count(found)
        often = [(one, total) for one, total in zip(found, totals, strict=True) if total >= OFTEN]
        return sum(_keep(namespace_id, askings) for namespace_id, askings in _choose(often).items())
    except RedisAway as error:
        log.warning("what is asked for is not kept in mind", extra={"reason": str(error)})
        return 0


def _choose(often: Sequence[tuple[AskedMemory, int]]) -> dict[int, dict[UUID, RepeatedAsking]]:
    """Of each session the memories that it asked for most; of a memory the session that asked most."""
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
