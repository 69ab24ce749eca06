"""A scratch namespace for a measurement, in a separate transaction."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.services.evaluation.scratch import embed_batches, scratch_namespace
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from memory.types import NewMemory
from tests.services.erasure.test_run import rows_read

COUNT = 1_000


@pytest.fixture
def _outdated(db: None) -> None:
    """Set statistics as on a server that was empty until now: PostgreSQL plans for one row in each table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace"
            " AND relname LIKE 'memory\\_%' AND relkind IN ('r', 'i')"
        )


@pytest.mark.usefixtures("_outdated")
def test_a_question_does_not_read_all_of_the_namespace_for_each_of_its_hits():
    first = timezone.now()
    said = [
        NewMemory(
            session=f"s{number // 40}",
            role="user",
            text=f"note {number} word{number % 97}",
            occurred_at=first + timedelta(minutes=number),
        )
        for number in range(COUNT)
    ]
    with (
        scratch_namespace(
            "big", memories=said, embedded=embed_batches(said), actor="tests", keep=False, now=timezone.now()
        ) as scope,
        connection.cursor() as cursor,
    ):
        before = rows_read(cursor)

        found = query(scope, Ask("note word5", 10, timezone.now(), dry_run=True), session="other")

        read = rows_read(cursor) - before
    assert len(found.retrieval.hits) == 10
    # Each arm may read every memory once or twice; reading all of them for each candidate would be 50,000 reads.
    assert read < 10 * COUNT


@pytest.mark.django_db(transaction=True)
def test_what_was_counted_goes_with_the_namespace(alice, remember):
    remember(alice, "One memory stays.")
    said = [NewMemory(session="s", role="user", text=f"note {number}") for number in range(COUNT)]
    with scratch_namespace(
        "big", memories=said, embedded=embed_batches(said), actor="tests", keep=False, now=timezone.now()
    ):
        assert known_rows() >= COUNT
    assert known_rows() < COUNT / 10


def known_rows() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'memory_memory'::regclass")
        return float(cursor.fetchone()[0])
