"""Makes a backup: one file, consistent as of one moment, that is stored completely or not at all."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import psycopg

from memory import audit, ledger
from memory.enums import AuditEvent
from memory.errors import BackupError
from memory.models.locks import Lock, try_lock
from memory.services.audit import chain
from memory.services.backup import contents, postgres
from memory.services.backup.container import Writer, check_key
from memory.services.backup.verify import verify

SUFFIX, PARTIAL = ".backup", ".partial"
_NAME = re.compile(r"memos-(\d{8}T\d{6}Z)-[0-9a-f]{8}\.backup")
_MOMENT = "%Y%m%dT%H%M%SZ"
# The age at which an unfinished file of a killed process is removed.
_LEFT_BEHIND = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Made:
    """A finished backup. `digest`: its SHA-256; `rows`: the number of rows of all tables; `events`: the verified audit
    events."""

    path: Path
    size: int
    digest: str
    encrypted: bool
    rows: int
    events: int | None
    seconds: float
    verify_seconds: float | None


def make(folder: Path, *, key: str, verified: bool, actor: str, now: datetime) -> Made:
    """Write a backup of the database into `folder` and record it; only one at a time.

    `verified`: restore it into a scratch database and compare it before the file gets its name. Raises BackupError,
    BackupUnverified, LedgerUnavailable.
    """
    check_key(key)
    with try_lock(Lock.BACKUP) as mine:
        if not mine:
            raise BackupError("Another backup of this database is being made: wait for it.")
        started = time.monotonic()
        _make_ready(folder, now=now)
        ledger.complete()
        # Seal the audit log, so that it can be verified where it is restored.
        chain.seal(now=now)
        moment = now.astimezone(UTC).strftime(_MOMENT)
        backup_id = str(uuid.uuid4())
        path = folder / f"memos-{moment}-{backup_id[:8]}{SUFFIX}"
        with _partial(path) as file:
            writer, manifest = _write(file, key=key, backup_id=backup_id, now=now)
            written = time.monotonic()
            events = verify(Path(file.name), key=key).events if verified else None
            seconds = time.monotonic() - written if verified else None
            # Note it before it has its name, so that the ledger knows every backup that can be restored.
            ledger.note_backup(backup_id, now=now)
        made = Made(
            path, writer.size, writer.digest, bool(key), sum(manifest["tables"].values()), events,
            written - started, seconds,
        )  # fmt: skip
        _record(made, actor=actor, now=now)
        return made


def prune(folder: Path, *, keep: int | None, keep_days: int | None, now: datetime) -> list[Path]:
    """Delete the backups in `folder` that are neither among the newest `keep` nor younger than `keep_days`; return
    their paths.

    The newest one always stays. None means no such limit; without both nothing is deleted.
    """
    if keep is None and keep_days is None:
        return []
    newest_first = sorted(backups_in(folder), key=lambda found: found[0], reverse=True)
    limit = now - timedelta(days=keep_days) if keep_days is not None else None
    gone = [path for moment, path in newest_first[max(1, keep or 1) :] if limit is None or moment < limit]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def backups_in(folder: Path) -> list[tuple[datetime, Path]]:
    """Return the time of each backup in the folder, by its name, and its path."""
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return [(datetime.strptime(match[1], _MOMENT).replace(tzinfo=UTC), path) for match, path in found if match]


def _write(file: BinaryIO, *, key: str, backup_id: str, now: datetime) -> tuple[Writer, dict[str, Any]]:
    server = postgres.server_major()
    try:
        with _snapshot() as (reader, snapshot):
            manifest = contents.read(reader, backup_id=backup_id, server=server)
            writer = Writer(file, key=key, manifest=manifest, created_at=now)
            for piece in postgres.dump(snapshot=snapshot, server=server):
                writer.write(piece)
            writer.finish()
    except OSError as error:
        raise BackupError(f"{Path(file.name).parent} cannot be written: {error.strerror}.") from error
    except psycopg.Error as error:
        raise BackupError(f"The database could not be read: {str(error).strip()}") from error
    return writer, manifest


@contextmanager
def _snapshot() -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """Yield a transaction that sees the database at one moment, and the name by which pg_dump sees the same."""
    with postgres.connect(postgres.database_name()) as reader:
        reader.execute("SET idle_in_transaction_session_timeout = 0")
        reader.execute("SET statement_timeout = 0")
        with reader.transaction():
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            row = reader.execute("SELECT pg_export_snapshot()").fetchone()
            assert row is not None
            yield reader, str(row[0])


@contextmanager
def _partial(path: Path) -> Iterator[BinaryIO]:
    """Yield a file next to `path` that gets its name at the end; after an error it is deleted."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        try:
            file = open(partial, "xb", opener=_for_us_only)  # noqa: SIM115 - closed below
        except OSError as error:
            raise BackupError(f"{path.parent} cannot be written: {error.strerror}.") from error
        with file:
            yield file
        partial.rename(path)
        ledger.sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _for_us_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_ready(folder: Path, *, now: datetime) -> None:
    try:
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
        for path in folder.glob(f"*{SUFFIX}{PARTIAL}"):
            if path.stat().st_mtime < (now - _LEFT_BEHIND).timestamp():
                path.unlink(missing_ok=True)
    except OSError as error:
        raise BackupError(f"{folder} cannot be used for backups: {error.strerror}.") from error


def _record(made: Made, *, actor: str, now: datetime) -> None:
    details = {
        "sha256": made.digest,
        "bytes": made.size,
        "rows": made.rows,
        "encrypted": made.encrypted,
        "verified": made.events is not None,
    }
    audit.record_system(actor, AuditEvent.BACKUP, subject=made.path.name, details=details, now=now)
