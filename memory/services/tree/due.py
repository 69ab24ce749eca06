"""Asks for trees that have to follow their memories: by the clock, so that no write waits or knows of it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from memory.enums import TreeUse
from memory.models import NamespacePolicy
from memory.models.queries.tree import list_due
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


def request_trees(*, now: datetime) -> int:
    """Queues the namespaces whose tree has something to take in, or has to go; returns how many."""
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
    """What the policy of the namespace has its tree for."""
    return TreeUse(in_force(namespace_id).policy.tree)
