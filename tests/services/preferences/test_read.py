"""Reading preferences in turns: not where the policy forbids it, each once, and a newer one replaces an older."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memory.enums import MemoryState
from memory.models import AuditLog, Job, Memory, MemoryLink, MemoryVector, Session
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.erasure.run import carry_out
from memory.services.memories import edit
from memory.services.memories.follow_sources import follow_sources
from memory.services.memories.supersede import supersede
from memory.services.preferences.due import request_preferences
from memory.services.preferences.read import read_session
from memory.services.tenancy.policy import put_policy
from memory.services.webhooks.events import event_of
from memory.types import system_access
from tests.job_queue import run_task

ACCESS = system_access("tests")
EARLIER = timezone.now() - timedelta(days=30)


def list_preferences(tenant, **narrowed) -> list[Memory]:
    return list(Memory.objects.in_scope(tenant.scope).preferences().filter(**narrowed).order_by("-turn"))


def evidence(memory: Memory) -> set[str]:
    links = MemoryLink.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)
    return {str(one) for one in links.values_list("other_id", flat=True)}


def test_nothing_is_read_without_the_policy(alice, remember):
    remember(alice, "I avoid lively places.")
    assert request_preferences(now=timezone.now() + timedelta(hours=1)) == 0
    run_task("read_preferences", alice.scope.namespace_id, "s1")
    assert list_preferences(alice) == []
    assert Session.objects.in_scope(alice.scope).get().preference_turn == 0


def test_what_an_agent_says_and_what_waits_in_quarantine_is_not_read(alice, remember, read):
    remember(alice, "I prefer to answer briefly.", role="agent")
    turn = remember(alice, "I avoid lively places.", speaker="Ana")
    edit.archive(ACCESS, memory_ids=[UUID(turn)], reason="wrong", now=timezone.now())
    assert read().stored == 0


def test_a_preference_is_a_memory_that_rests_on_its_turn(alice, remember, read):
    turn = remember(
        alice, "Hi there! I'm Ana. I avoid lively places when I travel.", speaker="Ana", occurred_at=EARLIER
    )
    done = read()
    assert (done.turns, done.stored, done.merged) == (1, 1, 0)
    [one] = list_preferences(alice)
    assert (one.speaker, one.occurred_at, one.turn, one.text) == (
        "Ana",
        EARLIER,
        -1,
        "I avoid lively places when I travel",
    )
    said = one.metadata["preference"]
    assert (said["attitude"], said["object"], said["scope"], said["wanted"]) == (
        "constraint", "lively places", "when i travel", False,
    )  # fmt: skip
    assert evidence(one) == {turn}
    assert MemoryVector.objects.in_scope(alice.scope).filter(memory_id=one.pk, searchable=True).exists()
    event = AuditLog.objects.across_namespaces().get(event_type="PREFERENCES_READ")
    assert event.details == {"turns": 1, "stored": 1, "merged": 0, "superseded": 0, "memory_ids": [str(one.pk)]}
    assert "lively" not in str(event.details)
    assert event_of(event).data["kind"] == "preference"


def test_reading_again_stores_nothing(alice, remember, read):
    remember(alice, "I avoid lively places.")
    read()
    Session.objects.in_scope(alice.scope).update(preference_turn=0)
    assert read().stored == 0
    assert len(list_preferences(alice)) == 1


def test_what_is_said_again_in_another_session_is_more_evidence(alice, remember, read):
    first = remember(alice, "I love hiking.", speaker="Ana")
    again = remember(alice, "As you know, I love hiking.", speaker="Ana", session="s2")
    remember(alice, "I really love hiking.", speaker="Ana", session="s2")
    remember(alice, "I love hiking.", speaker="Ben", session="s2")
    read()
    assert read("s2").stored == 1
    mine = list_preferences(alice, speaker="Ana")
    assert len(mine) == 1
    assert {first} < evidence(mine[0]) <= {first, again, *evidence(mine[0])}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I love cilantro.", "I don't like cilantro any more."),
        ("My favourite colour is blue.", "My favourite colour is green."),
        ("我喜欢香菜。", "我现在不喜欢香菜。"),
    ],
)
def test_the_newer_takes_the_place_of_what_it_denies(alice, remember, read, before, after):
    remember(alice, before, speaker="Ana", occurred_at=EARLIER)
    read()
    moment = EARLIER + timedelta(days=7)
    remember(alice, after, speaker="Ana", session="s2", occurred_at=moment)
    assert read("s2").superseded == 1
    old, new = list_preferences(alice, superseded_by__isnull=False), list_preferences(alice, superseded_by=None)
    assert (len(old), len(new)) == (1, 1)
    assert (old[0].valid_to, old[0].superseded_by, old[0].state) == (moment, new[0].pk, MemoryState.ACTIVE)


def test_an_older_one_that_is_learned_later_is_over_from_the_start(alice, remember, read):
    remember(alice, "I don't like cilantro.", speaker="Ana")
    read()
    remember(alice, "I love cilantro.", speaker="Ana", session="old", occurred_at=EARLIER)
    assert read("old").superseded == 1
    [holds] = list_preferences(alice, superseded_by=None)
    assert holds.metadata["preference"]["wanted"] is False


def test_people_do_not_take_each_others_preferences_back(alice, remember, read):
    remember(alice, "I love cilantro.", speaker="Ana")
    remember(alice, "I don't like cilantro.", speaker="Ben")
    remember(alice, "I don't like cilantro for breakfast.", speaker="Ana")
    assert (read().stored, len(list_preferences(alice, superseded_by=None))) == (3, 3)


class TestFollowing:
    @pytest.fixture
    def turn(self, alice, remember, read) -> UUID:
        identity = UUID(remember(alice, "I avoid lively places.", speaker="Ana"))
        assert read().stored == 1
        return identity

    def follow(self, tenant, session: str = "s1") -> int:
        return follow_sources(tenant.scope, session=session, now=timezone.now())

    def test_it_leaves_search_with_its_turn_and_comes_back(self, alice, turn):
        edit.archive(ACCESS, memory_ids=[turn], reason="wrong", now=timezone.now())
        assert Job.objects.in_scope(alice.scope).filter(kind="follow_sources").exists()
        assert self.follow(alice) == 1
        assert list_preferences(alice)[0].state == MemoryState.ARCHIVED
        edit.restore(ACCESS, memory_ids=[turn], reason="right", now=timezone.now())
        assert self.follow(alice) == 1
        assert list_preferences(alice)[0].state == MemoryState.ACTIVE

    def test_it_stays_while_a_turn_of_another_session_says_it(self, alice, remember, read, turn):
        again = remember(alice, "I avoid lively places.", speaker="Ana", session="s2")
        assert read("s2").merged == 1
        edit.archive(ACCESS, memory_ids=[turn], reason="wrong", now=timezone.now())
        assert self.follow(alice) == 0
        edit.archive(ACCESS, memory_ids=[UUID(again)], reason="wrong", now=timezone.now())
        assert self.follow(alice, "s2") == 1

    def test_what_a_person_put_away_is_not_stored_anew(self, alice, remember, read, turn):
        edit.archive(ACCESS, memory_ids=[list_preferences(alice)[0].pk], reason="not so", now=timezone.now())
        remember(alice, "I avoid lively places.", speaker="Ana", session="s2")
        assert read("s2").stored == 0
        assert self.follow(alice, "s2") == 0
        assert [one.state for one in list_preferences(alice)] == [MemoryState.ARCHIVED]

    def test_a_corrected_turn_takes_it_along(self, alice, turn):
        edit.edit(ACCESS, memory_id=turn, text="I visit lively places.", reason="typo", now=timezone.now())
        assert self.follow(alice) == 1
        assert list_preferences(alice)[0].state == MemoryState.ARCHIVED

    def test_a_superseded_turn_supersedes_it(self, alice, remember, turn):
        newer = UUID(remember(alice, "Lively places are fine with me now.", speaker="Ana"))
        supersede(ACCESS, older_id=turn, newer_id=newer, reason="changed", now=timezone.now())
        self.follow(alice)
        assert list_preferences(alice)[0].superseded_by == newer

    def test_it_is_erased_with_its_turn(self, alice, turn):
        asked = requests.request(alice.scope, target=Target(memory_ids=(turn,)), reason="asked", now=timezone.now())
        assert carry_out(namespace_id=alice.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
        assert not Memory.objects.in_scope(alice.scope).exists()

    def test_its_words_go_with_the_turn_that_gave_them_though_another_states_it(self, alice, remember, read, turn):
        told = UUID(remember(alice, "I prefer tea over coffee from Rosalind.", speaker="Ana"))
        again = remember(alice, "I prefer tea.", speaker="Ana", session="s2")
        read()
        assert read("s2").merged == 1
        asked = requests.request(alice.scope, target=Target(memory_ids=(told,)), reason="asked", now=timezone.now())
        assert carry_out(namespace_id=alice.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
        assert not Memory.objects.in_scope(alice.scope).filter(text__contains="Rosalind").exists()
        assert read("s2").stored == 1
        [one] = list_preferences(alice, text__contains="tea")
        assert (one.text, evidence(one)) == ("I prefer tea", {again})

    def test_an_edit_of_metadata_keeps_what_it_knows(self, alice, turn):
        [one] = list_preferences(alice)
        edit.edit(ACCESS, memory_id=one.pk, metadata={"mine": 1}, reason="note", now=timezone.now())
        [one] = list_preferences(alice)
        assert one.metadata["mine"] == 1
        assert one.metadata["preference"]["object"] == "lively places"


def test_no_other_namespace_is_read(alice, bob, remember, read):
    remember(bob, "I avoid lively places.")
    read_session(bob.scope, session="s1", now=timezone.now())
    assert list_preferences(bob) == []


def test_the_clock_asks_once_for_what_is_new(alice, remember, wanted):
    remember(alice, "I avoid lively places.")
    assert request_preferences(now=timezone.now()) == 0
    assert request_preferences(now=timezone.now() + timedelta(hours=1)) == 1
    run_task("read_preferences", alice.scope.namespace_id, "s1")
    assert len(list_preferences(alice)) == 1
    assert request_preferences(now=timezone.now() + timedelta(hours=1)) == 0


def test_the_quota_leaves_out_what_has_no_room(alice, remember, read):
    remember(alice, "I avoid lively places. I love quiet gardens.")
    put_policy(alice.scope, wanted={"preferences": "rules", "quota": {"memories": 2}}, now=timezone.now())
    assert read().stored == 1
