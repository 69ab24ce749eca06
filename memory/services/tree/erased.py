"""What the tree holds of erased memories: that they belong to topics, and where in them its words stand.

Part of an erasure's transactions, see `memory.services.erasure.holder`. The vectors of a topic without them, and its
words, are made again; in the transaction in which they go, the words that remain are those of others.
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
    """Takes memories out of their topics, whose means are unknown from then on; returns how many."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    topics = queries.clear_members(scope.namespace_id, memory_ids)
    TopicNode.objects.in_scope(scope).filter(id__in=set(topics)).update(centroid=None, stale=True)
    return len(topics)


def clear_places(scope: Scope, *, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    """Takes the places in memories out of the nodes' words, and makes the means of topics that have lost members anew;
    returns how many nodes had such words."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    stripped = queries.clear_places(scope.namespace_id, memory_ids)
    tree = TopicTree.objects.in_scope(scope).first()
    if tree is not None:
        lost = TopicNode.objects.in_scope(scope).filter(stale=True, level=TopicLevel.TOPIC, centroid=None)
        topics = list(lost.order_by("id").values_list("id", flat=True))
        store.measure(scope.namespace_id, model_id=tree.model_id, topics=topics, now=now)
    return stripped


def count_nodes(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """How many nodes have words whose places are in memories that the erasure names."""
    return queries.count_erased_places(scope.namespace_id, erasure_id)


def sweep_places(scope: Scope, *, erasure_id: uuid.UUID) -> int:
    """Takes what is left of such places out of the nodes' words; returns of how many nodes."""
    lock_in_transaction(Lock.TREE, scope.namespace_id)
    return queries.sweep_erased_places(scope.namespace_id, erasure_id)
