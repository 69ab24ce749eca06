"""Advisory locks: one module takes them, each excludes only itself, and the keys are those of older versions."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from memory.models.locks import Lock, _key, lock_in_transaction, try_lock, try_lock_in_transaction
from tests.threads import other_connection

ROOT = Path(__file__).resolve().parents[2]
LOCKS = "memory/models/locks.py"
SOURCES = ("memory", "ops", "memos_site", "bench", "tools")
ROW = uuid.UUID("01890a5d-ac96-774b-bcce-b302099a8057")
# A namespace's id may be beyond 32 bits.
NAMESPACE = 2**40 + 7
OF_NAMESPACES = {
    Lock.BUDGET,
    Lock.BUDGET_OF_KEY,
    Lock.DOCUMENT_FILES,
    Lock.ENTITY_NAMES,
    Lock.MAP,
    Lock.POLICY,
    Lock.PREFERENCES,
    Lock.SETTLE_NAMESPACE,
    Lock.SUPERSEDE,
    Lock.VECTORS,
}
OF_ROWS = {Lock.ACTIVATION, Lock.ADAPTER, Lock.ERASURE, Lock.EVALUATION}


def subject(lock: Lock) -> int | uuid.UUID | None:
    return NAMESPACE if lock in OF_NAMESPACES else ROW if lock in OF_ROWS else None


@pytest.fixture
def other(transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """Opens a second connection to the database of the tests."""
    with other_connection() as opened:
        yield opened


def held() -> list[tuple[int, int, int]]:
    """Lists the keys of all advisory locks held: two halves, and 1 for one bigint or 2 for two integers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT classid::bigint, objid::bigint, objsubid FROM pg_locks WHERE locktype = 'advisory' AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1, 2, 3"
        )
        return cursor.fetchall()


def is_free(other: psycopg.Connection[Any], lock: Lock, *, shared: bool = False) -> bool:
    """Tells whether the second connection could take the lock."""
    key, parameters = _key(lock, subject(lock))
    with other.transaction():
        name = f"pg_try_advisory_xact_lock{'_shared' if shared else ''}"
        row = other.execute(f"SELECT {name}({key})", parameters).fetchone()
        assert row is not None
        return bool(row[0])


def test_no_other_module_takes_an_advisory_lock():
    takes = re.compile(r"advisory_(?:xact_)?(?:un)?lock", re.IGNORECASE)
    found = [
        str(path.relative_to(ROOT))
        for top in SOURCES
        for path in sorted((ROOT / top).rglob("*.py"))
        if takes.search(path.read_text())
    ]
    assert found == [LOCKS]


def test_every_lock_has_a_key_of_its_own(transactional_db):
    with transaction.atomic(), connection.cursor() as cursor:
        for lock in Lock:
            key, parameters = _key(lock, subject(lock))
            cursor.execute(f"SELECT pg_advisory_xact_lock({key})", parameters)
        assert len(set(held())) == len(Lock)


@pytest.mark.parametrize("lock", sorted(set(Lock) - OF_NAMESPACES, key=lambda lock: lock.name))
def test_who_tries_a_lock_that_another_connection_has_is_told_so(other, lock):
    row = subject(lock)
    assert row is None or isinstance(row, uuid.UUID)
    with try_lock(lock, row, on=other) as theirs, try_lock(lock, row) as mine:
        assert (theirs, mine) == (True, False)
        assert [free for free in Lock if not is_free(other, free)] == []
    with try_lock(lock, row) as mine:
        assert mine
        assert [taken for taken in Lock if not is_free(other, taken)] == [lock]
    assert is_free(other, lock)


def test_a_lock_of_one_row_is_none_of_another(other):
    with try_lock(Lock.ERASURE, ROW, on=other), try_lock(Lock.ERASURE, uuid.UUID(int=1)) as mine:
        assert mine


def test_a_lock_of_a_namespace_can_be_tried_and_shared(other):
    lock = Lock.SETTLE_NAMESPACE
    with try_lock(lock, NAMESPACE, on=other), try_lock(lock, NAMESPACE) as mine, try_lock(lock, NAMESPACE + 1) as free:
        assert (mine, free) == (False, True)
    with try_lock(Lock.SETTLE, on=other, shared=True) as theirs, try_lock(Lock.SETTLE, shared=True) as mine:
        assert (theirs, mine) == (True, True)
        assert not is_free(other, Lock.SETTLE)
    assert is_free(other, Lock.SETTLE)


def test_a_lock_is_let_go_when_what_was_done_under_it_fails(other):
    def work() -> None:
        with try_lock(Lock.SWEEP):
            assert not is_free(other, Lock.SWEEP)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert is_free(other, Lock.SWEEP)


@pytest.mark.parametrize("lock", sorted(OF_NAMESPACES, key=lambda lock: lock.name))
def test_a_namespaces_lock_is_held_until_the_transaction_ends(other, lock):
    with transaction.atomic():
        lock_in_transaction(lock, NAMESPACE)
        assert [taken for taken in Lock if not is_free(other, taken)] == [lock]
    assert is_free(other, lock)
    with transaction.atomic():
        lock_in_transaction(lock, NAMESPACE + 1)
        assert is_free(other, lock)


def test_a_shared_lock_excludes_only_who_wants_it_alone(other):
    with transaction.atomic():
        lock_in_transaction(Lock.POLICY, NAMESPACE, shared=True)
        assert is_free(other, Lock.POLICY, shared=True)
        assert not is_free(other, Lock.POLICY)


def test_who_tries_a_lock_in_a_transaction_has_it_until_its_end(other):
    with transaction.atomic(), try_lock(Lock.AUDIT_SEALS, on=other):
        assert not try_lock_in_transaction(Lock.AUDIT_SEALS)
    with transaction.atomic():
        assert try_lock_in_transaction(Lock.AUDIT_SEALS)
        assert not is_free(other, Lock.AUDIT_SEALS)
    assert is_free(other, Lock.AUDIT_SEALS)


@pytest.mark.parametrize(("lock", "of"), [(Lock.POLICY, None), (Lock.ERASURE, None), (Lock.SWEEP, ROW)], ids=str)
def test_a_lock_of_something_else_is_refused(lock, of):
    with pytest.raises(TypeError, match="is no lock of"):
        _key(lock, of)


def digest(name: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(name + ROW.bytes, digest_size=8).digest(), signed=True)


# The keys as version 0.1.0 wrote them, whose worker may still run during an upgrade.
FORMER = {
    Lock.AUDIT_SEALS: ("%s::bigint", [0x6D656D6F_61756474]),
    Lock.BACKUP: ("%s::bigint", [0x6D656D6F_6261636B]),
    Lock.EMBEDDING: ("%s::bigint", [0x6D656D6F73]),
    Lock.ENTITIES: ("%s::bigint", [0x6D656D6F75]),
    Lock.COMMON_TERMS: ("%s::bigint", [0x6D656D6F74]),
    Lock.JUDGE: ("%s::bigint", [0x6D656D6A64]),
    Lock.SETTLE: ("%s::bigint", [0x6D656D7375]),
    Lock.SWEEP: ("%s::bigint", [0x7377656570]),
    Lock.SCRATCH_DATABASES: ("%s::bigint", [0x6D656D6F_7363726]),
    Lock.ENTITY_NAMES: ("hashtextextended('memos entities', %s)", [NAMESPACE]),
    Lock.MAP: ("%s, %s", [0x6D656D6D, NAMESPACE % 2**31]),
    Lock.POLICY: ("hashtextextended('memos.policy', %s)", [NAMESPACE]),
    Lock.SUPERSEDE: ("hashtextextended('memos.supersede', %s)", [NAMESPACE]),
    Lock.VECTORS: ("%s, %s", [0x6D656D76, NAMESPACE % 2**31]),
    Lock.ERASURE: ("%s", [digest(b"erasure:")]),
    Lock.EVALUATION: ("%s", [digest(b"evaluation:")]),
}


# The locks that no release had.
NEW = {
    Lock.ACTIVATION, Lock.ADAPTER, Lock.BUDGET, Lock.BUDGET_OF_KEY, Lock.DOCUMENT_FILES, Lock.HNSW_INDEXES,
    Lock.PREFERENCES, Lock.SETTLE_NAMESPACE,
}  # fmt: skip


def test_the_locks_of_before_are_all_there():
    assert set(FORMER) | NEW == set(Lock)


@pytest.mark.parametrize("lock", FORMER, ids=lambda lock: lock.name)
def test_a_lock_is_the_one_that_older_processes_take(other, lock):
    key, parameters = FORMER[lock]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({key})", parameters)
        assert not is_free(other, lock)
