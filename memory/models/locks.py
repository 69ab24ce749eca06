"""The advisory locks that MemOS takes in PostgreSQL, by name. Its holder excludes others on all machines."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from django.db import connection


class Lock(Enum):
    """Names what is locked. Values must not change, because an older version may still run during an upgrade.

    A number is PostgreSQL's key, or its first half if the second half is the namespace. A text is hashed together with
    the id of the namespace or row that it locks.
    """

    # Locks of the whole database: one run at a time.
    AUDIT_SEALS = 0x6D656D6F_61756474
    BACKUP = 0x6D656D6F_6261636B
    EMBEDDING = 0x6D656D6F73
    ENTITIES = 0x6D656D6F75
    # Making and dropping HNSW indexes; the connection holds the lock until that has ended.
    HNSW_INDEXES = 0x6D656D6F_686E7377
    # Counting the common terms of large namespaces.
    COMMON_TERMS = 0x6D656D6F74
    JUDGE = 0x6D656D6A64
    SETTLE = 0x6D656D7375
    SWEEP = 0x7377656570
    # Making and removing scratch databases; taken in the maintenance database of the server.
    SCRATCH_DATABASES = 0x6D656D6F_7363726

    # Locks of one namespace.
    # Storing a file, so that two requests with the same file store one.
    DOCUMENT_FILES = "memos.document_files"
    ENTITY_NAMES = "memos entities"
    MAP = 0x6D656D6D
    # Changing the policy, in addition to the lock of the namespace's row. Writers under a quota take the row's lock
    # before they lock memories.
    POLICY = "memos.policy"
    # Reserving a model call: first for the namespace, then for the key.
    BUDGET = "memos.budget"
    BUDGET_OF_KEY = "memos.budget_of_key"
    # Comparing turns with earlier memories. SETTLE is taken with it, shared, because an older version takes that
    # exclusively.
    SETTLE_NAMESPACE = "memos.settle"
    # Storing preferences, so that concurrent writers do not store one twice. Taken before the session's row.
    PREFERENCES = "memos.preferences"
    # Superseding, because concurrent changes could make a ring.
    SUPERSEDE = "memos.supersede"
    # Changing many vectors, because such transactions lock them in different orders and could deadlock.
    VECTORS = 0x6D656D76

    # Locks of one row while it is worked on. A killed process frees its locks, because its connection ends.
    ERASURE = "erasure:"
    ACTIVATION = "activation:"
    EVALUATION = "evaluation:"
    ADAPTER = "adapter:"


@contextmanager
def try_lock(
    lock: Lock, of: int | uuid.UUID | None = None, *, on: Any = connection, shared: bool = False
) -> Iterator[bool]:
    """Yields whether the caller got the lock, without waiting, and releases it at the end.

    `of`: the id of the namespace or row. `on`: the connection that holds it, Django's or one of psycopg in autocommit.
    A connection may take a lock repeatedly. Several may hold it if all take it `shared`.
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
    """Tells whether the connection `on` got the lock, without waiting; it holds it until its session ends."""
    key, parameters = _key(lock, None)
    with on.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({key})", parameters)
        return bool(cursor.fetchone()[0])


def lock_in_transaction(lock: Lock, namespace_id: int, *, shared: bool = False) -> None:
    """Waits for the lock, and holds it until the transaction ends. Several may hold it if all take it `shared`."""
    key, parameters = _key(lock, namespace_id)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock{'_shared' if shared else ''}({key})", parameters)


def try_lock_in_transaction(lock: Lock) -> bool:
    """Tells whether the caller got the lock, without waiting; it is held until the transaction ends."""
    key, parameters = _key(lock, None)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({key})", parameters)
        return bool(cursor.fetchone()[0])


def _key(lock: Lock, of: int | uuid.UUID | None) -> tuple[str, list[int | str]]:
    """Returns the arguments of PostgreSQL's lock functions, as SQL with parameters: one bigint, or two integers.

    Raises TypeError if the lock is not one of that kind of id.
    """
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
