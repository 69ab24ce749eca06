"""Background work pauses while requests are answered, and only then."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from memory.models.queries.jobs import WEB, are_requests_answered
from memory.postgresql import reach
from memory.services.jobs import throttle
from memory.services.jobs.throttle import MAX_REST_SECONDS, REST, Throttle

# PostgreSQL shows a transaction the same connections until it ends.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def web() -> Iterator[psycopg.Connection]:
    with connect(WEB) as other:
        yield other


@pytest.fixture
def rests(monkeypatch) -> list[float]:
    """Record the pauses instead of making them."""
    made: list[float] = []
    monkeypatch.setattr(throttle.time, "sleep", made.append)
    return made


def connect(name: str) -> psycopg.Connection:
    options = connection.get_connection_params()
    fields = {key: options[key] for key in ("host", "port", "user", "password", "dbname") if key in options}
    return psycopg.connect(**fields, application_name=name, autocommit=True)


def look() -> bool:
    """Check for requests as a job of one namespace does."""
    with reach.within(1):
        return are_requests_answered()


def ask(web: psycopg.Connection) -> None:
    """Uses the connection as a request does that is not at its end."""
    web.autocommit = False
    web.execute("SELECT 1")


def test_a_request_is_seen_while_it_uses_the_database(web):
    ask(web)
    time.sleep(0.2)
    assert look()
    web.commit()
    time.sleep(0.2)
    assert not look()


@pytest.mark.parametrize("name", ["", "memos", "psql"])
def test_other_connections_are_no_requests(name):
    with connect(name) as other:
        other.execute("SELECT 1")
        assert not look()


def test_looking_for_changes_is_no_request(web):
    time.sleep(0.2)
    web.execute("SELECT pg_current_snapshot()")
    assert not look()


def a_job_that_has_worked(seconds: float) -> Throttle:
    job = Throttle()
    job._since -= seconds
    return job


def test_a_job_rests_in_proportion_to_its_work(web, rests):
    job = a_job_that_has_worked(0.5)
    ask(web)
    job.rest()
    job.rest()
    [rest] = rests
    assert 0.5 * REST <= rest < MAX_REST_SECONDS


def test_a_long_piece_of_work_is_followed_by_a_rest_with_a_limit(web, rests):
    job = a_job_that_has_worked(60)
    ask(web)
    job.rest()
    assert rests == [MAX_REST_SECONDS]


def test_a_job_goes_on_while_nobody_asks(rests):
    a_job_that_has_worked(0.5).rest()
    assert rests == []
