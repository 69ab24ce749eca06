"""Checks which components work right now, for load balancers, `doctor` and the console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from memory.caches import Cache, for_seconds
from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable, RedisAway
from memory.models import EmbeddingModel
from memory.postgresql import reach
from memory.services.backup import scheduled
from memory.services.index.embedding_model import active_model
from memory.services.jobs.waiting import describe_overdue, queue_status
from memory.services.memories import unsure_pairs
from memory.services.monitoring import stats
from memory.services.webhooks.log import count_webhooks
from memory.stores.redis import call
from memory.types import system_access

OK = "ok"
PROBE_SECONDS = 30.0

# The cache has one key.
_probed: Cache[None, str] = for_seconds(PROBE_SECONDS)


@dataclass(frozen=True, slots=True)
class Report:
    """The health report. `status`: ok, degraded (requests are served, something is missing) or unavailable; `checks`:
    the state of each component."""

    status: str
    checks: dict[str, str]


def report() -> Report:
    """Check the database, Redis, the embedding model, the workers, their queue and the backups."""
    database = _database()
    checks = {"database": database, "redis": _redis()}
    if database == OK:
        with reach.across_namespaces():
            checks["embedding"] = _embedding()
            checks["worker"] = _worker()
            checks["queue"] = describe_overdue(now=timezone.now()) or OK
            if settings.MEMOS_BACKUP_DIR:
                checks["backup"] = _backup()
    if database != OK:
        return Report("unavailable", checks)
    return Report(OK if all(state == OK for state in checks.values()) else "degraded", checks)


def gauges() -> dict[str, tuple[str, float]]:
    """Return totals of the whole server for Prometheus: {name: (help, value)}."""
    found = report()
    values: dict[str, tuple[str, float]] = {
        f"memos_{name}_up": (f"1 while the {name} works", float(state == OK)) for name, state in found.checks.items()
    }
    if found.status == "unavailable":
        return values
    with reach.across_namespaces():
        totals = stats.totals(system_access("metrics"))
        backlog = stats.backlog(system_access("metrics"))
        queued = {entry["name"]: entry["count"] for entry in stats.queues()}
        pairs = unsure_pairs.figures()
        webhooks = count_webhooks(system_access("metrics"))
        now = timezone.now()
        waiting = queue_status(system_access("metrics"))
    return {
        **values,
        "memos_memories": ("Searchable memories", float(totals["total_memories"])),
        "memos_active_sessions": ("Sessions with a message in the last 15 minutes", float(totals["active_contexts"])),
        "memos_tokens_saved": ("Tokens that the packs of the last 30 days saved", float(totals["token_savings"])),
        "memos_embedding_pending": ("Memories that wait for their vector", float(backlog.pending_embeddings)),
        **{
            f"memos_settling_pairs_{name}": (f"Pairs that the rules of settling are unsure of: {name}", float(count))
            for name, count in pairs.items()
        },
        "memos_webhooks_failing": ("Webhooks whose last attempts failed", float(webhooks.failing)),
        "memos_webhooks_disabled": ("Webhooks that were disabled after failures", float(webhooks.disabled)),
        "memos_webhook_deliveries_waiting": ("Deliveries that wait", float(webhooks.waiting)),
        "memos_turns_waiting": ("Turns that wait to be read for names, or compared", float(waiting.turns)),
        **{
            f"memos_jobs_waiting_{priority.label}": (f"Jobs of this priority that wait: {priority.label}", jobs.queued)
            for priority, jobs in waiting.by_priority.items()
        },
        **{
            f"memos_jobs_oldest_seconds_{priority.label}": (
                f"Age of the oldest job of this priority that waits: {priority.label}",
                max(0.0, (now - jobs.oldest).total_seconds()) if jobs.oldest else 0.0,
            )
            for priority, jobs in waiting.by_priority.items()
        },
        **{f"memos_queue_{name}": (f"Background jobs: {name}", float(count)) for name, count in queued.items()},
    }


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return "does not answer"
    return OK


def _redis() -> str:
    def ping(client: Any) -> bool:
        return bool(client.ping())

    try:
        call(ping)
    except RedisAway:
        return "does not answer: queries go without the session window"
    return OK


def _embedding() -> str:
    """Return the provider's state, probed at most once in PROBE_SECONDS, because a probe may be slow or cost money."""
    return _probed.get(None) or _probed.put(None, _probe_embedding())


def _probe_embedding() -> str:
    if not EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).exists():
        return "no active model yet: run manage.py bootstrap"
    try:
        active_model().provider.embed(["ready"])
    except EmbeddingUnavailable:
        # This text is public; `manage.py doctor` gives the reason.
        return "unavailable: queries are refused until it is back"
    return OK


def _worker() -> str:
    heartbeat = stats.worker_heartbeat()
    return OK if heartbeat == "alive" else f"{heartbeat}: summaries and delayed embeddings wait"


def _backup() -> str:
    state = scheduled.state(now=timezone.now())
    if state.failed:
        return "the last one failed: manage.py doctor says why"
    return "overdue: manage.py doctor says since when" if state.overdue else OK
