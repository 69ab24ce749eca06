"""Reports the current state: work that waits for a person, running components, and the savings of condensing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import Min, Q, QuerySet
from django_q.status import Stat
from redis.exceptions import RedisError

from memory.enums import CHAT_PURPOSES, JobState, Review
from memory.errors import RedisAway
from memory.models import Entity, Job, Memory, QuarantinedItem, Webhook
from memory.models.keys import first_id_of
from memory.models.sql import count_each, fetch
from memory.providers.chat.registry import find_chat_model
from memory.services.jobs.runner import beat_interval
from memory.stores import model_calls
from memory.stores.redis import call
from memory.types import Access

COUNTED_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """The numbers of items that wait for a person. `stuck_jobs`: jobs whose heartbeat has stopped. Counts end at
    COUNTED_AT_MOST."""

    failed_jobs: int
    stuck_jobs: int
    queued_jobs: int
    running_jobs: int
    oldest_job: datetime | None
    quarantined: int
    contradictions: int
    doubted: int
    disabled_webhooks: int


@dataclass(frozen=True, slots=True)
class TierState:
    """The state of a tier, probed now. `milliseconds` is None without an answer; `size` counts its keys, memories or
    entities."""

    name: str
    milliseconds: float | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Worker:
    """The running workers of a host. They are alive, because a heartbeat is kept for only three seconds."""

    host: str
    processes: int
    since: datetime | None
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True)
class Condensed:
    """The tokens of the turns that the summaries of one time step cover, and of those summaries."""

    at: datetime
    original: int
    condensed: int


def waiting(access: Access, *, now: datetime) -> Waiting:
    """Count the waiting items, each from an index with few other entries."""
    jobs = Job.objects.reachable_by(access)
    queued = jobs.filter(state=JobState.QUEUED)
    running = jobs.filter(state=JobState.RUNNING)
    silent = Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - 3 * beat_interval())
    review = Memory.objects.reachable_by(access).exclude(review="")
    counts: dict[str, QuerySet[Any]] = {
        "failed_jobs": jobs.failed(),
        "stuck_jobs": running.filter(silent),
        "queued_jobs": queued,
        "running_jobs": running,
        "quarantined": QuarantinedItem.objects.reachable_by(access).pending(),
        "contradictions": review.filter(review=Review.CONTRADICTION),
        "doubted": review.exclude(review=Review.CONTRADICTION),
        "disabled_webhooks": Webhook.objects.reachable_by(access).filter(enabled=False).exclude(disabled_why=""),
    }
    found = dict(zip(counts, count_each(*counts.values(), most=COUNTED_AT_MOST), strict=True))
    return Waiting(**found, oldest_job=queued.aggregate(oldest=Min("queued_at"))["oldest"])


def tiers(access: Access, *, memories: int) -> list[TierState]:
    """Probe L1, L2 and L3 with one small query each, and measure its time."""

    def keys(client: Any) -> int:
        return int(client.dbsize())

    return [
        _time_tier("L1", lambda: int(call(keys))),
        _time_tier("L2", lambda: fetch("SELECT 1", {}, prepared=False) and memories),
        _time_tier("L3", lambda: count_each(Entity.objects.reachable_by(access), most=COUNTED_AT_MOST)[0]),
    ]


def _time_tier(name: str, ask: Callable[[], Any]) -> TierState:
    started = time.perf_counter()
    try:
        size = ask()
    except (RedisAway, DatabaseError, InterfaceError):
        return TierState(name, None, None)
    return TierState(name, (time.perf_counter() - started) * 1000, int(size))


def workers() -> list[Worker] | None:
    """Return the workers with a heartbeat, by host; None when Redis, which keeps the heartbeats, is away."""
    try:
        found = call(lambda client: Stat.get_all())
    except (RedisAway, RedisError):
        return None
    clusters: dict[str, list[Stat]] = {}
    for stat in found:
        clusters.setdefault(stat.host, []).append(stat)
    return [
        Worker(
            host,
            sum(len(stat.workers) for stat in some),
            min((stat.tob for stat in some if stat.tob), default=None),
            min(stat.timestamp for stat in some),
        )
        for host, some in clusters.items()
    ]


def running(access: Access, *, limit: int) -> list[Job]:
    """Return the running jobs, oldest first."""
    return list(Job.objects.reachable_by(access).filter(state=JobState.RUNNING).order_by("started_at")[:limit])


_CONDENSED = """
SELECT date_bin(%(step)s, created_at, %(since)s), sum(token_original), sum(token_condensed)
FROM memory_condensation
WHERE id >= %(first)s AND created_at >= %(since)s AND created_at < %(until)s
  AND (%(everywhere)s::bool OR namespace_id = ANY(%(namespaces)s::bigint[]))
GROUP BY 1
"""


def list_condensed(access: Access, *, since: datetime, until: datetime, step: timedelta) -> list[Condensed]:
    """Sum the tokens of summarised turns and of their summaries for every step from `since` on, also empty ones."""
    since = since.replace(second=0, microsecond=0)
    parameters = {
        "step": step,
        "since": since,
        "until": until,
        # Ids begin with the time, so the index finds the rows; the clock of another server may be a little off.
        "first": first_id_of(since - timedelta(minutes=10)),
        "everywhere": access.all_namespaces,
        "namespaces": sorted(access.namespace_ids),
    }
    found = {at: (int(original), int(short)) for at, original, short in fetch(_CONDENSED, parameters, prepared=False)}
    moments = [since + step * number for number in range(-((since - until) // step))]
    return [Condensed(at, *found.get(at, (0, 0))) for at in moments]


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """The time of each model's last answer; None if unknown, or if it has not answered since Redis started."""

    embedding: datetime | None
    reranker: datetime | None
    language: datetime | None


def model_answers() -> ModelAnswers:
    """Return the time of each model's last answer, in any process."""
    last = model_calls.last_answers()
    return ModelAnswers(*map(last.get, (model_calls.EMBEDDING, model_calls.RERANKER, model_calls.LANGUAGE)))


def language_models() -> list[str]:
    """Return the labels of the usable chat models, as `provider/model`, each once."""
    models = (find_chat_model(purpose) for purpose in CHAT_PURPOSES)
    return list(dict.fromkeys(model.label for model in models if model))
