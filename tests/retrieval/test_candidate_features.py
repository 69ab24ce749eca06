"""Features of candidates, and the turns around the strongest, which become candidates as well."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.retrieval.candidate_features import CandidateFeatures, KnownValues, find_by_meaning
from memory.retrieval.filters import parse
from memory.retrieval.pipeline import retrieve
from memory.retrieval.question import Question
from memory.services.memories import edit
from memory.services.recall.search import Ask, questions
from memory.text.timespan import Span
from memory.types import system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def asked(text: str, where: Any = None) -> Question:
    (question,) = questions([Ask(text, 5, NOW, where=parse(where) if where else None)])
    return question


def read(
    tenant: Any, question: Question, bm25: dict[str, float], *, taking_part: Collection[str] = ("neighbours",)
) -> CandidateFeatures:
    """Reads the features of memories with these scores, and of the turns around the strongest."""
    known = KnownValues(bm25, mentions={}, preferences={})
    return find_by_meaning(tenant.scope, question, known, taking_part=taking_part, pool=0)[0]


def ids(found: CandidateFeatures) -> list[str]:
    return [str(one) for one in found.ids]


@pytest.fixture
def talk(alice, remember) -> list[str]:
    """Stores seven turns of one session, a minute apart; the odd ones (1, 3, …) are the agent's."""
    return [
        remember(
            alice,
            f"turn number {number}",
            role="agent" if number % 2 else "user",
            occurred_at=NOW + timedelta(minutes=number),
        )
        for number in range(7)
    ]


def test_two_turns_before_and_after_a_strong_one_come_along_oldest_first(alice, talk):
    found = read(alice, asked("number"), {talk[3]: 0.5})
    assert ids(found) == talk[1:6]
    assert sorted(found.candidates.pairs.tolist()) == [[2, 0, -2], [2, 1, -1], [2, 3, 1], [2, 4, 2]]
    assert ids(read(alice, asked("number"), {talk[3]: 0.5}, taking_part=())) == [talk[3]]


def test_neighbours_must_meet_the_filter(alice, talk):
    question = asked("number", {"role": "agent"})
    found = read(alice, question, {talk[3]: 0.5})
    assert ids(found) == [talk[1], talk[3], talk[5]]


def test_archived_memories_are_neither_candidates_nor_neighbours(alice, talk):
    edit.archive(
        system_access("tests"), memory_ids=[uuid.UUID(talk[2]), uuid.UUID(talk[3])], reason="x", now=timezone.now()
    )
    found = read(alice, asked("number"), {talk[3]: 0.5, talk[4]: 0.4})
    # The archived strong turn still adds the turns around it, but it lends nothing, and nothing takes its place.
    assert ids(found) == [talk[0], talk[1], talk[4], talk[5], talk[6]]
    assert sorted(found.candidates.pairs.tolist()) == [[2, 0, -2], [2, 1, -1], [2, 3, 1], [2, 4, 2]]


def test_neighbours_are_those_that_happened_before_and_after_in_whichever_order_they_arrived(alice, remember):
    arrived = {
        minute: remember(alice, f"minute {minute}", occurred_at=NOW + timedelta(minutes=minute))
        for minute in (4, 0, 2, 3, 1)
    }
    found = read(alice, asked("minute"), {arrived[1]: 0.5})
    minutes = {identity: minute for minute, identity in arrived.items()}
    there = [minutes[identity] for identity in found.ids]
    assert sorted(there) == [0, 1, 2, 3]
    assert sorted((there[other], away) for _, other, away in found.candidates.pairs.tolist()) == [
        (0, -1),
        (2, 1),
        (3, 2),
    ]


def test_turns_of_one_moment_stand_in_the_order_in_which_they_arrived(alice, remember):
    talk = [remember(alice, f"part {number}", occurred_at=NOW) for number in range(4)]
    found = read(alice, asked("part"), {talk[1]: 0.5})
    assert sorted(found.candidates.pairs.tolist()) == [[1, 0, -1], [1, 2, 1], [1, 3, 2]]


def test_neighbours_are_of_the_same_session_and_tenant(alice, bob, remember):
    wanted = remember(alice, "one", session="s1")
    remember(alice, "two", session="s2")
    remember(bob, "three", session="s1")
    assert ids(read(alice, asked("one"), {wanted: 0.5})) == [wanted]
    assert ids(read(bob, asked("one"), {wanted: 0.5})) == []


def test_every_candidate_is_measured_whichever_search_found_it(alice, remember):
    first, second = remember(alice, "green tea"), remember(alice, "green tea with milk", session="s2")
    hits = {str(hit.id): hit.similarity for hit in retrieve(alice.scope, asked("green tea"), top_k=2).hits}

    for taking_part in ((), ("dense",)):
        found = read(alice, asked("green tea"), {first: 2.0, second: 4.0}, taking_part=taking_part)
        assert ids(found) == [first, second]
        assert found.candidates.bm25.tolist() == [2.0, 4.0]
        assert found.candidates.cosine.tolist() == pytest.approx([hits[first], hits[second]])


def test_the_nearest_and_those_of_the_time_that_is_named_are_found(alice, talk):
    question = replace(asked("number"), spans=[Span(NOW + timedelta(minutes=2), NOW + timedelta(minutes=4), "then")])

    assert ids(read(alice, question, {}, taking_part=("time",))) == talk[2:4]
    assert ids(read(alice, question, {}, taking_part=("dense", "time"))) == talk
    assert ids(read(alice, question, {}, taking_part=())) == []


def test_what_the_signals_need_is_read(alice, remember):
    first = remember(alice, "Where is Bob？", speaker="Ann", session="s1", occurred_at=NOW)
    second = remember(alice, "In Oslo.", role="agent", session="s2", occurred_at=NOW + timedelta(days=2))
    Memory.objects.across_namespaces().filter(pk=first).update(importance=0.5)
    Memory.objects.across_namespaces().filter(pk=second).update(importance=0.9)
    named = asked("What did Ann ask?").naming(frozenset({"ann"}))
    question = replace(named, spans=[Span(NOW, NOW + timedelta(days=2), "then")])

    read_ = read(alice, question, {first: 0.5, second: 0.4}, taking_part=()).candidates

    assert read_.asks.tolist() == [True, False]
    assert read_.spoken.tolist() == [True, False]
    assert read_.named.tolist() == [True, False]
    assert read_.by_agent.tolist() == [False, True]
    # The end of a span does not belong to it.
    assert read_.in_span.tolist() == [True, False]
    assert read_.importance.tolist() == [0.5, 0.9]
    assert len(set(read_.session.tolist())) == 2
    assert (read_.occurred - NOW.timestamp()).tolist() == [0.0, 2 * 86_400.0]


def test_a_pause_of_more_than_an_hour_parts_neighbours(alice, remember):
    def after_a_pause(tenant_session: str, pause: timedelta) -> dict[str, Any]:
        remember(alice, "the kiln glows", session=tenant_session, occurred_at=NOW)
        later = remember(alice, "so it does", session=tenant_session, role="agent", occurred_at=NOW + pause)
        found = retrieve(alice.scope, asked("the kiln glows", {"session_id": tenant_session}), top_k=5)
        (hit,) = [hit for hit in found.hits if str(hit.id) == later]
        return hit.candidate.parts

    assert "neighbours" in after_a_pause("short", timedelta(minutes=60))
    assert "neighbours" not in after_a_pause("long", timedelta(minutes=61))
