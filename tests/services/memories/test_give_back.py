"""Automatic changes for a newer memory are undone when that memory changes, is archived, or is erased."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import AuditEvent, LinkKind
from memory.models import AuditLog, Memory, MemoryLink, Posting, RetiredStatement
from memory.services.erasure import run as erasing
from memory.services.memories import edit, give_back, lifecycle, reinstate, supersede
from memory.services.memories import settle as settling
from memory.services.sessions.reset import reset_session
from memory.types import Scope, system_access
from tests.job_queue import work_off

MARCH, APRIL, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 4, 5))
OLD = "I love chess problems. My oboe is mended at last."
WHOLE = "I love rye bread."
NEW = "I've lost interest in chess problems and rye bread. The harbour was cold today."
NEWS = "I've lost interest in chess problems. I've lost interest in rye bread. The harbour was cold today."
STAFF = system_access("staff:ann")


def settle() -> int:
    return settling.settle_pending(now=timezone.now())


@pytest.fixture
def told(alice, remember) -> tuple[uuid.UUID, uuid.UUID, uuid.UUID]:
    """Remember a memory that lost a part, one that was superseded as a whole, and the newer one that did both."""
    ids = (
        remember(alice, OLD, session="march", occurred_at=MARCH),
        remember(alice, WHOLE, session="march", occurred_at=MARCH),
        remember(alice, NEWS, session="may", occurred_at=MAY),
    )
    settle()
    part, whole, newer = (uuid.UUID(one) for one in ids)
    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == [0, 22]
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == newer
    return part, whole, newer


def assert_given_back(part: uuid.UUID, whole: uuid.UUID) -> None:
    memory = Memory.objects.across_namespaces().get(pk=part)
    assert memory.retired_spans == []
    assert Posting.objects.across_namespaces().filter(memory_id=part, term__startswith="chess").exists()
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
    assert Memory.objects.across_namespaces().get(pk=whole).valid_to is None
    assert not MemoryLink.objects.across_namespaces().filter(kind=LinkKind.SUPERSEDES).exists()


def test_an_archived_one_gives_back_and_a_restored_one_takes_again(alice, told):
    part, whole, newer = told

    lifecycle.archive_one(STAFF, memory_id=newer, reason="wrong", now=timezone.now())
    work_off()

    assert_given_back(part, whole)
    event = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REINSTATE, subject=str(part)).get()
    assert (event.details["before"]["retired_statements"], event.details["after"]["retired_statements"]) == (1, 0)
    assert event.actor == "rule:supersession"
    assert "chess" not in str(event.details)
    assert not MemoryLink.objects.across_namespaces().filter(kind=LinkKind.BOTH_HOLD).exists(), "nobody decided it"

    lifecycle.restore_one(STAFF, memory_id=newer, reason="right", now=timezone.now())
    work_off()
    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == [0, 22]
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == newer


def test_archived_in_bulk(alice, told):
    part, whole, newer = told
    edit.archive(STAFF, memory_ids=[newer], reason="wrong", now=timezone.now())
    work_off()
    assert_given_back(part, whole)


def test_an_edited_one_gives_back_what_it_says_no_longer(alice, told):
    part, whole, newer = told
    text = "I've lost interest in rye bread. The harbour was cold today."

    edit.edit(STAFF, memory_id=newer, text=text, reason="only that", now=timezone.now())
    work_off()

    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == []
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == newer


def test_a_reset_session_gives_back(alice, told):
    part, whole, _ = told
    reset_session(alice.scope, session="may", dry_run=False, clear_audit=False, now=timezone.now())
    work_off()
    assert_given_back(part, whole)


def test_an_erased_one_gives_back(alice, told):
    part, whole, newer = told
    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [str(newer)], "reason": "asked for"})
    receipt = uuid.UUID(answer.json()["id"])
    erasing.carry_out(namespace_id=alice.scope.namespace_id, erasure_id=receipt, now=timezone.now)
    work_off()
    assert_given_back(part, whole)


def test_what_a_person_decided_stays(alice, told, remember):
    part, whole, newer = told
    by_hand = uuid.UUID(remember(alice, "The bakery opens at six.", session="march", occurred_at=MARCH))
    supersede.supersede(STAFF, older_id=by_hand, newer_id=newer, reason="said so", now=timezone.now())
    reinstate.reinstate(STAFF, memory_id=part, reason="both hold", now=timezone.now())

    lifecycle.archive_one(STAFF, memory_id=newer, reason="wrong", now=timezone.now())
    work_off()
    assert Memory.objects.across_namespaces().get(pk=by_hand).superseded_by == newer

    lifecycle.restore_one(STAFF, memory_id=newer, reason="right", now=timezone.now())
    work_off()
    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == [], "that both hold stays"
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == newer


def test_that_both_hold_is_kept_for_whole_memories(alice, told):
    _, whole, newer = told
    reinstate.reinstate(STAFF, memory_id=whole, reason="both hold", now=timezone.now())

    edit.edit(STAFF, memory_id=newer, text=f"{NEWS} It rained.", reason="more", now=timezone.now())
    work_off()

    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
    link = MemoryLink.objects.across_namespaces().get(kind=LinkKind.BOTH_HOLD)
    assert (link.memory_id, link.other_id, link.actor) == (newer, whole, "staff:ann")


def test_one_part_of_several_holds_again_and_the_rest_does_not(alice, remember):
    old = remember(alice, "I love chess problems. I love rye bread. My oboe is mended.", occurred_at=MARCH)
    remember(alice, NEWS, session="may", occurred_at=MAY)
    settle()
    first, second = RetiredStatement.objects.across_namespaces().filter(memory_id=old).order_by("start")

    answer = alice.post(f"/v1/memories/{old}/restore", {"reason": "she plays", "statements": [first.start]})

    assert answer.status_code == 200, answer.json()
    assert answer.json()["changed"] == ["retired_statements"]
    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == [second.start, second.end]
    assert MemoryLink.objects.across_namespaces().filter(kind=LinkKind.SUPERSEDES, other_id=old).exists(), (
        "the rest is superseded still"
    )
    again = alice.post(f"/v1/memories/{old}/restore", {"reason": "she plays", "statements": [first.start]})
    assert again.json()["changed"] == []

    reinstate.retire_again(
        STAFF, memory_id=uuid.UUID(old), starts=[first.start], by=None, reason="no", now=timezone.now()
    )
    assert len(Memory.objects.across_namespaces().get(pk=old).retired_spans) == 4


def test_refusals_name_what_can_be_done(alice, bob, told):
    part, _, _ = told
    path = f"/v1/memories/{part}/restore"
    unknown = alice.post(path, {"reason": "x", "statements": [7]})
    assert unknown.status_code == 400
    assert "retired_statements" in str(unknown.json())
    assert alice.post(path, {"reason": "x", "statements": [0], "undo_supersede": True}).status_code == 400
    assert alice.post(path, {"reason": "x", "statements": ["a"]}).status_code == 400
    assert bob.post(path, {"reason": "x", "statements": [0]}).status_code == 404
    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == [0, 22]


def test_what_two_newer_ones_end_stays_ended_when_one_of_them_goes(alice, remember):
    first = remember(alice, "I love chess problems. My oboe is mended.", session="a", occurred_at=MARCH)
    second = remember(alice, "I gave up chess problems. The cat is well.", session="b", occurred_at=APRIL)
    third = remember(alice, "I've lost interest in chess problems. The dog is well.", session="c", occurred_at=MAY)
    settle()
    assert "chess" not in Memory.objects.across_namespaces().get(pk=first).live

    lifecycle.archive_one(STAFF, memory_id=uuid.UUID(second), reason="wrong", now=timezone.now())
    work_off()

    assert "chess" not in Memory.objects.across_namespaces().get(pk=first).live
    assert str(RetiredStatement.objects.across_namespaces().get(memory_id=first).by) == third


@pytest.mark.parametrize("at_once", [1, 50])
def test_one_call_gives_back_what_several_newer_ones_took(alice, remember, monkeypatch, at_once):
    """One newer memory ends chess, another one bread, and both end tea; a third ends the oboe, and stays."""
    monkeypatch.setattr(give_back, "AT_ONCE", at_once)
    things = ("chess problems", "rye bread", "green tea", "oboe music")
    older = {thing: uuid.UUID(remember(alice, f"I love {thing}.", occurred_at=MARCH)) for thing in things}
    told = (("chess problems", "green tea"), ("rye bread", "green tea"), ("oboe music",))
    first, second, third = (
        uuid.UUID(remember(alice, " ".join(f"I've lost interest in {one}." for one in said), occurred_at=when))
        for said, when in zip(told, (APRIL, MAY, MAY), strict=True)
    )
    settle()

    def ended_by() -> list[uuid.UUID | None]:
        rows = dict(Memory.objects.across_namespaces().values_list("pk", "superseded_by"))
        return [rows[older[thing]] for thing in things]

    taken = ended_by()
    assert (taken[0], taken[1], taken[3]) == (first, second, third)
    assert taken[2] in (first, second)

    scope = Scope(alice.scope.namespace_id, "alice", "rule:supersession")
    found = give_back.give_back(scope, newer_ids=[first, second], now=timezone.now())

    assert set(found) == {older[thing] for thing in things[:3]}
    assert ended_by() == [None, None, None, third]
    events = AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REINSTATE)
    assert sorted(events.values_list("subject", flat=True)) == sorted(map(str, found))
    assert give_back.give_back(scope, newer_ids=[first, second], now=timezone.now()) == []


def test_what_several_took_comes_back_when_they_are_archived_and_goes_when_they_are_restored(alice, remember):
    chess, bread = (uuid.UUID(remember(alice, f"I love {one}.", occurred_at=MARCH)) for one in ("chess", "bread"))
    newer = [uuid.UUID(remember(alice, f"I've lost interest in {one}.", occurred_at=MAY)) for one in ("chess", "bread")]
    settle()

    def ended_by() -> list[uuid.UUID | None]:
        return [Memory.objects.across_namespaces().get(pk=one).superseded_by for one in (chess, bread)]

    assert ended_by() == newer
    edit.archive(STAFF, memory_ids=newer, reason="wrong", now=timezone.now())
    work_off()
    assert ended_by() == [None, None]
    for one in newer:
        lifecycle.restore_one(STAFF, memory_id=one, reason="right", now=timezone.now())
    work_off()
    assert ended_by() == newer


def test_it_stays_in_the_namespace(alice, bob, remember, told):
    part, _, newer = told
    theirs = Scope(bob.scope.namespace_id, "bob", "rule:supersession")
    assert give_back.give_back(theirs, newer_ids=[newer], now=timezone.now()) == []
    assert Memory.objects.across_namespaces().get(pk=part).retired_spans == [0, 22]


@pytest.mark.django_db(transaction=True)
def test_many_at_once_give_back_once(alice, told):
    part, whole, newer = told

    def run(number: int) -> None:
        try:
            if number % 2:
                give_back.give_back(alice.scope, newer_ids=[newer], now=timezone.now())
            else:
                reinstate.reinstate(STAFF, memory_id=part, reason="both", now=timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))

    assert_given_back(part, whole)
    assert (
        AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REINSTATE, subject=str(part)).count()
        == 1
    )


class TestOlderMaterialThatComesLater:
    def test_a_correction_that_was_there_takes_it_back(self, alice, remember):
        remember(alice, "I've lost interest in chess problems. It is cold.", session="may", occurred_at=MAY)
        settle()
        old = remember(alice, OLD, session="imported", occurred_at=MARCH)

        settle()

        assert Memory.objects.across_namespaces().get(pk=old).retired_spans == [0, 22]
        assert RetiredStatement.objects.across_namespaces().get(memory_id=old).by != uuid.UUID(old)

    def test_what_came_after_it_is_not_touched(self, alice, bob, remember):
        remember(alice, "I've lost interest in chess problems. It is cold.", session="may", occurred_at=MARCH)
        remember(bob, "I've lost interest in chess problems. It is cold.", session="may", occurred_at=MAY)
        settle()
        later = remember(alice, OLD, session="imported", occurred_at=APRIL)
        other = remember(alice, "My oboe is mended.", session="imported", occurred_at=MARCH)

        settle()

        assert Memory.objects.across_namespaces().get(pk=later).retired_spans == []
        assert Memory.objects.across_namespaces().get(pk=other).retired_spans == []
