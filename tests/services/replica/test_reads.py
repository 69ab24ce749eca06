"""Where a read goes that the replica may answer. With a real standby: tests/deploy/test_replica.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from memory.postgresql import replica
from memory.postgresql.replica import ReplicaAway
from memory.services.replica.reads import note_write, note_write_for_all, read


@pytest.fixture
def false_replica(transactional_db: None) -> Iterator[None]:
    """DATABASE_REPLICA_URL names a server that is none's replica: the database itself."""
    connections.settings[replica.ALIAS] = {**connections.settings[DEFAULT_DB_ALIAS]}
    replica._pause.until = 0.0
    yield
    connections[replica.ALIAS].close()
    del connections.settings[replica.ALIAS]
    del connections[replica.ALIAS]
    replica._pause.until = 0.0


def name_server() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        return str(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_without_a_replica_nothing_is_asked_beside_the_read() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert read(name_server, actor="key:a", namespace_ids=[1])
        note_write(actor="key:a", namespace_ids=[1])
        note_write_for_all()
    assert len(asked) == 1


def test_a_server_that_is_no_standby_is_not_read_from(false_replica: None) -> None:
    with pytest.raises(ReplicaAway, match="not a standby"):
        replica.check(0)
    assert read(name_server, actor="key:a", namespace_ids=[1]) == connection.settings_dict["NAME"]
    assert not replica.is_reading()


def test_a_standby_of_another_database_is_not_read_from(false_replica: None) -> None:
    connections.settings[replica.ALIAS]["NAME"] = "postgres"
    with pytest.raises(ReplicaAway, match="not a copy of the database"):
        replica.check(0)


def test_a_server_that_does_not_answer_is_left_alone_for_a_while(false_replica: None) -> None:
    connections.settings[replica.ALIAS] |= {"HOST": "127.0.0.1", "PORT": "9"}
    with pytest.raises(ReplicaAway, match=r"refused|failed"):
        replica.check(0)
    with pytest.raises(ReplicaAway, match="a moment ago"):
        replica.check(0)


def test_in_a_transaction_all_goes_where_it_began(false_replica: None) -> None:
    assert replica.may_read()
    with transaction.atomic():
        assert not replica.may_read()


def test_a_read_that_fails_on_the_replica_is_done_again_on_the_primary(
    false_replica: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_ask", lambda **_: 1 << 62)
    standby = replica._connection()
    standby.ensure_connection()
    standby.connection.execute("SET default_transaction_read_only = on")
    servers: list[Any] = []

    def write() -> str:
        servers.append(connections[DEFAULT_DB_ALIAS])
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS kept_by_primary (id int)")
            cursor.execute("DROP TABLE kept_by_primary")
        return "done"

    primary = connections[DEFAULT_DB_ALIAS]
    assert read(write, actor="key:a", namespace_ids=[1]) == "done"
    assert servers == [standby, primary]
    assert connections[DEFAULT_DB_ALIAS] is primary


def test_an_error_of_the_read_itself_is_its_own(false_replica: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "_ask", lambda **_: 1 << 62)
    primary, tries = connections[DEFAULT_DB_ALIAS], []

    def fail() -> None:
        tries.append(replica.is_reading())
        raise LookupError

    with pytest.raises(LookupError):
        read(fail, actor="key:a", namespace_ids=[1])
    assert tries == [True]
    assert connections[DEFAULT_DB_ALIAS] is primary


def test_the_primary_can_be_asked_in_the_middle(false_replica: None) -> None:
    primary = connections[DEFAULT_DB_ALIAS]
    with replica.reading():
        assert connections[DEFAULT_DB_ALIAS] is not primary
        with replica.on_primary():
            assert connections[DEFAULT_DB_ALIAS] is primary
        assert replica.is_reading()
        assert replica.read_position() > 0
    assert connections[DEFAULT_DB_ALIAS] is primary
