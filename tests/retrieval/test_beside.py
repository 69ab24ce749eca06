"""What runs beside the rest of a search finds what it finds in turn, and opens one connection more at most."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from memory import caches
from memory.errors import EmbeddingUnavailable, SearchTimedOut
from memory.models import sql
from memory.models.sql import fetch, limit_statements
from memory.postgresql import reach
from memory.retrieval import beside, places
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.question import Question
from memory.services.index.embedding_model import active_model
from memory.services.recall.search import Ask, question_of
from tests.retrieval.test_large_namespace import WORDS
from tests.threads import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opened() -> Iterator[None]:
    """This process has a second thread."""
    beside.open_second_thread()
    yield
    beside.close_second_thread()


@pytest.fixture
def large(settings, alice, remember) -> Any:
    """A namespace that counts as large: three conversations whose turns share words, some of them by name."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 20
    chance = random.Random(4)
    for number in range(60):
        text = " ".join([*chance.sample(WORDS[:12], 4), chance.choice(["Ada Bell", "Bo Chen", "nobody"])])
        remember(
            alice,
            text + ("?" if number % 7 == 0 else "."),
            session=f"s{number % 3}",
            role="agent" if number % 2 else "user",
            speaker=chance.choice(["", "Ada Bell", "Bo Chen"]),
            occurred_at=timezone.now() - timedelta(days=number / 4),
        )
    caches.forget_all()
    return alice


@pytest.fixture
def found_by(monkeypatch) -> list[str]:
    """The threads that read what the search by words found."""
    threads = []

    def read(*arguments: Any) -> places.PackedRow:
        threads.append(threading.current_thread().name)
        return read_found(*arguments)

    read_found = places.read_found
    monkeypatch.setattr(places, "read_found", read)
    return threads


def asked(text: str, **fields: Any) -> Question:
    model = active_model()
    return question_of(Ask(text, 10, timezone.now(), **fields), model, model.embed_questions([text])[0])


def as_numbers(found: Retrieval) -> list[Any]:
    hits = [(hit.id, hit.rank, hit.score, hit.relevance, hit.candidate.parts) for hit in found.hits]
    return [found.considered, found.weights, hits, [(one.candidate.memory_id, one.verdict) for one in found.dropped]]


def test_it_finds_what_is_found_in_turn(opened, large, found_by):
    questions = [
        *(asked(f"What did Ada Bell say of {first} and {second}?") for first, second in pairwise(WORDS[:13])),
        asked(f"{WORDS[0]} last week"),
        asked(WORDS[1], as_of=timezone.now()),
        asked("none of these words"),
    ]  # fmt: skip

    for question in questions:
        both = as_numbers(retrieve(large.scope, question, top_k=10, show_dropped=60))
        with transaction.atomic():
            in_turn = as_numbers(retrieve(large.scope, question, top_k=10, show_dropped=60))
        assert both == in_turn
        assert in_turn[2]
    assert found_by == ["search-beside"] * len(questions)


def test_what_was_written_before_is_found(opened, large, remember):
    for number in range(20):
        written = remember(large, f"{WORDS[number % 5]} parcel{number}")
        found = retrieve(large.scope, asked(f"parcel{number}"), top_k=3)
        assert str(found.hits[0].id) == written


def test_a_small_namespace_is_searched_in_turn(opened, bob, remember, found_by):
    remember(bob, "The archive key is under the mat.")

    assert retrieve(bob.scope, asked("archive key"), top_k=3).hits
    assert found_by == []


def test_without_the_search_by_words_nothing_runs_beside(opened, large, found_by):
    assert retrieve(large.scope, asked(WORDS[0]), top_k=3, arms=["dense"]).hits
    assert found_by == []


def test_a_process_without_a_second_thread_searches_in_turn(large, found_by):
    assert retrieve(large.scope, asked(WORDS[0]), top_k=3).hits
    assert found_by == []


def test_who_finds_the_thread_at_work_searches_in_turn(opened, large, found_by):
    go_on = threading.Event()
    part = beside.begin(go_on.wait)
    try:
        assert beside.begin(lambda: 1) is None
        assert retrieve(large.scope, asked(WORDS[0]), top_k=3).hits
        assert found_by == []
    finally:
        go_on.set()
    assert part.result(timeout=5)


def test_it_reaches_the_rows_of_who_asks_and_no_others(opened, alice, bob, remember):
    remember(alice, "The archive key is under the mat.")
    remember(bob, "The garden key hangs by the door.")

    def owners() -> set[int]:
        return {row[0] for row in fetch("SELECT namespace_id FROM memory_memory", {}, prepared=False)}

    for tenant in (alice, bob, alice):
        with reach.within(tenant.scope.namespace_id):
            assert begun(owners).result(timeout=5) == {tenant.scope.namespace_id}


def test_a_statement_that_takes_too_long_ends_the_search(opened, settings):
    settings.MEMOS_SEARCH_TIMEOUT_MS = 50
    with pytest.raises(SearchTimedOut, match=r"longer than 50 ms"), limit_statements():
        begun(lambda: sleep(10)).result(timeout=5)
    # Outside of a search nothing is limited, nor is the next search by the limit of that one.
    assert begun(lambda: sleep(0.1)).result(timeout=5)
    settings.MEMOS_SEARCH_TIMEOUT_MS = 5000
    with limit_statements():
        assert begun(lambda: sleep(0.1)).result(timeout=5)


def test_a_lost_connection_is_replaced(opened, monkeypatch):
    monkeypatch.setattr(sql, "_ALIVE_SECONDS", 0.0)
    pid = begun(backend).result(timeout=5)
    fetch("SELECT pg_terminate_backend(%(pid)s, 5000)", {"pid": pid}, prepared=False)

    assert begun(backend).result(timeout=5) != pid


def test_one_that_is_lost_at_work_is_told_to_who_waits(opened):
    pid = begun(backend).result(timeout=5)
    part = begun(lambda: sleep(10))
    wait_until(lambda: "pg_sleep" in query_of(pid))
    fetch("SELECT pg_terminate_backend(%(pid)s, 5000)", {"pid": pid}, prepared=False)

    with pytest.raises(OperationalError) as told:
        part.result(timeout=5)
    assert isinstance(told.value.__cause__, psycopg.errors.AdminShutdown)
    assert begun(backend).result(timeout=5) != pid


def test_a_question_without_a_vector_is_refused_and_the_next_one_answered(opened, large, found_by):
    def fail() -> None:
        raise EmbeddingUnavailable("the model is away")

    question = asked(WORDS[0])
    with ThreadPoolExecutor(1) as pool:
        away = replace(question, embedded=pool.submit(fail))
        with pytest.raises(EmbeddingUnavailable):
            retrieve(large.scope, away, top_k=3)
    begun(backend).result(timeout=5)
    assert retrieve(large.scope, question, top_k=3).hits


def test_a_connection_that_is_not_used_is_closed(monkeypatch):
    monkeypatch.setattr(beside, "IDLE_SECONDS", 0.05)
    beside.open_second_thread()
    try:
        pid = begun(backend).result(timeout=5)
        wait_until(lambda: query_of(pid) == "")
        assert begun(backend).result(timeout=5) != pid
    finally:
        beside.close_second_thread()


def begun(work: Any) -> Any:
    """The part begins when the one before has left the thread."""
    wait_until(lambda: beside._second._free._value == 1)
    part = beside.begin(work)
    assert part is not None
    return part


def backend() -> int:
    [(pid,)] = fetch("SELECT pg_backend_pid()", {}, prepared=False)
    return int(pid)


def sleep(seconds: float) -> list[tuple]:
    return fetch("SELECT pg_sleep(%(seconds)s)::text IS NOT NULL", {"seconds": seconds}, prepared=False)


def query_of(pid: int) -> str:
    """What that backend does, or did last; empty when it is gone."""
    rows = fetch("SELECT query FROM pg_stat_activity WHERE pid = %(pid)s", {"pid": pid}, prepared=False)
    return rows[0][0] if rows else ""
