"""Restores a backup into a new database, prepares it there, and only then swaps it with the present one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from memory import audit, caches, ledger
from memory.enums import AuditEvent
from memory.errors import BackupError, RedisAway, RestoreRefused
from memory.ledger import Ledger
from memory.models import Erasure
from memory.services.audit import chain
from memory.services.backup import contents, postgres
from memory.services.backup.container import Reader, digest_of
from memory.services.backup.replay import Replayed, other_secrets, replay
from memory.services.backup.verify import inspect, load
from memory.services.index import changes
from memory.stores.redis import forget_everything, ping


@dataclass(frozen=True, slots=True)
class RestoreTerms:
    """The operator's permissions: to replace existing data, to restore without a ledger, or with another secret.

    `trial`: do everything but the last step. `keep_former`: keep the replaced database, under another name.
    """

    replace: bool = False
    without_ledger: bool = False
    other_secret: bool = False
    trial: bool = False
    keep_former: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore: rows of all tables, audit events that hold; `former`: the name of the kept database, or
    ''."""

    created_at: datetime
    rows: int
    events: int
    replayed: Replayed
    former: str


def restore(
    path: Path, *, key: str, ledger_path: Path | None, terms: RestoreTerms, actor: str, now: Callable[[], datetime]
) -> Restored:
    """Replace the present database by that of a backup, without what was erased since it was made.

    Until the last step, which is one transaction, the present database does not change; a killed process leaves a
    scratch database, which the next restore drops. Raises BackupDamaged, RestoreRefused, BackupUnverified, BackupError.
    """
    reader = inspect(path, key=key)
    _refuse_unfit(reader, terms)
    _refuse_to_lose(terms)
    erased = _read_erasures(reader, ledger_path, terms)
    _refuse_without_redis()
    with postgres.maintenance() as admin:
        if not terms.trial and (others := postgres.list_other_connections(admin)):
            raise RestoreRefused(
                f"The database is in use ({'; '.join(others)}): stop the web server and the worker first."
            )
        with postgres.scratch(admin) as database:
            manifest = load(path, key=key, database=database)
            with postgres.connect_to(database):
                events, replayed = _make_ready(
                    reader, manifest, erased, digest=digest_of(path), name=path.name, actor=actor, now=now
                )
            former = ""
            if not terms.trial:
                # The data in Redis belong to the replaced database, and numbers of namespaces may be assigned again.
                _forget_redis()
                former = postgres.put_in_place(admin, database)
                if not terms.keep_former:
                    postgres.drop(admin, former)
                    former = ""
        # This process has cached data of the former database.
        caches.forget_all()
        return Restored(reader.created_at, sum(manifest["tables"].values()), events, replayed, former)


def _make_ready(
    reader: Reader,
    manifest: dict[str, Any],
    erased: Ledger,
    *,
    digest: str,
    name: str,
    actor: str,
    now: Callable[[], datetime],
) -> tuple[int, Replayed]:
    """Verify the restored database, bring it to this version and repeat erasures; return the verified events and the
    erasures.

    Django is connected to it.
    """
    # This process has cached data of another database.
    caches.forget_all()
    events = contents.verify_chain(manifest)
    call_command("migrate", verbosity=0, interactive=False)
    # Do this before anything is recorded: on another cluster transactions are numbered differently.
    chain.recognise_cluster(now=now())
    replayed = replay(erased, actor=actor, now=now)
    contents.end_logins()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    # Their transactions have numbers of another server.
    changes.forget_all()
    audit.record_system(
        actor,
        AuditEvent.RESTORE,
        subject=name,
        details={
            "sha256": digest,
            "backup": manifest["backup"],
            "backed_up_at": reader.created_at.isoformat(),
            "head": manifest["head"],
            "erasures": replayed.erasures,
            "memories_erased": replayed.memories,
            "keys_revoked": replayed.revoked_keys,
        },
        now=now(),
    )
    return events, replayed


def _refuse_unfit(reader: Reader, terms: RestoreTerms) -> None:
    """Raise RestoreRefused for a backup of a later MemOS or PostgreSQL, or made with another secret."""
    manifest = reader.manifest
    known = set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
    if unknown := contents.unknown_migrations(manifest, known):
        raise RestoreRefused(
            f"The backup is of a later version of MemOS (it has {', '.join(unknown[:3])}): restore it with that one."
        )
    if manifest["server"] > postgres.server_major():
        raise RestoreRefused(
            f"The backup is of PostgreSQL {manifest['server']}, this server is of version {postgres.server_major()}: "
            "PostgreSQL restores into the same version or a later one."
        )
    if manifest["secret"] != ledger.secret_mark() and not terms.other_secret:
        raise RestoreRefused(
            "The backup was made under another MEMOS_SECRET_KEY: its API keys and logins would not work, and what the "
            "ledger names by hashes would not be found. Set the former key (it was to be kept beside the backups), or "
            "say --other-secret and issue keys anew."
        )


def _refuse_to_lose(terms: RestoreTerms) -> None:
    if not (terms.replace or terms.trial or contents.is_empty()):
        raise RestoreRefused(
            f"The database {postgres.database_name()!r} is not empty, and a restore takes its place: say --replace to "
            "lose what it holds, or --trial to see what would be restored."
        )


def _read_erasures(reader: Reader, ledger_path: Path | None, terms: RestoreTerms) -> Ledger:
    """Return the erasures that the ledger and, if it exists, the present database know. Raises RestoreRefused."""
    present = ledger.read_database() if _has_erasures() else Ledger()
    where = ledger_path or ledger.path()
    if where is None or not where.exists():
        if terms.without_ledger:
            return present
        raise RestoreRefused(
            f"The erasure ledger {where or '(MEMOS_ERASURE_LEDGER=off)'} is not there: what was erased after the "
            "backup would come back. Name it (--ledger FILE), or say --without-ledger when nothing was erased since."
        )
    written = ledger.read(where)
    if reader.manifest["backup"] not in written.backups and not terms.without_ledger:
        raise RestoreRefused(
            f"The erasure ledger {where} does not know this backup: it is another server's, or a copy from before the "
            "backup was made. Name the one that was written on since (--ledger FILE), or say --without-ledger."
        )
    if (others := other_secrets(written)) and not terms.other_secret:
        raise RestoreRefused(
            f"{others} erasures in {where} name a session or speaker by hashes made under another MEMOS_SECRET_KEY. "
            "Set that key, or say --other-secret: then they are erased again by the ids of their memories only."
        )
    return ledger.merge(written, present)


def _has_erasures() -> bool:
    """Return whether the present database has the tables of this version's erasures."""
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
        if Erasure._meta.db_table not in there:
            return False
        columns = {column.name for column in connection.introspection.get_table_description(cursor, "memory_erasure")}
    return {field.column for field in Erasure._meta.concrete_fields if field.column} <= columns


def _refuse_without_redis() -> None:
    try:
        ping()
    except RedisAway as error:
        raise RestoreRefused(
            "Redis does not answer, and what it remembers of the present database must go with it: start it first."
        ) from error


def _forget_redis() -> None:
    try:
        forget_everything()
    except RedisAway as error:
        raise BackupError("Redis went away before the last step; nothing was replaced.") from error
