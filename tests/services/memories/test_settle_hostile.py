"""Settling under attack: forged speakers, texts made to be slow, one memory that fails, and changes during a run."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from memory.enums import JobState, LinkKind, MemoryState
from memory.errors import EmbeddingRefused, EmbeddingUnavailable
from memory.models import Job, Memory, MemoryLink, MemoryVector, NamespaceStat, Posting, Session
from memory.services.erasure.run import carry_out
from memory.services.index import neighbours
from memory.services.memories import comparison, edit, reinstate, supersede
from memory.services.memories import settle as settling
from memory.services.sessions.reset import reset_session
from memory.types import system_access

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
OLD = "I love chess problems. My oboe is mended at last."
NEW = "I've lost interest in chess problems. The harbour was cold today."
BY_HAND = system_access("tests")


def settle() -> int:
    return settling.settle_pending(now=timezone.now())


def assert_index_is_whole(tenant) -> None:
    """Check that postings, counts and vectors match the rows."""
    rows = Memory.objects.in_scope(tenant.scope)
    active = {row.pk: row for row in rows.filter(state=MemoryState.ACTIVE)}
    stats = NamespaceStat.objects.filter(namespace_id=tenant.scope.namespace_id)
    sums = stats.aggregate(memories=Sum("memories"), terms=Sum("terms"))
    assert (sums["memories"] or 0) == len(active)
    assert (sums["terms"] or 0) == sum(row.length for row in active.values())
    postings: dict[uuid.UUID, set[str]] = {}
    for memory_id, term in Posting.objects.in_scope(tenant.scope).values_list("memory_id", "term"):
        postings.setdefault(memory_id, set()).add(term)
    assert postings == {pk: set(row.terms) for pk, row in active.items() if row.terms}
    vectors = MemoryVector.objects.in_scope(tenant.scope)
    assert set(vectors.filter(searchable=True).values_list("memory_id", flat=True)) <= set(active)
    assert set(vectors.values_list("memory_id", flat=True)) <= set(rows.values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("speaker", "text"),
    [
        ("Mallory", "Ann: I've lost interest in chess problems.\nAnn: It is over."),
        ("", "Ann: I've lost interest in chess problems.\nAnn: It is over."),
        ("Mallory", "I've lost interest in chess problems."),
    ],
)
def test_nobody_takes_back_what_another_said_by_a_label_in_the_text(alice, remember, speaker, text):
    old = remember(alice, OLD, occurred_at=MARCH, speaker="Ann")
    remember(alice, text, occurred_at=MAY, speaker=speaker)

    settle()

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert (memory.retired_spans, memory.superseded_by) == ([], None)


def test_a_label_user_is_the_speaker_of_the_memory(alice, remember):
    old = remember(alice, OLD, occurred_at=MARCH)
    remember(alice, "user: I've lost interest in chess problems.\nuser: So be it.", occurred_at=MAY, speaker="Mallory")

    settle()

    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []


def test_one_transcript_takes_back_what_another_says(alice, remember):
    old = remember(alice, "Ann: I love chess problems.\nBea: The oboe is mended.", occurred_at=MARCH)
    remember(alice, "Ann: I've lost interest in chess problems.\nBea: The harbour is cold.", occurred_at=MAY)

    settle()

    assert len(Memory.objects.across_namespaces().get(pk=old).retired_spans) == 2


def test_a_memory_that_fails_becomes_a_job_and_keeps_nobody_waiting(alice, bob, remember, monkeypatch):
    remember(alice, "The first that fails.", occurred_at=MARCH)
    alices = remember(alice, OLD, session="s2", occurred_at=MARCH)
    remember(alice, NEW, session="s2", occurred_at=MAY)
    bobs = remember(bob, OLD, occurred_at=MARCH)
    remember(bob, NEW, occurred_at=MAY)
    plain = neighbours.find_same_text

    def failing(scope, memory):
        if "fails" in memory.text:
            raise RuntimeError(memory.text)
        return plain(scope, memory)

    monkeypatch.setattr(neighbours, "find_same_text", failing)

    assert settle() == 5
    assert Memory.objects.across_namespaces().get(pk=alices).retired_spans
    assert Memory.objects.across_namespaces().get(pk=bobs).retired_spans
    [job] = Job.objects.across_namespaces().filter(kind="settle_memory")
    assert (job.state, job.namespace_id) == (JobState.QUEUED, alice.scope.namespace_id)
    assert settle() == 0


def test_a_text_that_cannot_be_read_keeps_nobody_waiting(alice, remember, monkeypatch):
    bad = remember(alice, "The kiln broke.", occurred_at=MAY + timedelta(days=1))
    remember(alice, "I live in Lisbon.", occurred_at=MARCH)
    remember(alice, NEW, occurred_at=MAY)
    plain = comparison.begin

    def failing(scope, memory):
        if str(memory.pk) == bad:
            raise RecursionError(memory.text)
        return plain(scope, memory)

    monkeypatch.setattr(comparison, "begin", failing)
    # The other memories came later, and are not compared with a memory from a later time.
    monkeypatch.setattr(settling, "find_later", lambda *_, **__: [])
    assert settle() == 3
    [job] = Job.objects.across_namespaces().filter(kind="settle_memory")
    assert job.arguments[1] == bad
    assert settle() == 0


def test_a_text_that_the_embedding_refuses_is_a_job_and_an_outage_waits(alice, remember, monkeypatch):
    ids = [remember(alice, "I live in Lisbon.", occurred_at=MARCH), remember(alice, NEW, occurred_at=MAY)]

    def refusing(*_, **__):
        raise EmbeddingRefused("no")

    def away(*_, **__):
        raise EmbeddingUnavailable("away")

    monkeypatch.setattr(neighbours, "near_each", away)
    with pytest.raises(EmbeddingUnavailable):
        settle()
    assert Session.objects.in_scope(alice.scope).get().settled_turn == 0

    monkeypatch.setattr(neighbours, "near_each", refusing)
    assert settle() == 2
    assert sorted(job.arguments[1] for job in Job.objects.across_namespaces().filter(kind="settle_memory")) == sorted(
        ids
    )


def test_a_run_that_is_over_time_marks_how_far_it_came(alice, remember):
    for number in range(3):
        remember(alice, f"The harbour was cold, day {number}.", occurred_at=MARCH)

    assert settling.settle_pending(now=timezone.now(), seconds=-1) == 0
    assert Session.objects.in_scope(alice.scope).get().settled_turn == 0
    assert settle() == 3


def test_a_session_whose_count_fell_behind_its_turns_ends(alice, remember):
    for number in range(3):
        remember(alice, f"The harbour was cold, day {number}.", occurred_at=MARCH)
    Session.objects.in_scope(alice.scope).update(message_count=2)

    settle()

    assert Session.objects.in_scope(alice.scope).get().settled_turn == 2


def test_a_text_of_nothing_but_announcements_is_judged_in_bounds(alice, remember, monkeypatch):
    # Each comparison would take longer; a shorter time limit works in the same way.
    monkeypatch.setattr(comparison, "MAX_SECONDS", 0.5)
    remember(alice, "".join(f"I love chess problem {number}. " for number in range(700)), occurred_at=MARCH)
    remember(alice, "".join(f"I no longer love chess problem {number}. " for number in range(500)), occurred_at=MAY)
    remember(alice, "".join(f"I live in Lisbon{number}. " for number in range(900)), occurred_at=MAY)
    remember(alice, f"I{' ' * 390}stay. " * 40, occurred_at=MAY)

    assert settle() == 4
    assert_index_is_whole(alice)


def test_a_memory_that_lost_a_part_can_lose_the_rest_to_the_same_one(alice, remember):
    old = remember(alice, OLD, occurred_at=MARCH)
    new = remember(alice, NEW, occurred_at=MAY)
    settle()

    answer = alice.post(f"/v1/memories/{old}/supersede", {"by": new, "reason": "all of it is over"})

    assert answer.status_code == 200, answer.json()
    [link] = MemoryLink.objects.across_namespaces().filter(kind=LinkKind.SUPERSEDES)
    assert link.reason == "all of it is over"
    assert_index_is_whole(alice)


def test_an_edit_that_takes_back_the_rest_supersedes(alice, remember):
    old = remember(alice, OLD, occurred_at=MARCH)
    new = remember(alice, NEW, occurred_at=MAY)
    settle()
    both = "I've lost interest in chess problems. I replaced my oboe with a horn. The harbour was cold today."
    edit.edit(BY_HAND, memory_id=uuid.UUID(new), text=both, reason="more", now=timezone.now())

    settling.settle_memory(alice.scope, memory_id=uuid.UUID(new), now=timezone.now())

    assert_index_is_whole(alice)
    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.retired_spans or memory.superseded_by


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("which", ["older", "newer"])
@pytest.mark.parametrize("change", ["edit", "archive", "erase", "reset", "supersede", "erase_all"])
def test_a_change_in_the_middle_of_settling_wins_and_leaves_the_index_whole(
    alice, remember, monkeypatch, change, which
):
    old = remember(alice, OLD, session="march", occurred_at=MARCH)
    new = remember(alice, NEW, session="may", occurred_at=MAY)
    other = remember(alice, "Crane four is out of service.", session="else", occurred_at=MAY)
    target, session = (old, "march") if which == "older" else (new, "may")
    decided, changed = threading.Event(), threading.Event()
    plain = settling.store_outcome

    def slowly(*arguments, **options):
        decided.set()
        assert changed.wait(20)
        return plain(*arguments, **options)

    monkeypatch.setattr(settling, "store_outcome", slowly)

    def run() -> int:
        try:
            return settle()
        finally:
            connection.close()

    def erase(body) -> None:
        answer = alice.post("/v1/erasures", {"namespace": "alice", "reason": "asked for", **body})
        assert answer.status_code in (200, 201, 202), answer.json()
        carry_out(namespace_id=alice.scope.namespace_id, erasure_id=uuid.UUID(answer.json()["id"]), now=timezone.now)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        assert decided.wait(20)
        now, one = timezone.now(), uuid.UUID(target)
        if change == "edit":
            edit.edit(BY_HAND, memory_id=one, text="Gulls are loud.", reason="x", now=now)
        elif change == "archive":
            edit.archive(BY_HAND, memory_ids=[one], reason="x", now=now)
        elif change == "erase":
            erase({"memory_ids": [target]})
        elif change == "erase_all":
            erase({"whole_namespace": True, "confirm": "alice"})
        elif change == "reset":
            reset_session(alice.scope, session=session, dry_run=False, clear_audit=False, now=now)
        else:
            supersede.supersede(BY_HAND, older_id=one, newer_id=uuid.UUID(other), reason="x", now=now)
        changed.set()
        running.result(30)

    assert_index_is_whole(alice)
    assert not Memory.objects.in_scope(alice.scope).exclude(retired_spans=[]).exists()
    assert not Memory.objects.in_scope(alice.scope).filter(superseded_by__in=[new, old]).exists()
    monkeypatch.setattr(settling, "store_outcome", plain)
    settle()
    assert_index_is_whole(alice)


@pytest.mark.django_db(transaction=True)
def test_settling_and_people_at_once_neither_deadlock_nor_lose_a_count(alice, remember):
    ids = []
    for number in range(6):
        ids.append(remember(alice, f"{OLD} Pier {number} is wet.", session=f"s{number}", occurred_at=MARCH))
        ids.append(remember(alice, NEW, session=f"s{number}", occurred_at=MAY))
    start = threading.Barrier(5)

    def work(kind: int) -> None:
        try:
            start.wait(20)
            for number in range(12):
                one = uuid.UUID(ids[number])
                now = timezone.now()
                if kind == 0:
                    Session.objects.in_scope(alice.scope).update(settled_turn=0)
                    settle()
                elif kind == 1:
                    edit.archive(BY_HAND, memory_ids=[uuid.UUID(i) for i in reversed(ids)], reason="x", now=now)
                elif kind == 2:
                    edit.restore(BY_HAND, memory_ids=[uuid.UUID(i) for i in ids], reason="x", now=now)
                elif kind == 3:
                    reinstate.reinstate(BY_HAND, memory_id=one, reason="x", now=now)
                else:
                    edit.edit(BY_HAND, memory_id=one, text=f"{OLD} Again {number}.", reason="x", now=now)
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(work, kind) for kind in range(5)]:
            done.result(120)

    settle()
    assert_index_is_whole(alice)
    assert not Job.objects.across_namespaces().filter(kind="settle_memory", state=JobState.FAILED).exists()
