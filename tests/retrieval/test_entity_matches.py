"""The entities that a question names, and the memories that mention them."""

from __future__ import annotations

import math
import uuid

import pytest
from django.utils import timezone

from memory.models.sql import fetch
from memory.retrieval import entity_matches as entity_matches_module
from memory.retrieval.entity_matches import MATCHES, TOLD_OF, EntityMatch, name_keys, weigh
from memory.retrieval.explain import reason
from memory.retrieval.filters import parse
from memory.services.entities import extract
from memory.services.memories import edit
from memory.services.recall.search import Ask, find
from memory.types import system_access


def entity_matches(scope, text):
    parameters = {"namespace_id": scope.namespace_id, "keys": name_keys(text)}
    rows = fetch(f"WITH {MATCHES} SELECT * FROM matches ORDER BY entity", parameters, prepared=False)
    return [EntityMatch(*row) for row in rows]


@pytest.fixture
def world(alice, bob, remember):
    said = {
        "caro": remember(alice, "Call me Caro.", speaker="Caroline"),
        "home": remember(alice, "Caroline lives in New York.", speaker="Tom"),
        "beijing": remember(alice, "王芳住在北京（Beijing）。"),
    }
    remember(bob, "Caroline lives in Paris.")
    extract.index_pending(now=timezone.now())
    return said


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Where does Caroline live?", {"caroline": {"caro", "home"}}),
        ("what did CARO’s friend say", {"caro": {"caro", "home"}}),
        ("Who lives in New York?", {"new york": {"home"}}),
        ("Who lives in Beijing?", {"beijing": {"beijing"}}),
        ("谁住在北京？", {"北京": {"beijing"}}),
        ("王芳住在哪里", {"王芳": {"beijing"}}),
        ("Where is Paris?", {}),
        ("what is it?", {}),
        ("", {}),
    ],
)
def test_a_question_finds_the_memories_of_the_entities_it_names(alice, world, question, keys):
    found = {
        match.key: {name for name, identity in world.items() if identity in match.memories}
        for match in entity_matches(alice.scope, question)
    }

    assert found == keys


def test_archived_memories_take_no_part(alice, world):
    access = system_access("tests")
    edit.archive(access, memory_ids=[uuid.UUID(world["home"])], reason="test", now=timezone.now())

    (match,) = entity_matches(alice.scope, "Caroline")
    assert match.memories == [world["caro"]]
    assert entity_matches(alice.scope, "New York") == []


def test_a_long_question_is_no_trouble(alice, world):
    assert [match.key for match in entity_matches(alice.scope, "Caroline " + "and so on " * 200)] == ["caroline"]
    assert entity_matches(alice.scope, "好" * 2000) == []


def test_a_memory_is_found_by_another_name_of_whom_the_question_names(alice, world, remember):
    for number in range(9):
        remember(alice, f"The {number} ship has docked.")
    named = {hit.text: hit for hit in _found(alice, "Has Caro a flat?")}

    hit = named["Caroline lives in New York."]
    assert hit.candidate.parts["entities"].raw == pytest.approx(1 - math.log(2) / math.log(TOLD_OF))
    assert "it mentions what the question names" in reason(hit, considered=5)
    assert not any("entities" in hit.candidate.parts for hit in _found(alice, "Has the ship docked?"))


def test_who_is_in_every_memory_tells_nothing(alice, world, monkeypatch):
    monkeypatch.setattr(entity_matches_module, "TOLD_OF", 2)
    assert weigh(entity_matches(alice.scope, "Where does Caroline live?")) == {}


def test_a_filter_holds_for_mentions_too(alice, world):
    narrowed = Ask("Has Caro a flat?", 5, timezone.now(), where=parse({"speaker": "Caroline"}))
    assert {hit.text for hit in find(alice.scope, narrowed).hits} == {"Call me Caro."}


def _found(tenant, text):
    return find(tenant.scope, Ask(text, 5, timezone.now())).hits
