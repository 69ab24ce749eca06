"""What the tree holds of erased memories: that they belong to topics, and where in them its words stand.

Part of an erasure's transactions, see `memory.services.erasure.holder`. The vectors of a topic without them, and its
words, are made again; in the transaction in which they go, the words that remain are those of others.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memory.enums import TopicLevel
from memory.models import TopicNode, TopicTree
from memory.models.locks import Lock, lock_in_transaction
from memory.services.tree import store
from memory.types import Scope

# The nodes of some sessions: what a node tells stands in memories of its session.
_OF_SESSIONS = """
n.namespace_id = %(namespace_id)s AND n.id IN (
    SELECT s.id FROM memory_topicnode s
    WHERE s.namespace_id = %(namespace_id)s AND s.level = 'session' AND s.session IN ({sessions})
    UNION ALL
    SELECT c.id FROM memory_topicnode s
    JOIN memory_topicnode c ON c.namespace_id = s.namespace_id AND c.parent = s.id
    WHERE s.namespace_id = %(namespace_id)s AND s.level = 'session' AND s.session IN ({sessions}))
"""
_SESSIONS_OF_THESE = """
SELECT m.session FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(memory_ids)s::uuid[])
"""
_SESSIONS_OF_ERASURE = """
SELECT e.session FROM memory_erasedsession e
WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
"""
_IS_ONE_OF_THESE = "(place.told ->> 0)::uuid = ANY(%(memory_ids)s::uuid[])"
# A value and no EXISTS, so that each place is looked up and never joined with all that is erased.
_IS_ERASED = """
coalesce((SELECT true FROM memory_erasedmemory e
          WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
            AND e.memory_id = (place.told ->> 0)::uuid LIMIT 1), false)
"""
_NAMES = """
EXISTS (SELECT FROM jsonb_array_elements(n.label_places || n.summary_places) AS place (told) WHERE {gone})
"""
_COUNT_NODES = f"""
SELECT count(*) FROM memory_topicnode n
WHERE {_OF_SESSIONS.format(sessions=_SESSIONS_OF_ERASURE)} AND {_NAMES.format(gone=_IS_ERASED)}
"""  # noqa: S608 - put together of constants

_CLEAR_MEMBERS = """
DELETE FROM memory_topicmember t WHERE t.namespace_id = %(namespace_id)s AND t.memory_id = ANY(%(memory_ids)s::uuid[])
RETURNING t.topic
"""
_FORGET_MEANS = """
UPDATE memory_topicnode n SET centroid = NULL, stale = true
WHERE n.namespace_id = %(namespace_id)s AND n.id = ANY(%(topics)s::uuid[])
"""
_KEPT = """
coalesce((SELECT jsonb_agg(place.told ORDER BY place.number)
          FROM jsonb_array_elements(n.{places}) WITH ORDINALITY AS place (told, number)
          WHERE NOT ({gone})), '[]'::jsonb)
"""
_STRIP = """
UPDATE memory_topicnode n SET label_places = {label}, summary_places = {summary}, stale = true
WHERE {those} AND {names}
"""


def _strip(sessions: str, gone: str) -> str:
    kept = {kind: _KEPT.format(places=f"{kind}_places", gone=gone) for kind in ("label", "summary")}
    return _STRIP.format(**kept, those=_OF_SESSIONS.format(sessions=sessions), names=_NAMES.format(gone=gone))


_STRIP_THESE = _strip(_SESSIONS_OF_THESE, _IS_ONE_OF_THESE)
_STRIP_ERASED = _strip(_SESSIONS_OF_ERASURE, _IS_ERASED)


def clear_members(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Takes memories out of their topics, whose means are unknown from then on; returns how many."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    rows = _run(_CLEAR_MEMBERS, scope, memory_ids=list(memory_ids))
    if rows:
        _run(_FORGET_MEANS, scope, topics=list({topic for (topic,) in rows}))
    return len(rows)


def clear_places(scope: Scope, *, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    """Takes the places in memories out of the nodes' words, and makes the means of topics that have lost members anew;
    returns how many nodes had such words."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    stripped = _run(_STRIP_THESE, scope, memory_ids=list(memory_ids))
    tree = TopicTree.objects.in_scope(scope).first()
    if tree is not None:
        lost = TopicNode.objects.in_scope(scope).filter(stale=True, level=TopicLevel.TOPIC, centroid=None)
        topics = list(lost.order_by("id").values_list("id", flat=True))
        store.measure(scope.namespace_id, model_id=tree.model_id, topics=topics, now=now)
    return int(stripped)


def count_nodes(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """How many nodes have words whose places are in memories that the erasure names."""
    [(count,)] = _run(_COUNT_NODES, scope, erasure_id=erasure_id)
    return int(count)


def sweep_places(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Takes what is left of such places out of the nodes' words; returns of how many nodes."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    return int(_run(_STRIP_ERASED, scope, erasure_id=erasure_id))


def _run(statement: str, scope: Scope, **more: Any) -> Any:
    """The rows that it returns, or how many it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, {"namespace_id": scope.namespace_id, **more})
        return cursor.fetchall() if cursor.description else cursor.rowcount
