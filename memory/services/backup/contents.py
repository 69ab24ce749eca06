"""Describes the contents of a database in figures, which a backup contains and a restore compares."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from memory import ledger
from memory.errors import BackupUnverified
from memory.services.audit import verify

_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""
_HEAD = "SELECT number, encode(hash, 'hex') FROM memory_auditseal ORDER BY number DESC LIMIT 1"


def read(reader: psycopg.Connection[Any], *, backup_id: str, server: int) -> dict[str, Any]:
    """Return the manifest of a backup, as the transaction of `reader` sees the database.

    `tables`: the number of rows of each; `head`: the newest seal of the audit chain (number, hash); `secret`: a mark of
    MEMOS_SECRET_KEY.
    """
    row = reader.execute(_HEAD).fetchone()
    migrations = reader.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
    return {
        "backup": backup_id,
        "server": server,
        "secret": ledger.secret_mark(),
        "ledger": ledger.path() is not None,
        "head": list(row) if row else None,
        "migrations": [list(migration) for migration in migrations],
        "tables": counts(reader),
    }


def counts(reader: psycopg.Connection[Any]) -> dict[str, int]:
    """Count the rows of each table."""
    names = [name for (name,) in reader.execute(_TABLES).fetchall()]
    found = {}
    for name in names:
        row = reader.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))).fetchone()
        assert row is not None
        found[name] = int(row[0])
    return found


def compare(manifest: dict[str, Any], restored: dict[str, int]) -> None:
    """Raise BackupUnverified when the restored numbers of rows (by table) differ from the manifest's."""
    wanted = manifest["tables"]
    differing = [
        f"{name}: {restored.get(name, 'no table')} of {wanted.get(name, 'no table')}"
        for name in sorted({*wanted, *restored})
        if wanted.get(name) != restored.get(name)
    ]
    if differing:
        raise BackupUnverified(f"Restored are not the rows that were backed up: {'; '.join(differing)}.")


def verify_chain(manifest: dict[str, Any]) -> int:
    """Verify the audit chain of the database that Django is connected to; return how many events hold.

    Raises BackupUnverified when an event does not, or when the chain's end differs from the manifest's.
    """
    proof = verify.verify()
    if proof.faults:
        first = proof.faults[0]
        raise BackupUnverified(f"The restored audit chain does not hold: seal {first.number}: {first.what}.")
    if (list(proof.head) if proof.head else None) != manifest["head"]:
        raise BackupUnverified(f"The restored audit chain ends at {proof.head} and not at {manifest['head']}.")
    return proof.events


def unknown_migrations(manifest: dict[str, Any], known: set[tuple[str, str]]) -> list[str]:
    """Return the migrations of the backup's database that this version of MemOS does not have."""
    ours = {app for app, _ in known}
    return [f"{app}.{name}" for app, name in manifest["migrations"] if app in ours and (app, name) not in known]


def is_empty() -> bool:
    """Return whether the database that Django is connected to has no data that a restore would replace."""
    if not MigrationRecorder(connection).has_table():
        return True
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
        for table in ("memory_namespace", "memory_auditlog", "auth_user"):
            if table in there:
                cursor.execute(f"SELECT EXISTS (SELECT FROM {table})")  # noqa: S608 - three names of ours
                if cursor.fetchone()[0]:
                    return False
    return True


def end_logins() -> None:
    """End all logins of staff, because logins that ended since the backup must not be valid again."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ops_staffsession")
