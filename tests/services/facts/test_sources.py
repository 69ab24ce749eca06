"""Facts follow their turns when these are erased, archived, corrected or superseded, and come back."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.utils import timezone

from memory.enums import ErasureStatus, MemoryState
from memory.models import AuditLog, ErasedMemory, Job, Memory, MemoryLink, Posting, Session
from memory.services.erasure import receipts, requests
from memory.services.erasure.requests import Target
from memory.services.erasure.run import carry_out
from memory.services.memories import edit, reinstate, supersede
from memory.services.memories.follow_sources import follow_sources
from memory.services.sessions.reset import reset_session
from memory.services.tenancy.policy import put_policy
from memory.types import system_access
from tests.services.facts.conversations import fact

pytestmark = pytest.mark.usefixtures("wanted")
ACCESS = system_access("tests")
LISBON = fact("Ana", "home", "Lisbon", "Ana lives in Lisbon.")


def only_fact(tenant) -> Memory:
    (found,) = Memory.objects.in_scope(tenant.scope).facts()
    return found


def follow(tenant, session: str = "s1") -> int:
    return follow_sources(tenant.scope, session=session, now=timezone.now())


def erase(tenant, **target) -> dict:
    asked = requests.request(tenant.scope, target=Target(**target), reason="asked for", now=timezone.now())
    assert carry_out(namespace_id=tenant.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
    receipt = receipts.find(ACCESS, erasure_id=asked.id)
    assert receipt.status == ErasureStatus.FINISHED, receipt.error
    return receipt.holders


@pytest.fixture
def turn(alice, remember, extract) -> UUID:
    """Remember a turn on which one fact rests."""
    identity = UUID(remember(alice, "I live in Lisbon.", speaker="Ana"))
    assert extract(LISBON).stored == 1
    return identity


class TestErasing:
    def test_a_fact_goes_with_its_turn(self, alice, remember, turn):
        other = remember(alice, "I play the cello.", speaker="Ana")
        held = erase(alice, memory_ids=(turn,))
        assert {str(pk) for pk in Memory.objects.in_scope(alice.scope).values_list("pk", flat=True)} == {other}
        assert held["memory_memory"] == {"counted": 2, "cleared": 2, "left": 0}
        assert not MemoryLink.objects.in_scope(alice.scope).exists()
        assert not Posting.objects.in_scope(alice.scope).filter(term="lisbon").exists()

    def test_it_stays_while_another_turn_says_all_of_it(self, alice, remember, extract, turn):
        again = remember(alice, "I still live in Lisbon, all year.", speaker="Ana")
        extract(LISBON | {"turns": [2]})
        erase(alice, memory_ids=(turn,))
        kept = only_fact(alice)
        links = MemoryLink.objects.in_scope(alice.scope).values_list("memory_id", "other_id")
        assert list(links) == [(kept.pk, UUID(again))]
        erase(alice, memory_ids=(UUID(again),))
        assert not Memory.objects.in_scope(alice.scope).exists()

    def test_it_goes_when_the_other_turn_says_only_part_of_it(self, alice, remember, extract):
        first = remember(alice, "Where do you work these days?", speaker="Tom")
        remember(alice, "At the city library.", speaker="Ana")
        extract(fact("Ana", "employer", "city library", "Ana works at the city library.", 1, 2))
        assert only_fact(alice)
        erase(alice, memory_ids=(UUID(first),))
        assert not Memory.objects.in_scope(alice.scope).facts().exists()

    def test_it_goes_with_its_speaker(self, alice, remember, turn):
        remember(alice, "Nice weather today in the park.", speaker="Tom")
        erase(alice, speaker="Ana")
        assert [memory.speaker for memory in Memory.objects.in_scope(alice.scope)] == ["Tom"]

    def test_a_fact_alone_takes_no_summary_and_no_turn_with_it(self, alice, turn):
        erase(alice, memory_ids=(only_fact(alice).pk,))
        assert [memory.pk for memory in Memory.objects.in_scope(alice.scope)] == [turn]
        assert Session.objects.in_scope(alice.scope).get(name="s1").message_count == 1

    @pytest.mark.parametrize("target", [{"session": "s1"}, {"whole_namespace": True}])
    def test_nothing_is_left_of_a_session_or_a_namespace(self, alice, turn, target):
        erase(alice, **target)
        assert not Memory.objects.in_scope(alice.scope).exists()

    def test_a_fact_that_came_after_the_request_goes_too(self, alice, remember, extract):
        """The request names the turn, whose fact is stored before the turn is removed."""
        turn = UUID(remember(alice, "I live in Lisbon.", speaker="Ana"))
        asked = requests.request(alice.scope, target=Target(memory_ids=(turn,)), reason="asked for", now=timezone.now())
        assert extract(LISBON).stored == 1
        assert carry_out(namespace_id=alice.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
        assert not Memory.objects.in_scope(alice.scope).exists()
        assert ErasedMemory.objects.in_scope(alice.scope).count() == 2

    def test_a_reset_forgets_them_and_begins_anew(self, alice, remember, extract, turn):
        reset_session(alice.scope, session="s1", now=timezone.now(), clear_audit=False, dry_run=False)
        assert not Memory.objects.in_scope(alice.scope).exists()
        assert Session.objects.in_scope(alice.scope).get(name="s1").extracted_turn == 0
        remember(alice, "I live in Lisbon.", speaker="Ana")
        assert extract(LISBON).stored == 1


class TestFollowing:
    def test_a_fact_is_archived_with_its_turn_and_comes_back(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[turn], reason="not now", now=timezone.now())
        assert follow(alice) == 1
        assert only_fact(alice).state == MemoryState.ARCHIVED
        assert not Posting.objects.in_scope(alice.scope).filter(term="lisbon").exists()
        assert follow(alice) == 0
        edit.restore(ACCESS, memory_ids=[turn], reason="now", now=timezone.now())
        assert follow(alice) == 1
        assert only_fact(alice).state == MemoryState.ACTIVE
        assert Posting.objects.in_scope(alice.scope).filter(term="lisbon").count() == 2

    def test_what_a_person_archived_stays_so(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[only_fact(alice).pk], reason="wrong", now=timezone.now())
        edit.archive(ACCESS, memory_ids=[turn], reason="not now", now=timezone.now())
        edit.restore(ACCESS, memory_ids=[turn], reason="now", now=timezone.now())
        assert follow(alice) == 0
        assert only_fact(alice).state == MemoryState.ARCHIVED

    def test_what_supersedes_the_turn_supersedes_the_fact(self, alice, remember, turn):
        newer = UUID(remember(alice, "I live in Porto.", speaker="Ana"))
        supersede.supersede(ACCESS, older_id=turn, newer_id=newer, reason="moved", now=timezone.now())
        assert follow(alice) == 1
        assert only_fact(alice).superseded_by == newer
        reinstate.reinstate(ACCESS, memory_id=turn, reason="both", now=timezone.now())
        assert follow(alice) == 1
        assert only_fact(alice).superseded_by is None

    def test_a_corrected_turn_that_says_something_else_ends_the_fact(self, alice, turn):
        edit.edit(ACCESS, memory_id=turn, text="I live in Porto.", reason="typo", now=timezone.now())
        follow(alice)
        assert only_fact(alice).state == MemoryState.ARCHIVED

    def test_a_corrected_turn_that_says_the_same_does_not(self, alice, turn):
        edit.edit(ACCESS, memory_id=turn, text="I live in Lisbon now.", reason="typo", now=timezone.now())
        assert follow(alice) == 0

    def test_under_a_legal_hold_nothing_is_archived(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[turn], reason="not now", now=timezone.now())
        put_policy(alice.scope, wanted={"extract": "facts", "legal_hold": True}, now=timezone.now())
        assert follow(alice) == 0
        assert only_fact(alice).state == MemoryState.ACTIVE

    def test_every_change_asks_for_it_in_its_own_transaction(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[turn], reason="not now", now=timezone.now())
        job = Job.objects.across_namespaces().get(kind="follow_sources")
        assert job.arguments == [alice.scope.namespace_id, "s1"]

    def test_the_audit_says_who_did_it(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[turn], reason="not now", now=timezone.now())
        follow(alice)
        event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_ARCHIVE", subject=str(only_fact(alice).pk))
        assert (event.actor, event.details["after"]) == ("rule:facts", {"state": "archived"})
