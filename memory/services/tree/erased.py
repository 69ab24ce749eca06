"""Removes erased memories from the tree: their membership in topics, and the positions of its words in them.

Part of an erasure's transactions, see `memory.services.erasure.holder`. The means and the words of a topic are made
again without them; until then, in the same transaction, only words of other memories remain.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from memory.enums import TopicLevel
from memory.models import TopicNode, TopicTree
from memory.models.locks import Lock, lock_in_transaction
from memory.models.queries import tree as queries
from memory.services.tree import store
from memory.types import Scope


def clear_members(scope: Scope, *, memory_ids: Sequence[uuid.UUID]) -> int:
    """Remove memories from their topics, whose means are unknown from then on; return how many."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    topics = queries.clear_members(scope.namespace_id, memory_ids)
    TopicNode.objects.in_scope(scope).filter(id__in=set(topics)).update(centroid=None, stale=True)
    return len(topics)


def clear_places(scope: Scope, *, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    """Remove the words in these memories from the nodes, and recompute the means of topics that have lost members;
    return the number of nodes that had such words."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    stripped = queries.clear_places(scope.namespace_id, memory_ids)
    tree = TopicTree.objects.in_scope(scope).first()
    if tree is not None:
        lost = TopicNode.objects.in_scope(scope).filter(stale=True, level=TopicLevel.TOPIC, centroid=None)
        topics = list(lost.order_by("id").values_list("id", flat=True))
        store.measure(scope.namespace_id, model_id=tree.model_id, topics=topics, now=now)
    return stripped


def count_nodes(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Count the nodes with words in memories that the erasure names."""
    return queries.count_erased_places(scope.namespace_id, erasure_id)


def sweep_places(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Remove any remaining words in erased memories from the nodes; return the number of nodes."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    return queries.sweep_erased_places(scope.namespace_id, erasure_id)
