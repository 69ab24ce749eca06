"""Requests share a pool of connections, but never the reach of another request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from memory.postgresql import reach
from memory.postgresql.base import DatabaseWrapper
from memory.postgresql.reach import Reach
from tests.threads import together

pytestmark = pytest.mark.django_db(transaction=True)

REACHES = [
    reach.NOTHING,
    reach.EVERYTHING,
    reach.LOGIN,
    Reach(reach.ROLE_OF_ONE, "1"),
    Reach(reach.ROLE_OF_SOME, "1,2"),
]
Make = Callable[[], DatabaseWrapper]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes connections for threads that share a pool of two, as in a web process."""
    options = {**connection.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 2, "timeout": 20}}
    given = {**connection.settings_dict, "OPTIONS": options, "CONN_MAX_AGE": 0}
    yield lambda: DatabaseWrapper(given)
    DatabaseWrapper(given).close_pool()


def ask(database: DatabaseWrapper, wanted: Reach) -> tuple[Reach, int]:
    """Returns the role and namespaces of a request with that reach, and the PostgreSQL process that serves it."""
    with reach.hold(wanted):
        try:
            with database.cursor() as cursor:
                cursor.execute(
                    "SELECT current_setting('role'), coalesce(current_setting('memos.namespaces', true), ''), "
                    "pg_backend_pid()"
                )
                role, namespaces, process = cursor.fetchone()
        finally:
            database.close()
    return Reach(role, namespaces), process


def test_a_connection_says_nothing_of_the_request_before(make):
    first, second = make(), make()
    asked = [wanted for one in REACHES for other in REACHES for wanted in (one, other)]
    told = [ask(database, wanted) for wanted in asked for database in (first, second)]

    assert [one for one, _ in told] == [wanted for wanted in asked for _ in range(2)]
    assert len({process for _, process in told}) <= 2


def test_what_a_rollback_takes_back_is_sent_again(make):
    one, other = Reach(reach.ROLE_OF_ONE, "1"), Reach(reach.ROLE_OF_ONE, "2")
    assert ask(make(), one)[0] == one
    broken = make()
    with reach.hold(other), broken.cursor() as cursor:
        broken.set_autocommit(False)
        cursor.execute("SELECT 1")
        # A request may end in the middle of a transaction, which the pool rolls back.
        broken.close()

    assert ask(make(), other)[0] == other
    assert ask(make(), one)[0] == one


def test_threads_that_take_turns_each_have_their_own(make):
    def run(number: int) -> list[tuple[Reach, Reach]]:
        chance, database = random.Random(number), make()
        wanted = [chance.choice([*REACHES, Reach(reach.ROLE_OF_ONE, str(number))]) for _ in range(40)]
        return [(one, ask(database, one)[0]) for one in wanted]

    assert all(wanted == told for turns in together(8, run) for wanted, told in turns)


def test_a_lost_connection_is_replaced(make):
    database = make()
    _, process = ask(database, reach.LOGIN)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [process])

    assert ask(database, reach.EVERYTHING)[0] == reach.EVERYTHING
