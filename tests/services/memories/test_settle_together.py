"""Simultaneous runs compare new turns with earlier ones: each turn once, and no run waits for another's namespace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memory.models import Job, Memory, MemoryLink, Namespace, Session
from memory.models.locks import Lock, try_lock
from memory.services.index.embedding_model import active_model
from memory.services.ingestion.ingest import ingest
from memory.services.memories import settle as settling
from memory.types import NewMemory, Scope
from tests.job_queue import run_job
from tests.threads import other_connection, together

pytestmark = pytest.mark.django_db(transaction=True)

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
TOLD = (
    (MARCH, "march", "I love chess problems. My oboe is mended at last."),
    (MARCH, "march", "I live in Lisbon."),
    (MAY, "may", "I've lost interest in chess problems. The harbour was cold today."),
    (MAY, "may", "I moved to Porto."),
)


@pytest.fixture(autouse=True)
def _model(transactional_db: None) -> None:
    active_model()


@pytest.fixture
def tell() -> Callable[..., Scope]:
    """Return a function that makes a namespace with the turns of TOLD, stored `before` now."""

    def make(name: str, *, before: timedelta = timedelta()) -> Scope:
        scope = Scope(Namespace.objects.create(name=name).pk, name, "tests")
        for occurred_at, session, text in TOLD:
            memory = NewMemory(session=session, role="user", text=text, occurred_at=occurred_at)
            ingest(scope, memory=memory, now=timezone.now() - before)
        return scope

    return make


def waits(scope: Scope) -> bool:
    return any(one.settled_turn < one.message_count for one in Session.objects.in_scope(scope))


def outcome(scope: Scope) -> list[tuple[str, int]]:
    """Return the remaining text of each memory, and its number of links."""
    links = MemoryLink.objects.in_scope(scope)
    return [(one.live, links.filter(memory_id=one.pk).count()) for one in Memory.objects.in_scope(scope).order_by("pk")]


def test_runs_at_once_look_at_each_turn_once_and_do_what_one_does(tell):
    alone = tell("alone")
    assert settling.settle_pending(now=timezone.now()) == len(TOLD)
    others = [tell(f"n{number}") for number in range(8)]

    counts = together(3, lambda number: settling.settle_pending(now=timezone.now(), helper=number))

    assert sum(counts) == len(others) * len(TOLD)
    assert not any(waits(scope) for scope in others)
    assert outcome(alone) != [(text, 0) for _, _, text in TOLD]
    assert [outcome(scope) for scope in others] == [outcome(alone)] * len(others)


def test_a_namespace_that_another_run_has_is_left_to_it(tell):
    theirs, ours = tell("theirs"), tell("ours")

    with other_connection() as other, try_lock(Lock.SETTLE_NAMESPACE, theirs.namespace_id, on=other) as has:
        assert has
        assert settling.settle_pending(now=timezone.now()) == len(TOLD)
        assert (waits(theirs), waits(ours)) == (True, False)

    assert settling.settle_pending(now=timezone.now()) == len(TOLD)
    assert not waits(theirs)


def test_a_session_that_was_looked_at_since_it_was_listed_is_not_looked_at_again(tell, monkeypatch):
    scope = tell("listed")
    listed = settling.waiting_turns.list_waiting()
    assert settling.settle_pending(now=timezone.now()) == len(TOLD)
    lists = iter([listed, []])
    monkeypatch.setattr(settling.waiting_turns, "list_waiting", lambda **_: next(lists))

    assert settling.settle_pending(now=timezone.now()) == 0
    assert not waits(scope)


def test_an_older_memos_has_all_for_itself(tell):
    scope = tell("one")

    with other_connection() as other, try_lock(Lock.SETTLE, on=other) as has:
        assert has
        assert settling.settle_pending(now=timezone.now()) == 0
    assert waits(scope)
    with other_connection() as other, try_lock(Lock.SETTLE, on=other, shared=True):
        assert settling.settle_pending(now=timezone.now()) == len(TOLD)


def arguments_of_help() -> list[list[int]]:
    return [job.arguments for job in Job.objects.across_namespaces().filter(kind="help_settling")]


def test_turns_that_have_waited_for_long_get_another_run(tell):
    for name in ("one", "two"):
        tell(name, before=2 * settling.HELP_LAG)

    settling.settle_pending(now=timezone.now(), seconds=-1)
    assert arguments_of_help() == [[1]]
    # Once more, while the batch waits for a worker.
    settling.settle_pending(now=timezone.now(), seconds=-1)
    assert arguments_of_help() == [[1]]

    [job] = Job.objects.across_namespaces().filter(kind="help_settling")
    run_job(job)
    # It worked alone.
    assert arguments_of_help() == [[1]]
    job.refresh_from_db()
    assert job.state == "done"
    assert not Session.objects.across_namespaces().exclude(settled_turn=2).exists()


def test_a_run_that_has_met_another_queues_one_more(tell, monkeypatch):
    first, *_ = [tell(name, before=2 * settling.HELP_LAG) for name in ("one", "two", "three")]
    monkeypatch.setattr(settling.waiting_turns, "_LISTED", 2)

    with other_connection() as other, try_lock(Lock.SETTLE_NAMESPACE, first.namespace_id, on=other):
        settling.settle_pending(now=timezone.now(), helper=1)

    assert arguments_of_help() == [[2]]


@pytest.mark.parametrize(
    ("names", "before", "helper"),
    [
        (("one", "two"), timedelta(), 0),
        (("one",), 2 * settling.HELP_LAG, 0),
        (("one", "two"), 2 * settling.HELP_LAG, settling.MOST_HELPERS),
    ],
    ids=["they have just come", "they are of one namespace", "there are enough"],
)
def test_otherwise_there_is_no_other_run(tell, names, before, helper):
    for name in names:
        tell(name, before=before)

    settling.settle_pending(now=timezone.now(), helper=helper)

    assert arguments_of_help() == []
