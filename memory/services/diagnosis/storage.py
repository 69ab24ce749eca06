"""Checks PostgreSQL, its tables and counters, and Redis."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from memory import ledger
from memory.errors import RedisAway
from memory.models import Namespace
from memory.postgresql.base import open_connection
from memory.postgresql.statistics import find_extension
from memory.services.backup import scheduled
from memory.services.diagnosis.finding import FAIL, OK, START_WORKER, WARN, Finding
from memory.services.index.recount import differences
from memory.stores.redis import call, resume

MIN_POSTGRES = 16
MIN_PGVECTOR = (0, 7)
RECOUNTED_NAMESPACES = 50


def database() -> Finding:
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


def pgvector() -> Finding:
    row = find_extension("vector")
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


def migrations() -> Finding:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(str(migration) for migration, _ in plan[:3]) + (", …" if len(plan) > 3 else "")
        return Finding(FAIL, "migrations", f"{len(plan)} not applied: {names}", "manage.py migrate")
    return Finding(OK, "migrations", "all applied")


def isolation() -> Finding:
    """Check whether row-level security keeps tenants apart in PostgreSQL."""
    state = open_connection().row_security_state()
    if state.lacks:
        what = f"row-level security does not hold, and the code alone keeps tenants apart: {state.lacks}"
        return Finding(WARN, "isolation", what, state.fix)
    return Finding(OK, "isolation", "row-level security holds on every table of a tenant")


def counters() -> Finding:
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


def redis() -> Finding:
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


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")


def backups(*, now: datetime) -> Finding:
    """Check whether backups exist, the last one was completed, and erasures are recorded outside the database."""
    where = ledger.path()
    if where is None:
        what = "MEMOS_ERASURE_LEDGER=off: an older backup would bring back what was erased"
        return Finding(WARN, "backups", what, "name a file beside the backups")
    if not settings.MEMOS_BACKUP_DIR:
        return Finding(OK, "backups", "none by the clock: MEMOS_BACKUP_DIR names no folder")
    state = scheduled.state(now=now)
    last = f"the last is of {state.last_at:%Y-%m-%d %H:%M} UTC" if state.last_at else "there is none yet"
    if state.failed:
        return Finding(FAIL, "backups", f"{last}; then {state.failed}", "repair what it names; it is tried every hour")
    if state.overdue:
        return Finding(FAIL, "backups", f"{last}, every {settings.MEMOS_BACKUP_HOURS} hours there should be one",
                       f"no worker, or one that is too busy; {START_WORKER}")  # fmt: skip
    return Finding(OK, "backups", f"{last}, in {settings.MEMOS_BACKUP_DIR}")
