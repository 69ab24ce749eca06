"""Computes the numbers of the ops routes and the console: live unless stated otherwise, and never estimated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone
from django_q.status import Stat
from redis.exceptions import RedisError

from memory.enums import JobState, MemoryState
from memory.errors import RedisAway
from memory.models import Job, Memory, NamespaceStat, Session
from memory.postgresql import reach
from memory.services.jobs import queue
from memory.services.usage import saved
from memory.stores import figures
from memory.stores.redis import call
from memory.types import Access

ACTIVE_FOR = timedelta(minutes=15)
# The most expensive numbers may have this age on pages that refresh themselves.
RECENT_SECONDS = 15
CONDENSATION_QUEUE = "condensation"

ALIVE = "alive"
NO_HEARTBEAT = "no heartbeat"
UNKNOWN = "unknown (Redis is away)"


@dataclass(frozen=True, slots=True)
class Backlog:
    """The numbers of memories out of retrieval, and of memories that wait for their vector."""

    archived: int
    pending_embeddings: int


@dataclass(frozen=True, slots=True)
class Queue:
    """The numbers of background jobs: waiting (`oldest`: since when), being worked on, failed for good."""

    queued: int
    in_flight: int
    failed: int
    oldest: datetime | None


def totals(access: Access, *, now: datetime | None = None) -> dict[str, Any]:
    """Return the four numbers of `/v1/ops/stats`, over the namespaces that the caller reaches."""
    now = now or timezone.now()
    packs = saved.count_saved(access, now=now)
    return {
        "total_memories": searchable_memories(access),
        "active_contexts": active_sessions(access, now=now),
        "token_savings": packs.saved,
        "compression_ratio": packs.ratio,
    }


def searchable_memories(access: Access) -> int:
    """Count the memories that retrieval searches, exactly, from the counts that every write maintains."""
    stats = NamespaceStat.objects.all()
    if not access.all_namespaces:
        stats = stats.filter(namespace_id__in=access.namespace_ids)
    return int(stats.aggregate(total=Sum("memories"))["total"] or 0)


def active_sessions(access: Access, *, now: datetime) -> int:
    """Count the sessions with a message in the last 15 minutes."""
    return Session.objects.reachable_by(access).active_since(now - ACTIVE_FOR).count()


def backlog(access: Access) -> Backlog:
    """Count archived memories and memories without a vector."""
    rows = Memory.objects.reachable_by(access)
    archived = rows.filter(state=MemoryState.ARCHIVED).count()
    return Backlog(archived=archived, pending_embeddings=rows.awaiting_vector().count())


def recent_backlog(access: Access) -> Backlog:
    """Return the backlog, at most RECENT_SECONDS old."""
    return Backlog(**figures.count_cached(access, "backlog", lambda: asdict(backlog(access)), seconds=RECENT_SECONDS))


def queue_state(*, now: datetime) -> Queue:
    """Return the background queue of the whole server. A job between two attempts counts as in flight."""
    with reach.across_namespaces():
        jobs = Job.objects.across_namespaces()
        is_waiting = Q(state=JobState.QUEUED, due_at__lte=now)
        counts = jobs.unfinished().aggregate(
            queued=Count("pk", filter=is_waiting),
            in_flight=Count("pk", filter=~is_waiting),
            oldest=Min("due_at", filter=is_waiting),
        )
        return Queue(**counts, failed=jobs.failed().count())


def queues() -> list[dict[str, Any]]:
    """Return the background queue for `/v1/ops/pipeline`: waiting summaries, then all jobs by state."""
    state = queue_state(now=timezone.now())
    jobs = Job.objects.across_namespaces()
    with reach.across_namespaces():
        summaries = jobs.filter(kind=queue.CONDENSE.name, state=JobState.QUEUED).count()
    counts = {
        CONDENSATION_QUEUE: summaries,
        "queued": state.queued,
        "in_flight": state.in_flight,
        "failed": state.failed,
    }
    return [{"name": name, "count": count} for name, count in counts.items()]


def worker_heartbeat() -> str:
    """Return `alive`, `no heartbeat`, or that the heartbeat is unknown because Redis, which keeps it, is away."""
    try:
        beating = call(lambda client: Stat.get_all())
    except (RedisAway, RedisError):
        return UNKNOWN
    return ALIVE if beating else NO_HEARTBEAT
