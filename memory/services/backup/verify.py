"""Restores a backup into a scratch database and compares it with its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory.errors import BackupError
from memory.services.backup import contents, postgres
from memory.services.backup.container import Reader


@dataclass(frozen=True, slots=True)
class Verified:
    """The numbers of rows of all tables, and of audit events that hold."""

    rows: int
    events: int


def verify(path: Path, *, key: str) -> Verified:
    """Restore `path` into a new database, compare counts and the audit chain, and drop it.

    Raises BackupDamaged, BackupUnverified, BackupError.
    """
    with postgres.maintenance() as admin, postgres.scratch(admin) as database:
        manifest = load(path, key=key, database=database)
        with postgres.connect_to(database):
            return Verified(sum(manifest["tables"].values()), contents.verify_chain(manifest))


def load(path: Path, *, key: str, database: str) -> dict:
    """Restore a backup into an empty database, compare the counts and return the manifest. Raises as `verify`."""
    try:
        with path.open("rb") as file:
            reader = Reader(file, key=key)
            postgres.load(reader.chunks(), database=database, server=postgres.server_major())
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    with postgres.connect(database) as restored:
        contents.compare(reader.manifest, contents.counts(restored))
    return reader.manifest


def inspect(path: Path, *, key: str) -> Reader:
    """Read the whole file without touching the database; return a Reader whose chunks are used up.

    Raises BackupDamaged, BackupError.
    """
    try:
        with path.open("rb") as file:
            reader = Reader(file, key=key)
            for _ in reader.chunks():
                pass
            return reader
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
