"""PostgreSQL itself limits a request to its namespaces: without a filter it does not return or change others' rows."""

from __future__ import annotations

import importlib
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import ProgrammingError, connection, models, transaction
from django.utils import timezone
from django_q.models import Schedule

from memory.models import Job, Memory, Namespace, NamespaceStat, Procedure
from memory.models.scoped import ScopedQuerySet
from memory.postgresql import reach, row_security
from memory.postgresql.base import open_connection
from memory.services.backup import scheduled
from memory.services.jobs import schedules
from memory.services.retention import forecast
from ops.access import staff_access
from ops.models import StaffGrant
from tests.job_queue import run_job

TENANTS = [
    model
    for model in apps.get_app_config("memory").get_models()
    if isinstance(model._default_manager.none(), ScopedQuerySet) or model is NamespaceStat
]
# Events are never changed.
UNCHANGING = {"AuditLog"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def each_model() -> Any:
    return pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)


def count(table: str) -> int:
    """Return how many rows a query without any condition sees."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return int(cursor.fetchone()[0])


def value_for(column: str, kind: str, number: int) -> str:
    """Return a value of the column's type, as SQL."""
    if kind.endswith("[]"):
        return "'{}'"
    if column == "end":
        number += 9
    return {
        "uuid": f"'{uuid.UUID(int=number)}'",
        "bigint": str(number),
        "integer": str(number),
        "smallint": "1",
        "boolean": "false",
        "jsonb": "'{}'",
        "bytea": "'\\x00'",
        "double precision": "0",
        "numeric": "0",
        "real": "0",
        "date": "'2026-01-01'",
        "timestamp with time zone": "'2026-01-01+00'",
        "halfvec": "'[1,2]'",
        "xid8": "'1'",
    }.get(kind, f"'x{number}'")


def insert(model: type[models.Model], namespace_id: int, number: int = 1) -> None:
    """Insert a row of the namespace with made-up values, without checking what they refer to."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' "
            "AND attnotnull AND attname <> 'namespace_id'",
            [table],
        )
        columns = {f'"{name}"': value_for(name, kind, number) for name, kind in cursor.fetchall()}
        names, values = ", ".join(columns), ", ".join(columns.values())
        # The login may leave foreign keys unchecked. The roles may not, but their rows are refused before keys are
        # checked.
        cursor.execute(
            "SELECT set_config('session_replication_role', 'replica', true) WHERE current_user = session_user"
        )
        cursor.execute(f"INSERT INTO {table} (namespace_id, {names}) VALUES ({namespace_id}, {values})")
        cursor.execute(
            "SELECT set_config('session_replication_role', 'origin', true) WHERE current_user = session_user"
        )


@pytest.fixture
def two(db: None) -> tuple[int, int]:
    """Two namespaces."""
    ids = [Namespace.objects.create(name=name).pk for name in ("ours", "theirs")]
    return ids[0], ids[1]


def test_every_table_of_a_tenant_has_its_policies(db):
    assert open_connection().row_security_state() == row_security.Protection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relispartition")
        held = {name for (name,) in cursor.fetchall()}
    assert held == {model._meta.db_table for model in TENANTS}


@each_model()
def test_a_forgotten_filter_returns_nothing(two: tuple[int, int], model: Any):
    ours, theirs = two
    table = model._meta.db_table
    insert(model, ours)
    insert(model, theirs, 2)
    assert count(table) == 2

    with reach.within():
        assert count(table) == 0
    with reach.within(ours):
        assert count(table) == 1
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT DISTINCT namespace_id FROM {table}")
            assert cursor.fetchall() == [(ours,)]
    with reach.within(ours, theirs):
        assert count(table) == 2
    with reach.within(theirs, theirs + 1):
        assert count(table) == 1
    with reach.across_namespaces():
        assert count(table) == 2


@each_model()
def test_nothing_is_written_into_another_namespace(two: tuple[int, int], model: Any):
    ours, theirs = two
    table = model._meta.db_table
    insert(model, theirs)
    refused = pytest.raises(ProgrammingError, match="row-level security")
    for allowed in ((ours,), (ours, theirs + 1), ()):
        with reach.within(*allowed):
            with refused, transaction.atomic():
                insert(model, theirs, 2)
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE {table} SET namespace_id = namespace_id")
                assert cursor.rowcount == 0
                cursor.execute(f"DELETE FROM {table}")
                assert cursor.rowcount == 0
    if model.__name__ in UNCHANGING:
        return
    with reach.within(theirs), refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET namespace_id = {ours}")
    assert count(table) == 1


def test_what_no_namespace_has_is_read_by_all_and_written_by_none(two: tuple[int, int]):
    Procedure.objects.create(name="shared", namespace=None)
    with reach.within(two[0]):
        assert count("memory_procedure") == 1
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Procedure.objects.create(name="mine", namespace=None)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE memory_memory DISABLE ROW LEVEL SECURITY",
        "DROP POLICY memos_app_one ON memory_memory",
        "TRUNCATE memory_posting",
        "DROP TABLE memory_posting",
    ],
)
def test_a_request_owns_no_table(db, change: str):
    refused = pytest.raises(ProgrammingError, match=r"must be owner|permission denied")
    with reach.across_namespaces(), connection.cursor() as cursor, refused:
        cursor.execute(change)


def forget_the_filter(monkeypatch: pytest.MonkeyPatch, where: str, seen: list[int]) -> None:
    """Let a service look at every memory in the database before it does its work."""
    module, _, name = where.rpartition(".")
    plain = getattr(importlib.import_module(module), name)

    def forgetful(*arguments: Any, **named: Any) -> Any:
        seen.append(count("memory_memory"))
        return plain(*arguments, **named)

    monkeypatch.setattr(where, forgetful)


def test_a_request_reaches_what_its_key_reaches(alice, bob, make_tenant, remember, monkeypatch):
    remember(alice, "The ferry leaves at noon.")
    remember(bob, "The train leaves at one.")
    remember(bob, "The bus leaves at two.")
    everyone = make_tenant("alice", all_namespaces=True)
    seen: list[int] = []
    forget_the_filter(monkeypatch, "memory.services.monitoring.stats.totals", seen)

    for tenant in (alice, bob, everyone):
        assert tenant.get("/v1/ops/stats").status_code == 200
    assert seen == [1, 2, 3]
    assert count("memory_memory") == 3


def test_a_request_that_names_namespaces_reaches_only_those(alice, bob, make_tenant, remember, monkeypatch):
    remember(alice, "The ferry leaves at noon.")
    remember(bob, "The train leaves at one.")
    everyone = make_tenant("carol", all_namespaces=True)
    remember(everyone, "The bus leaves at two.")
    seen: list[int] = []
    forget_the_filter(monkeypatch, "memory.api.views.query.query", seen)
    forget_the_filter(monkeypatch, "memory.api.views.ingest.ingest_batch", seen)

    question = {"namespace": "bob", "session_id": "s1", "query": "When does the train leave?"}
    assert everyone.post("/v1/query", question).status_code == 200
    turn = {"session_id": "s2", "role": "user", "text": "The plane leaves at three."}
    batch = {"items": [{**turn, "namespace": name} for name in ("alice", "bob")]}
    assert everyone.post("/v1/ingest/batch", batch).status_code == 200
    assert seen == [1, 2]


def test_staff_reach_what_is_granted_to_them(alice, bob, remember, django_user_model, rf):
    remember(alice, "The ferry leaves at noon.")
    remember(bob, "The train leaves at one.")
    request = rf.get("/ops/")
    request.user = django_user_model.objects.create_user("ann", is_staff=True)
    StaffGrant.objects.create(user=request.user, namespace_id=alice.scope.namespace_id)

    with reach.hold(reach.NOTHING):
        staff_access(request)
        assert count("memory_memory") == 1


_counted: list[int] = []


def count_memories(*, now: datetime) -> None:
    """Record the number of memories that a job sees."""
    _counted.append(count("memory_memory"))


def test_a_job_reaches_its_namespace(alice, bob, remember):
    remember(alice, "The ferry leaves at noon.")
    remember(bob, "The train leaves at one.")

    for namespace_id, expected in ((alice.scope.namespace_id, 1), (0, 2)):
        run_job(Job.objects.create(namespace_id=namespace_id, kind=f"{__name__}.count_memories"))
        assert _counted.pop() == expected


def test_what_is_the_servers_is_shown_to_who_reaches_one_namespace(alice):
    now = timezone.now()
    name = forecast.SWEEP_SCHEDULE
    Schedule.objects.create(func="x", name=name, minutes=60, schedule_type=Schedule.MINUTES)
    Job.objects.create(schedule=name, kind="sweep_memories", state="failed", attempts=2, started_at=now)
    Job.objects.create(kind="back_up", state="failed", finished_at=now, error_type="OSError")

    queues = {entry["name"]: entry["count"] for entry in alice.get("/v1/ops/pipeline").json()["queues"]}
    assert queues["failed"] == 2
    with reach.within(alice.scope.namespace_id):
        [state] = schedules.schedule_states(now=now)
        assert (state.last_run_at, state.failures) == (now, 2)
        assert forecast.last_sweep(alice.scope) is not None
        assert scheduled.state(now=now).failed


def test_a_rollback_takes_back_what_postgresql_was_told(two: tuple[int, int]):
    ours, theirs = two
    insert(Memory, ours)
    insert(Memory, theirs, 2)
    insert(Memory, theirs, 3)
    with reach.within(ours):
        assert count("memory_memory") == 1
        with transaction.atomic(), reach.within(theirs):
            assert count("memory_memory") == 2
            transaction.set_rollback(True)
        assert count("memory_memory") == 1
        with reach.within(theirs):
            assert count("memory_memory") == 2
            with transaction.atomic(), reach.within(ours):
                assert count("memory_memory") == 1
                transaction.set_rollback(True)
            assert count("memory_memory") == 2


def test_a_thread_reaches_nothing_in_a_process_that_serves(monkeypatch):
    monkeypatch.setattr(reach, "_of_process", reach.LOGIN)
    found: list[reach.Reach] = []
    for prepare in (reach.open_process, reach.close_process):
        prepare()
        with reach.within(1):
            thread = threading.Thread(target=lambda: found.append(reach.current()))
            thread.start()
            thread.join()
    assert found == [reach.LOGIN, reach.NOTHING]


def test_an_answer_that_is_made_while_it_is_sent_keeps_its_reach():
    with reach.within(1):
        pieces = reach.carry(reach.current() for _ in range(2))
    with reach.within(2):
        assert next(pieces) == reach.Reach(reach.ROLE_OF_ONE, "1")
        assert reach.current().namespaces == "2"
        assert [piece.namespaces for piece in pieces] == ["1"]


def test_the_condition_costs_a_query_nothing_for_each_row(two: tuple[int, int]):
    """PostgreSQL evaluates the condition once, and searches the index as it does without it."""
    with reach.within(two[0]), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN (COSTS OFF) SELECT memory_id FROM memory_posting WHERE namespace_id = %s AND term = 'ferri'",
            [two[0]],
        )
        once, *scan = [line for (line,) in cursor.fetchall() if "memos.namespaces" in line or "Cond" in line]
    assert "One-Time Filter" in once
    assert len(scan) == 1
    assert "memos.namespaces" not in scan[0]
    assert "term" in scan[0]


@pytest.fixture
def plain_owner(db: None) -> Iterator[psycopg.Connection[Any]]:
    """Make a database with two tables and an owner that has no other rights."""
    parameters = {**connection.get_connection_params(), "dbname": "postgres"}
    known = {name: parameters[name] for name in ("host", "port", "user", "password", "dbname") if parameters.get(name)}
    name = f"memos_owner_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(**known, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        admin.execute(f"CREATE DATABASE {name} OWNER {name}")
        try:
            with psycopg.connect(**{**known, "user": name, "password": "x", "dbname": name}, autocommit=True) as own:
                own.execute("CREATE TABLE memory_memory (id int, namespace_id bigint NOT NULL)")
                own.execute("CREATE TABLE other (id int)")
                own.execute("INSERT INTO memory_memory VALUES (1, 1), (2, 2)")
                yield own
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            admin.execute(f"DROP ROLE {name}")


def test_an_owner_without_the_roles_is_told_what_to_do_and_works_on(plain_owner):
    login = plain_owner.info.user
    lacks = row_security.set_up(plain_owner)
    assert lacks.lacks == f"the login {login} may not become memos_app_one, memos_app_some, memos_app_all"
    assert row_security.state(plain_owner) == lacks
    with plain_owner.cursor() as cursor:
        assert not row_security.is_enforced(cursor)
    assert plain_owner.execute("SELECT count(*) FROM memory_memory").fetchone() == (2,)

    statements = lacks.fix.removeprefix("as a superuser: ").removesuffix("; then manage.py migrate")
    with connection.cursor() as superuser:
        superuser.execute("SELECT rolsuper FROM pg_roles WHERE rolname = session_user")
        assert superuser.fetchone() == (True,)
    parameters = connection.get_connection_params()
    known = {name: parameters[name] for name in ("host", "port", "user", "password") if parameters.get(name)}
    with psycopg.connect(**known, dbname="postgres", autocommit=True) as admin:
        admin.execute(statements)

    assert row_security.state(plain_owner).fix == "manage.py migrate"
    assert row_security.set_up(plain_owner) == row_security.Protection()
    assert row_security.set_up(plain_owner) == row_security.Protection()
    plain_owner.execute("SELECT set_config('role', 'memos_app_one', false), set_config('memos.namespaces', '2', false)")
    assert plain_owner.execute("SELECT id FROM memory_memory").fetchall() == [(2,)]


def test_migrating_sets_up_what_is_missing(db):
    with connection.cursor() as cursor:
        cursor.execute("DROP POLICY memos_app_one ON memory_memory")
    assert open_connection().row_security_state() == row_security.Protection(
        "no policies on memory_memory", "manage.py migrate"
    )
    call_command("migrate", verbosity=0)
    assert open_connection().row_security_state() == row_security.Protection()
