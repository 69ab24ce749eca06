"""Finds out what is wrong with this server, and what repairs it. Each check is a function; none changes anything."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Q
from django_q.models import Failure, OrmQ, Schedule

from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable, RerankUnavailable
from memory.models import ApiKey, EmbeddingModel, Memory, MemoryVector, Namespace, UpkeepMark
from memory.providers.embedding import configured, provider_for
from memory.providers.minilm import GLOSSING
from memory.providers.rerank import configured_reranker
from memory.services import stats
from memory.services.embedding import pending_count
from memory.services.recount import differences
from memory.services.sweep import SWEEP
from memory.stores.redis import RedisAway, call, resume

OK, WARN, FAIL = "ok", "warn", "fail"

MIN_PYTHON = (3, 11)
MIN_POSTGRES = 16
MIN_PGVECTOR = (0, 7)
RECOUNTED_NAMESPACES = 50
LOW_DISK, FULL_DISK = 2 * 2**30, 300 * 2**20
RECENT = timedelta(days=1)
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

START_WORKER = "start it: `make run` has one, elsewhere `manage.py qcluster`"
# What a server without HTTPS is told once and not four times, and DEBUG, which has a check of its own.
_OF_HTTPS = frozenset({"security.W004", "security.W012", "security.W016", "security.W021", "security.W018"})


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check: `status` is ok, warn or fail; `fix` says what to do and is empty when it is ok."""

    status: str
    name: str
    what: str
    fix: str = ""


def diagnose(*, schedules: Collection[str], now: datetime) -> Iterator[Finding]:
    """Runs every check; `schedules` are the names that must be there. Never raises: a broken check is a finding.

    Checks that read tables are left out, with one finding that says so, while the database is not usable.
    """
    for check in (_python, _system_checks, _open_doors, _redis, _disk, _reranking):
        yield _guarded(check)
    for check in (_database, _pgvector, _migrations):
        finding = _guarded(check)
        yield finding
        if finding.status == FAIL:
            yield Finding(
                WARN, "everything else", "needs the database and was not looked at", "repair the database first"
            )
            return
    for check in (_embedding_works, _embedding_agrees, _vectors, _counters, _worker):
        yield _guarded(check)
    for dated in (_queue, _failures, _keys, _sweep):
        yield _guarded(partial(dated, now=now))
    yield _guarded(partial(_schedules, wanted=schedules))
    yield _guarded(_staff)


def _guarded(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # a doctor that falls over helps nobody: what broke is the finding
        name = getattr(check, "func", check).__name__.strip("_").replace("_", " ")
        return Finding(FAIL, name, f"the check itself broke: {type(error).__name__}: {error}", "repair what it names")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Finding(FAIL, "python", version, f"use Python {'.'.join(map(str, MIN_PYTHON))} or later")
    return Finding(OK, "python", version)


def _system_checks() -> Finding:
    tags = [checks.Tags.security, checks.Tags.compatibility, checks.Tags.models, checks.Tags.caches]
    found = checks.run_checks(tags=tags, include_deployment_checks=True)
    found = [message for message in found if message.id not in _OF_HTTPS and not message.is_silenced()]
    if not found:
        return Finding(OK, "settings", "no system check has an objection")
    worst = FAIL if any(message.level >= checks.ERROR for message in found) else WARN
    what = "; ".join(f"{message.id} {' '.join(str(message.msg).split())}" for message in found)
    hints = [" ".join(str(message.hint).split()) for message in found if message.hint]
    return Finding(worst, "settings", what, "; ".join(hints) or "see `manage.py check --deploy`")


def _open_doors() -> Finding:
    """Whether the server gives more away than it should."""
    open_doors = [
        name
        for name, is_open in (("MEMOS_DEBUG", settings.DEBUG), ("MEMOS_ANONYMOUS", settings.MEMOS_ANONYMOUS))
        if is_open
    ]
    local = settings.MEMOS_HOST in LOOPBACK
    if open_doors:
        what = f"{' and '.join(open_doors)} on, listening on {settings.MEMOS_HOST}"
        return Finding(
            WARN if local else FAIL, "access", what, f"unset {' and '.join(open_doors)} where others reach it"
        )
    if not (local or settings.MEMOS_HTTPS):
        what = f"listening on {settings.MEMOS_HOST} without HTTPS: keys and passwords travel in the clear"
        return Finding(WARN, "access", what, "put a proxy with a certificate in front and set MEMOS_HTTPS=1")
    return Finding(OK, "access", "keys are required" + (", HTTPS" if settings.MEMOS_HTTPS else ", this machine only"))


def _database() -> Finding:
    fix = "check DATABASE_URL and that PostgreSQL runs (`make run` starts its own when DATABASE_URL is empty)"
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            version = str(cursor.fetchone()[0])
    except (DatabaseError, InterfaceError) as error:
        return Finding(FAIL, "database", f"does not answer: {_first_line(error)}", fix)
    major = int(version.partition(".")[0])
    if major < MIN_POSTGRES:
        return Finding(FAIL, "database", f"PostgreSQL {version} is too old", f"use PostgreSQL {MIN_POSTGRES} or later")
    return Finding(OK, "database", f"PostgreSQL {version}")


def _pgvector() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute("SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'vector'")
        row = cursor.fetchone()
    needed = ".".join(map(str, MIN_PGVECTOR))
    if row is None:
        fix = f"install pgvector {needed} or later on the database server, for example by the image pgvector/pgvector"
        return Finding(FAIL, "pgvector", "is not on the database server", fix)
    if row[1] is None:
        return Finding(
            FAIL,
            "pgvector",
            "is not installed in this database",
            "manage.py migrate (or, as a superuser, CREATE EXTENSION vector)",
        )
    if tuple(int(part) for part in row[1].split(".")[:2]) < MIN_PGVECTOR:
        return Finding(
            FAIL, "pgvector", f"{row[1]} is too old", f"update it to {needed} or later: ALTER EXTENSION vector UPDATE"
        )
    return Finding(OK, "pgvector", row[1])


def _migrations() -> Finding:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(str(migration) for migration, _ in plan[:3]) + (", …" if len(plan) > 3 else "")
        return Finding(FAIL, "migrations", f"{len(plan)} not applied: {names}", "manage.py migrate")
    return Finding(OK, "migrations", "all applied")


def _redis() -> Finding:
    def look(client: Any) -> tuple[dict[str, Any], str]:
        try:
            saves = str(client.config_get("save").get("save", ""))
        except Exception:  # hosted servers forbid CONFIG: then the last save has to do
            saves = "unknown"
        return client.info(), saves

    resume()
    try:
        info, saves = call(look)
    except RedisAway as error:
        fix = "check REDIS_URL and that Redis or Valkey runs; until then queries go without the session window"
        return Finding(FAIL, "redis", f"does not answer: {_first_line(error)}", fix)
    version = str(info.get("valkey_version") or info.get("redis_version"))
    if not info.get("aof_enabled") and not saves:
        what = f"{version}, keeps nothing on disk: session windows end with its restart"
        return Finding(WARN, "redis", what, "start it with `appendonly yes`")
    return Finding(OK, "redis", f"{version}, {'appends to disk' if info.get('aof_enabled') else 'saves snapshots'}")


def _embedding_works() -> Finding:
    """Loads the model that search uses (without one: the configured one) and embeds a sentence."""
    active = _active_model()
    provider, name = (active.provider, active.name) if active else configured()
    label = f"{provider}/{name}"
    fixes = {
        "minilm": "run `make install` (weights), and let MEMOS_MODEL_DIR be a folder that this user may write",
        "openai": "check MEMOS_EMBEDDING_BASE_URL, MEMOS_EMBEDDING_API_KEY and that the endpoint runs",
    }
    try:
        started = time.perf_counter()
        maker = provider_for(provider, name)
        maker.embed(["ready"])
        loaded = time.perf_counter()
        vector = maker.embed(["How long does one sentence take?"])[0]
        done = time.perf_counter()
    except EmbeddingUnavailable as error:
        return Finding(
            FAIL, "embedding model", f"{label}: {error.message}", fixes.get(provider, "repair what it names")
        )
    if active and len(vector) != active.dimensions:
        what = f"{label} makes vectors of {len(vector)} dimensions, the stored ones have {active.dimensions}"
        return Finding(
            FAIL, "embedding model", what, "restore the former model, or `manage.py reembed` to another name"
        )
    times = f"ready in {(loaded - started) * 1000:.0f} ms, a sentence in {(done - loaded) * 1000:.1f} ms"
    what = f"{label}, {len(vector)} dimensions, {times}"
    return Finding(OK, "embedding model", what)


def _reranking() -> Finding:
    """Lets the reranker read as many texts as a query would: does it answer, in time, and tell right from wrong?"""
    name = "reranking"
    try:
        reranker = configured_reranker()
        if reranker is None:
            return Finding(OK, name, "off")
        right, wrong = "The train to Lyon leaves at 9:04.", "We painted the kitchen yellow."
        reranker.scores("ready", [right])
        loaded = time.perf_counter()
        count = max(settings.MEMOS_RERANK_CANDIDATES, 2)
        scores = reranker.scores("When does the train to Lyon leave?", [right, *[wrong] * (count - 1)])
        spent = time.perf_counter() - loaded
    except RerankUnavailable as error:
        fix = "repair what it names, or set MEMOS_RERANK_PROVIDER=off; until then queries are ranked without it"
        return Finding(FAIL, name, error.message, fix)
    if scores[0] <= max(scores[1:]):
        what = f"{reranker.name} prefers a sentence about a kitchen to the answer about a train"
        return Finding(WARN, name, what, "use a model that was trained for reranking, or MEMOS_RERANK_PROVIDER=off")
    return Finding(OK, name, f"{reranker.name}, {count} short texts in {spent * 1000:.0f} ms")


def _embedding_agrees() -> Finding:
    provider, name = configured()
    active = _active_model()
    if active is None:
        return Finding(OK, "embedding choice", f"none yet: {provider}/{name} with the first memory")
    if (active.provider, active.name + GLOSSING) == (provider, name):
        fix = f"`manage.py reembed` switches search to {provider}/{name}; or set MEMOS_EMBEDDING_MODEL={active.name}"
        return Finding(WARN, "embedding choice", f"search uses {active}, which does not read Chinese", fix)
    if (active.provider, active.name) != (provider, name):
        fix = (
            f"`manage.py reembed` switches search to {provider}/{name}; or set "
            f"MEMOS_EMBEDDING_PROVIDER={active.provider} MEMOS_EMBEDDING_MODEL={active.name}"
        )
        return Finding(WARN, "embedding choice", f"search uses {active}, the settings name {provider}/{name}", fix)
    building = EmbeddingModel.objects.filter(state=EmbeddingState.BUILDING).first()
    if building:
        made = MemoryVector.objects.filter(model_id=building.pk).count()
        fix = f"to finish: manage.py reembed --provider {building.provider} --model {building.name}"
        return Finding(WARN, "embedding choice", f"a switch to {building} stopped after {made} vectors", fix)
    return Finding(OK, "embedding choice", f"search uses {active}, as configured")


def _vectors() -> Finding:
    pending = pending_count() if _active_model() else Memory.objects.active().count()
    if pending:
        what = f"{pending} memories have none and are found by their words only"
        return Finding(WARN, "vectors", what, f"the worker makes them, once the model works; {START_WORKER}")
    return Finding(OK, "vectors", "every memory has one")


def _counters() -> Finding:
    total = Namespace.objects.count()
    chosen = list(Namespace.objects.order_by("?").values_list("pk", flat=True)[:RECOUNTED_NAMESPACES])
    looked_at = f"{total} namespaces" if total <= len(chosen) else f"{len(chosen)} of {total} namespaces, by chance"
    wrong = differences(chosen)
    if wrong:
        first = wrong[0]
        example = f"{first.namespace}: {first.counters[0]} memories counted, {first.rows[0]} there"
        what = f"{len(wrong)} wrong in {looked_at} ({example})"
        return Finding(FAIL, "counters", what, "manage.py doctor --recount")
    return Finding(OK, "counters", f"right in {looked_at}")


def _worker() -> Finding:
    heartbeat = stats.worker_heartbeat()
    if heartbeat == stats.ALIVE:
        return Finding(OK, "worker", "alive")
    return Finding(WARN, "worker", f"{heartbeat}: summaries and delayed embeddings wait", START_WORKER)


def _queue(*, now: datetime) -> Finding:
    patience = timedelta(seconds=2 * settings.MEMOS_JOB_RETRY_SECONDS)
    overdue = OrmQ.objects.filter(lock__lt=now - patience).count()
    if overdue:
        what = f"{overdue} jobs wait for more than {patience.total_seconds():.0f} s"
        return Finding(WARN, "queue", what, f"no worker, or too few (MEMOS_JOB_WORKERS); {START_WORKER}")
    return Finding(OK, "queue", f"{OrmQ.objects.count()} jobs, none overdue")


def _failures(*, now: datetime) -> Finding:
    failed = Failure.objects.order_by("-started")
    recent = failed.filter(started__gt=now - RECENT)
    last = recent.first()
    if last is None:
        return Finding(OK, "failed jobs", f"none within a day ({failed.count()} earlier)")
    what = f"{recent.count()} within a day, the last: {last.func}: {_first_line(last.result)}"
    return Finding(WARN, "failed jobs", what, "repair what it names; the rows are at /admin/django_q/failure/")


def _schedules(*, wanted: Collection[str]) -> Finding:
    missing = sorted(set(wanted) - set(Schedule.objects.filter(name__in=wanted).values_list("name", flat=True)))
    if missing:
        return Finding(FAIL, "schedules", f"missing: {', '.join(missing)}", "manage.py bootstrap")
    return Finding(OK, "schedules", f"{len(set(wanted))} present")


def _sweep(*, now: datetime) -> Finding:
    mark = UpkeepMark.objects.filter(name=SWEEP).first()
    if mark is None or mark.trusted_at is None:
        return Finding(OK, "sweep", "none yet")
    if mark.doubted_at is not None:
        jump = (
            f"from {mark.trusted_at:%Y-%m-%d %H:%M} to {mark.doubted_at:%Y-%m-%d %H:%M} UTC, now {now:%Y-%m-%d %H:%M}"
        )
        fix = "set the clock right; if it is right now, `manage.py sweep --accept-clock`, or wait a day"
        return Finding(WARN, "sweep", f"paused, nothing fades or expires: the clock went {jump}", fix)
    return Finding(OK, "sweep", f"last at {mark.trusted_at:%Y-%m-%d %H:%M} UTC")


def _keys(*, now: datetime) -> Finding:
    usable = ApiKey.objects.filter(revoked_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now)).count()
    if not usable:
        fix = "manage.py issue_api_key NAME --namespace NAMESPACE"
        return Finding(WARN, "API keys", "there is none that can be used", fix)
    return Finding(OK, "API keys", f"{usable} can be used")


def _staff() -> Finding:
    staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True).count()
    if not staff:
        return Finding(WARN, "staff", "nobody can log in to the console", "manage.py createsuperuser")
    return Finding(OK, "staff", f"{staff} can log in to the console")


def _disk() -> Finding:
    folder = Path(settings.MEMOS_DATA_DIR)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    what = f"{free / 2**30:.1f} GiB free at {folder}"
    if free < LOW_DISK:
        return Finding(FAIL if free < FULL_DISK else WARN, "disk", what, "make room, or move MEMOS_DATA_DIR")
    if not os.access(folder, os.W_OK):
        return Finding(
            WARN, "disk", f"{folder} is not writable for this user", "run as its owner, or set MEMOS_DATA_DIR"
        )
    return Finding(OK, "disk", what)


def _active_model() -> EmbeddingModel | None:
    return EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()


def _first_line(value: object) -> str:
    lines = str(value).strip().splitlines()
    return lines[-1 if lines and lines[0].startswith("Traceback") else 0] if lines else ""
