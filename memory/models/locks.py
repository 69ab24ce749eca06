"""Every advisory lock that MemOS takes in PostgreSQL, by name: whoever holds one excludes others on any machine."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from django.db import connection


class Lock(Enum):
    """What is locked. By its value an older MemOS knows the lock, too, which may still be at work during an upgrade.

    A number is PostgreSQL's own key, or the first half of one whose second half is the namespace. A text is hashed
    together with what it is a lock of: a namespace's id, or a row's.
    """

    # One run at a time, of the whole database.
    AUDIT_SEALS = 0x6D656D6F_61756474
    BACKUP = 0x6D656D6F_6261636B
    EMBEDDING = 0x6D656D6F73
    ENTITIES = 0x6D656D6F75
    # Whoever makes or drops HNSW indexes, with a connection that has the lock until that is over.
    HNSW_INDEXES = 0x6D656D6F_686E7377
    # Counts of the common terms of large namespaces.
    COMMON_TERMS = 0x6D656D6F74
    JUDGE = 0x6D656D6A64
    SETTLE = 0x6D656D7375
    SWEEP = 0x7377656570
    # In the maintenance database: whoever makes or removes scratch databases on the server.
    SCRATCH_DATABASES = 0x6D656D6F_7363726

    # Of one namespace.
    # Whoever gives a file: the same one at once is one.
    DOCUMENT_FILES = "memos.document_files"
    ENTITY_NAMES = "memos entities"
    MAP = 0x6D656D6D
    # Beside the row's lock, which the writers of a namespace with a quota take before they lock memories.
    POLICY = "memos.policy"
    # Whoever reserves a call of a model: of a namespace, and then of a key.
    BUDGET = "memos.budget"
    BUDGET_OF_KEY = "memos.budget_of_key"
    # Whoever compares its turns with earlier memories. With it goes SETTLE, shared: an older MemOS has that for itself.
    SETTLE_NAMESPACE = "memos.settle"
    # Two who store what the same person prefers would store it twice. Taken before the session's row.
    PREFERENCES = "memos.preferences"
    # Several who supersede at once could make a ring.
    SUPERSEDE = "memos.supersede"
    # Transactions that change many vectors lock them in an order of their own, and would wait for each other.
    VECTORS = 0x6D656D76

    # Of one row, by whoever carries it out: what a killed process held is free, for its connection has ended.
    ERASURE = "erasure:"
    ACTIVATION = "activation:"
    EVALUATION = "evaluation:"
    ADAPTER = "adapter:"


@contextmanager
def try_lock(
    lock: Lock, of: int | uuid.UUID | None = None, *, on: Any = connection, shared: bool = False
) -> Iterator[bool]:
    """Inside, whether the caller has the lock, which is let go at the end; it does not wait.

    `of`: the id of the namespace or of the row. `on`: the connection that has it, Django's or one of psycopg in
    autocommit. One connection may take a lock again. Those who take it `shared` have it together.
    """
    key, parameters = _key(lock, of)
    kind = "_shared" if shared else ""
    with on.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock{kind}({key})", parameters)
        got = bool(cursor.fetchone()[0])
    try:
        yield got
    finally:
        if got:
            with on.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_unlock{kind}({key})", parameters)


def try_lock_in_session(lock: Lock, *, on: Any) -> bool:
    """Whether the connection `on` has the lock now, then until it ends at the server; it does not wait."""
    key, parameters = _key(lock, None)
    with on.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({key})", parameters)
        return bool(cursor.fetchone()[0])


def lock_in_transaction(lock: Lock, namespace_id: int, *, shared: bool = False) -> None:
    """Waits for the lock and has it until the transaction ends. Those who take it `shared` have it together."""
    key, parameters = _key(lock, namespace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock{'_shared' if shared else ''}({key})", parameters)


def try_lock_in_transaction(lock: Lock) -> bool:
    """Whether the caller has the lock now, then until the transaction ends; it does not wait."""
    key, parameters = _key(lock, None)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({key})", parameters)
        return bool(cursor.fetchone()[0])


def _key(lock: Lock, of: int | uuid.UUID | None) -> tuple[str, list[int | str]]:
    """The key that PostgreSQL's functions take, as SQL with its parameters: one bigint, or two integers."""
    name = lock.value
    match name, of:
        case int(), None:
            return "%s::bigint", [name]
        case int(), int():
            return "%s::int, %s::int", [name, of % 2**31]
        case str(), int():
            return "hashtextextended(%s, %s)", [name, of]
        case str(), uuid.UUID():
            digest = hashlib.blake2b(name.encode() + of.bytes, digest_size=8).digest()
            return "%s::bigint", [int.from_bytes(digest, signed=True)]
        case _:
            raise TypeError(f"{lock} is no lock of {of!r}.")
