"""Queues the growth of trees that lag behind their memories: by the clock, so that no write waits for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from memory.enums import TreeUse
from memory.models import NamespacePolicy
from memory.models.queries.tree import list_due
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force, propose

# Changes are recorded for two hours (`index.changes.KEPT`): a tree that was not followed for longer than this is
# compared as a whole.
FOLLOWED = timedelta(hours=1)
# The interval at which it is recorded that nothing has changed.
LOOK_EVERY = timedelta(minutes=10)
# The pause of a namespace whose job was given up, unless a person replays the job before.
PAUSE = timedelta(hours=6)
# The most namespaces that one run queues.
AT_ONCE = 100


def request_trees(*, now: datetime) -> int:
    """Queue the namespaces whose tree has changes to follow, or has to be deleted; return how many."""
    own = set(NamespacePolicy.objects.across_namespaces().values_list("namespace_id", flat=True))
    due = list_due(
        own=own,
        wanting=[one for one in own if use_of(one) != TreeUse.OFF],
        by_default=propose({}).policy.tree != TreeUse.OFF,
        job_kind=queue.GROW_TREE.name,
        paused_since=now - PAUSE,
        followed_since=now - FOLLOWED,
        look_before=now - LOOK_EVERY,
        limit=AT_ONCE,
        now=now,
    )
    for namespace_id in due:
        with transaction.atomic():
            queue.enqueue(queue.GROW_TREE, namespace_id)
    return len(due)


def use_of(namespace_id: int) -> TreeUse:
    """Return the policy's use of the tree."""
    return TreeUse(in_force(namespace_id).policy.tree)
