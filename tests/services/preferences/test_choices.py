"""Preferences shown by choices: one choice shows none; words or newer choices end them; they go with their turns."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.enums import MemoryState
from memory.models import Memory, MemoryLink, Session
from memory.models.memory import content_hash
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.erasure.run import carry_out
from memory.services.memories import edit
from memory.services.memories.follow_sources import follow_sources
from memory.services.preferences.choices import ChoiceEvidence, _turns_with, keep_enough
from memory.services.preferences.read import read_session
from memory.types import system_access

ACCESS = system_access("tests")
BEGIN = timezone.now() - timedelta(days=60)


def list_preferences(tenant, **narrowed) -> list[Memory]:
    return list(Memory.objects.in_scope(tenant.scope).preferences().filter(**narrowed).order_by("occurred_at", "pk"))


def evidence(memory: Memory) -> set[str]:
    links = MemoryLink.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk, kind="derived_from")
    return {str(one) for one in links.values_list("other_id", flat=True)}


@pytest.fixture
def choose(alice, remember, read):
    """Return a function that stores each text in a new session on a new day, has it read, and returns the turns."""
    days = iter(range(1, 60))

    def run(*texts: str, speaker: str = "Ana") -> list[str]:
        turns = []
        for text in texts:
            day = next(days)
            turns.append(
                remember(alice, text, speaker=speaker, session=f"d{day}", occurred_at=BEGIN + timedelta(days=day))
            )
            read(f"d{day}")
        return turns

    return run


def erase(tenant, turn: str) -> None:
    target = Target(memory_ids=(UUID(turn),))
    asked = requests.request(tenant.scope, target=target, reason="asked", now=timezone.now())
    assert carry_out(namespace_id=tenant.scope.namespace_id, erasure_id=asked.id, now=timezone.now)


def read_all(tenant) -> None:
    for name in Session.objects.in_scope(tenant.scope).order_by("name").values_list("name", flat=True):
        read_session(tenant.scope, session=name, now=timezone.now())


AISLE = ("I'll take the aisle seat, please.", "Make it an aisle seat, please.", "I chose the aisle seat.")


def test_one_choice_or_two_are_kept_nowhere(alice, choose):
    choose(*AISLE[:2])
    assert list_preferences(alice) == []


def test_what_is_chosen_again_and_again_in_one_session_was_chosen_once(alice, remember, read):
    for text in AISLE:
        remember(alice, text, speaker="Ana")
    read()
    assert list_preferences(alice) == []


def test_what_different_people_choose_shows_nothing_and_nor_does_what_an_agent_says(alice, remember, choose):
    choose(AISLE[0])
    choose(AISLE[1], speaker="Ben")
    remember(alice, AISLE[2], speaker="Ana", session="x", role="agent")
    read_all(alice)
    assert list_preferences(alice) == []


def test_no_other_namespace_counts(alice, bob, remember, choose):
    for place in ("x", "y"):
        remember(bob, AISLE[0], speaker="Ana", session=place)
    choose(*AISLE[:2])
    assert list_preferences(alice) == []


def test_three_occasions_show_a_preference_with_the_turns_as_evidence(alice, choose):
    turns = choose(*AISLE)
    [one] = list_preferences(alice)
    assert (one.text, one.speaker, one.occurred_at) == (
        "Usually chooses aisle seat.", "Ana", BEGIN + timedelta(days=1),
    )  # fmt: skip
    said = one.metadata["preference"]
    assert (said["attitude"], said["wanted"], said["shown_by"], said["strength"]) == ("habit", True, "choices", 0.25)
    assert evidence(one) == set(turns)


def test_as_always_counts_for_two_and_more_choices_are_more_evidence(alice, choose):
    choose("照旧，帮我订靠窗的座位。", "我选靠窗座位。")
    turns = choose("还是订靠窗的座位吧。")
    [one] = list_preferences(alice)
    assert one.text == "通常会选靠窗的座位。"
    assert turns[0] in evidence(one)
    assert len(evidence(one)) == 3


def test_reading_again_stores_nothing(alice, choose):
    choose(*AISLE)
    Session.objects.in_scope(alice.scope).update(preference_turn=0)
    read_all(alice)
    assert len(list_preferences(alice)) == 1


def test_one_exception_ends_nothing_and_two_do(alice, choose):
    choose(*AISLE)
    first, _ = choose("No aisle seat, please.", "I'll take the aisle seat.")
    assert list_preferences(alice)[0].superseded_by is None
    first, second = choose("No aisle seat, please.", "No aisle seat for me.")
    [one] = list_preferences(alice)
    assert (str(one.superseded_by), one.valid_to) == (first, BEGIN + timedelta(days=6))
    choose("No aisle seat, thanks.")
    former, now = list_preferences(alice)
    assert (former.superseded_by, now.metadata["preference"]["wanted"], now.superseded_by) == (UUID(first), False, None)
    assert evidence(now) >= {first, second}


@pytest.mark.parametrize("said", ["I don't like aisle seats.", "I prefer an aisle seat."])
def test_what_is_said_takes_the_place_of_what_is_shown_whichever_is_read_first(alice, choose, said):
    choose(*AISLE)
    choose(said)
    shown, stated = sorted(list_preferences(alice), key=lambda one: one.metadata["preference"]["shown_by"])
    assert (shown.superseded_by, stated.superseded_by) == (stated.pk, None)
    choose(*AISLE)
    assert len(list_preferences(alice)) == 2


def test_what_a_person_put_away_is_not_shown_anew(alice, choose):
    choose(*AISLE)
    edit.archive(ACCESS, memory_ids=[list_preferences(alice)[0].pk], reason="not so", now=timezone.now())
    choose(*AISLE)
    assert [one.state for one in list_preferences(alice)] == [MemoryState.ARCHIVED]


class TestItsTurns:
    def follow(self, tenant) -> None:
        for name in Session.objects.in_scope(tenant.scope).values_list("name", flat=True):
            follow_sources(tenant.scope, session=name, now=timezone.now())

    def test_it_stays_while_enough_are_left(self, alice, choose):
        turns = choose(*AISLE, AISLE[0])
        for turn, state in ((turns[0], MemoryState.ACTIVE), (turns[1], MemoryState.ARCHIVED)):
            edit.archive(ACCESS, memory_ids=[UUID(turn)], reason="wrong", now=timezone.now())
            self.follow(alice)
            assert list_preferences(alice)[0].state == state
        edit.restore(ACCESS, memory_ids=[UUID(turns[1])], reason="right", now=timezone.now())
        self.follow(alice)
        assert list_preferences(alice)[0].state == MemoryState.ACTIVE

    def test_a_turn_that_says_something_else_now_shows_nothing(self, alice, choose):
        turns = choose(*AISLE)
        edit.edit(ACCESS, memory_id=UUID(turns[0]), text="I'll take the bus.", reason="typo", now=timezone.now())
        self.follow(alice)
        assert list_preferences(alice)[0].state == MemoryState.ARCHIVED

    def test_it_goes_with_an_erased_turn_when_the_others_are_too_few(self, alice, choose):
        turns = choose(*AISLE)
        erase(alice, turns[0])
        read_all(alice)
        assert list_preferences(alice) == []

    def test_its_words_are_those_of_the_turns_that_stay(self, alice, choose):
        turns = choose("I'll take the seat by the window.", *[AISLE[0].replace("aisle", "window")] * 3)
        assert "by the window" in list_preferences(alice)[0].text
        erase(alice, turns[0])
        assert list_preferences(alice) == []
        read_all(alice)
        [one] = list_preferences(alice)
        assert (one.text, evidence(one)) == ("Usually chooses window seat.", set(turns[1:]))


def test_the_profile_says_what_shows_a_line_and_its_strength_falls_with_its_evidence(alice, choose):
    user = alice.post("/v1/users", {"namespace": "alice", "name": "ana", "display_name": "Ana"}).json()["id"]
    turns = choose(*AISLE, AISLE[1])

    def line() -> tuple:
        [one] = alice.get(f"/v1/users/{user}/profile").json()["preferences"]
        assert one["evidence"] == turns
        return one["shown_by"], one["attitude"], one["strength"]

    assert line() == ("choices", "habit", 0.4)
    edit.archive(ACCESS, memory_ids=[UUID(turns[3])], reason="wrong", now=timezone.now())
    assert line() == ("choices", "habit", 0.35)
    choose("I love nuts.")
    stated = alice.get(f"/v1/users/{user}/profile", attitude="like").json()["preferences"]
    assert [(one["shown_by"], one["strength"]) for one in stated] == [("statement", 0.9)]


class TestForgedKeys:
    """A cube's file or a person stored a preference with a key that no object has."""

    def forge(self, tenant, **said) -> None:
        record = {"shown_by": "choices", "object": "aisle seat", "wanted": True, "attitude": "habit", "by": "rules"}
        Memory.objects.create(
            namespace_id=tenant.scope.namespace_id, session="x", role="user", speaker="Ana", turn=-50,
            text="Usually chooses aisle seat.", metadata={"preference": record | said}, occurred_at=BEGIN,
            created_at=BEGIN, content_hash=content_hash("x"), tokens=3, is_preference=True,
        )  # fmt: skip

    @pytest.mark.parametrize("extra", [["z"], [f"z{number}" for number in range(200)], [None], ["seat"]])
    def test_it_counts_for_nothing(self, alice, choose, extra):
        self.forge(alice, key=["aisl", "seat", *extra])
        turns = choose(*AISLE)
        forged, shown = list_preferences(alice)
        assert (shown.text, evidence(shown), evidence(forged)) == ("Usually chooses aisle seat.", set(turns), set())
        [row] = Memory.objects.in_scope(alice.scope).filter(pk=turns[2])
        near = ChoiceEvidence("Ana", "seat", True, frozenset({"seat"}), (row,))
        assert {one.key for one in keep_enough(alice.scope, [near])} <= {frozenset({"aisl", "seat"})}

    def test_turns_are_looked_up_by_one_statement_whatever_the_number_of_terms(self, alice, choose):
        choose(AISLE[0])
        asked = []
        for number in (2, 200):
            with CaptureQueriesContext(connection) as queries:
                assert list(_turns_with(alice.scope, "Ana", frozenset(f"z{one}" for one in range(number)))) == []
            [query] = queries.captured_queries
            asked.append((query["sql"].count("SELECT"), query["sql"].count(" JOIN ")))
        assert asked == [(2, 0), (2, 0)]
        [found] = _turns_with(alice.scope, "Ana", frozenset({"aisl", "seat"}))
        assert found.text == AISLE[0]
        assert list(_turns_with(alice.scope, "Ana", frozenset({"aisl", "seat", "window"}))) == []
