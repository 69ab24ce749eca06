"""Asks for trees that have to follow their memories: by the clock, so that no write waits or knows of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from memory.enums import EmbeddingState, JobState, MemoryState, TreeUse
from memory.models import NamespacePolicy
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force, propose

# Changes are on record for two hours (`index.changes.KEPT`): what nobody has looked at for longer than this is compared
# as a whole.
FOLLOWED = timedelta(hours=1)
# How often it is written down that nothing has changed.
LOOK_EVERY = timedelta(minutes=10)
# A namespace whose job was given up waits so long, unless a person replays the job before.
PAUSE = timedelta(hours=6)
# Namespaces that one run asks for.
AT_ONCE = 100

_WANTED = "(n.id = ANY(%(wanting)s::bigint[]) OR %(by_default)s AND n.id <> ALL(%(own)s::bigint[]))"
_CHANGED = """
EXISTS (SELECT FROM memory_indexchange c
        WHERE c.namespace_id = t.namespace_id AND c.transaction >= split_part(t.seen, ':', 1)::bigint
          AND NOT pg_visible_in_snapshot(c.transaction::text::xid8, t.seen::pg_snapshot))
"""
_STALE = "EXISTS (SELECT FROM memory_topicnode s WHERE s.namespace_id = t.namespace_id AND s.stale)"
_HELD_BACK = """
EXISTS (SELECT FROM memory_job j
        WHERE j.namespace_id = n.id AND j.kind = %(kind)s AND j.state = %(failed)s AND j.finished_at > %(pause)s)
"""

# Those that are wanted and have something to take in, and those that are there and not wanted any more.
_DUE = f"""
SELECT n.id FROM memory_namespace n
LEFT JOIN memory_topictree t ON t.namespace_id = n.id
WHERE NOT {_HELD_BACK} AND CASE
    WHEN NOT {_WANTED} THEN t.namespace_id IS NOT NULL
    WHEN t.namespace_id IS NULL THEN EXISTS (
        SELECT FROM memory_memory m WHERE m.namespace_id = n.id AND m.state = %(active)s AND m.embedded)
    WHEN t.seen = '' OR t.looked_at < %(followed)s THEN true
    WHEN t.model_id IS DISTINCT FROM (SELECT e.id FROM memory_embeddingmodel e WHERE e.state = %(model)s) THEN true
    ELSE {_CHANGED} OR {_STALE}
END
ORDER BY t.looked_at NULLS FIRST, n.id LIMIT %(at_once)s
"""  # noqa: S608 - put together of constants

# Trees that are known to have nothing to take in.
_LOOKED = f"""
UPDATE memory_topictree t SET looked_at = %(now)s
WHERE t.looked_at BETWEEN %(followed)s AND %(look_before)s AND CASE WHEN t.seen = '' THEN false ELSE NOT {_CHANGED} END
"""  # noqa: S608 - put together of constants


def request_trees(*, now: datetime) -> int:
    """Queues the namespaces whose tree has something to take in, or has to go; returns how many."""
    own = set(NamespacePolicy.objects.across_namespaces().values_list("namespace_id", flat=True))
    parameters: dict[str, Any] = {
        "own": sorted(own),
        "wanting": sorted(one for one in own if use_of(one) != TreeUse.OFF),
        "by_default": propose({}).policy.tree != TreeUse.OFF,
        "kind": queue.GROW_TREE.name,
        "failed": JobState.FAILED.value,
        "pause": now - PAUSE,
        "active": MemoryState.ACTIVE.value,
        "model": EmbeddingState.ACTIVE.value,
        "followed": now - FOLLOWED,
        "look_before": now - LOOK_EVERY,
        "at_once": AT_ONCE,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOOKED, parameters)
        cursor.execute(_DUE, parameters)
        due = [namespace_id for (namespace_id,) in cursor.fetchall()]
    for namespace_id in due:
        with transaction.atomic():
            queue.enqueue(queue.GROW_TREE, namespace_id)
    return len(due)


def use_of(namespace_id: int) -> TreeUse:
    """What the policy of the namespace has its tree for."""
    return TreeUse(in_force(namespace_id).policy.tree)
