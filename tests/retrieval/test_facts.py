"""A fact and a turn that it rests on are shown as one hit: the turn, at the better rank of the two."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from memory.retrieval.facts import match_facts_to_turns, put_turns_first


@dataclass
class Found:
    name: str
    sources: list[UUID] = field(default_factory=list)
    id: UUID = field(default_factory=uuid4)


def names(hits: list[Found]) -> str:
    return "".join(hit.name for hit in hits)


TURN, OTHER = Found("t"), Found("o")


def fact(name: str, *turns: Found) -> Found:
    return Found(name, [turn.id for turn in turns])


def test_without_facts_nothing_changes():
    hits = [OTHER, TURN]
    assert put_turns_first(hits) is hits
    assert match_facts_to_turns(hits, {}) == {}


def test_the_turn_takes_the_place_of_a_better_fact():
    hits = put_turns_first([fact("f", TURN), OTHER, TURN])
    assert names(hits) == "tof"
    assert match_facts_to_turns(hits, {}) == {2: 0}


def test_a_fact_below_its_turn_stays_where_it_is():
    hits = put_turns_first([TURN, OTHER, fact("f", TURN)])
    assert names(hits) == "tof"
    assert match_facts_to_turns(hits, {}) == {2: 0}


def test_a_fact_whose_turn_was_not_found_is_told():
    hits = put_turns_first([fact("f", Found("x")), OTHER])
    assert names(hits) == "fo"
    assert match_facts_to_turns(hits, {}) == {}


def test_two_facts_of_one_turn_give_way_to_it_once():
    hits = put_turns_first([fact("f", TURN), fact("g", TURN), TURN])
    assert names(hits) == "tgf"
    assert match_facts_to_turns(hits, {}) == {1: 0, 2: 0}


def test_a_fact_of_two_turns_gives_way_to_the_better_one():
    hits = put_turns_first([fact("f", OTHER, TURN), TURN, OTHER])
    assert names(hits) == "tfo"
    assert match_facts_to_turns(hits, {}) == {1: 0}


def test_what_says_the_same_as_the_turn_tells_the_fact():
    hits = [OTHER, TURN, fact("f", TURN)]
    assert match_facts_to_turns(hits, {1: 0}) == {2: 0}
