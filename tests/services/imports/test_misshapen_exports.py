"""Exports that are well-formed JSON but make no sense: usable parts are stored, and the others counted as faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from django.utils import timezone
from portable_ai_memory.core.integrity import compute_content_hash

from memory.models import Memory
from memory.services.imports.detect import recognise
from memory.services.imports.source import SourceTurn, UnreadableImport
from memory.services.imports.survey import look_over
from memory.services.imports.take_in import take_in
from tests.services.imports.exports import chatgpt, claude, gemini, write

# Half of a surrogate pair, and NUL, as they are written in a file.
HALF, NUL = "\\ud800", "\\u0000"
MEM0 = {"id": "1", "memory": "Ada likes trains.", "user_id": "ada", "created_at": "2025-02-03T04:05:06Z"}
HINDSIGHT = {"id": "1", "text": "Ada likes trains.", "fact_type": "world"}


def read(path: Path) -> list[SourceTurn]:
    return [turn for one in recognise(path).conversations() for turn in one.turns]


def tree(nodes: dict[str, tuple[str | None, list[str]]], **changes: Any) -> dict[str, Any]:
    """Return a conversation of ChatGPT's from each message's parent and children."""
    mapping = {
        name: {
            "id": name,
            "parent": parent,
            "children": children,
            "message": {
                "id": name,
                "author": {"role": "user"},
                "create_time": 1719830001.0,
                "content": {"content_type": "text", "parts": [f"I am {name}."]},
            },
        }
        for name, (parent, children) in nodes.items()
    }
    return chatgpt(mapping=mapping, **changes)


def read_texts(path: Path) -> list[str]:
    return [turn.memory.text for turn in read(path)]


@pytest.mark.parametrize(
    ("nodes", "current", "kept"),
    [
        ({"a": (None, ["b"]), "b": ("a", [])}, "nowhere", ["I am a.", "I am b."]),
        ({"a": ("b", ["b"]), "b": ("a", ["a"])}, None, ["I am a.", "I am b."]),
        ({"a": ("b", ["b"]), "b": ("a", ["a"])}, "a", ["I am b.", "I am a."]),
        ({"a": ("a", ["a"])}, "a", ["I am a."]),
        ({"a": ("nowhere", ["b", "c"]), "b": ("a", []), "c": ("a", [])}, "b", ["I am a.", "I am b."]),
        ({}, "a", []),
    ],
    ids=[
        "its current node is not there",
        "a circle",
        "a circle and a place in it",
        "its own parent",
        "no root",
        "none",
    ],
)
def test_a_tree_that_leads_nowhere_is_followed_as_far_as_it_goes(tmp_path, nodes, current, kept):
    assert read_texts(write(tmp_path, [chatgpt("first"), tree(nodes, current_node=current)]))[3:] == kept


def test_a_tree_of_many_branches_is_one_way_through_it(tmp_path):
    names = [f"n{number}" for number in range(2_000)]
    nodes = {"root": (None, names), **{name: ("root", []) for name in names}}
    path = write(tmp_path, [tree(nodes, current_node="n7")])

    assert read_texts(path) == ["I am root.", "I am n7."]
    assert look_over(recognise(path)).left_out == {"branch": 1_999}


@pytest.mark.parametrize(
    "changes",
    [
        {"current_node": ["n4"]},
        {"mapping": [1]},
        {"mapping": {"a": None}},
        {"mapping": {"a": {"parent": ["b"], "message": None}}, "current_node": "a"},
        {"conversation_id": 7, "id": 7},
    ],
)
def test_a_conversation_that_is_none_is_a_fault_and_the_others_come(tmp_path, changes):
    path = write(tmp_path, [chatgpt("first"), chatgpt("second", **changes), chatgpt("third")])
    survey = look_over(recognise(path))

    messages = changes.get("mapping", chatgpt()["mapping"])
    assert survey.turns == 6
    # A conversation without messages counts as unreadable.
    assert survey.unreadable == (7 if "n4" in messages else 1)
    assert survey.messages == 2 * 7 + survey.unreadable
    assert [fault["place"] for fault in survey.faults] == ["conversation 2"]


@pytest.mark.parametrize(
    ("content", "place", "turns", "unreadable"),
    [
        ([{"conversations_memory": 5, "project_memories": 5}], "entry 1", 0, 1),
        ([{"conversations_memory": {"a": 1}}], "entry 1", 0, 1),
        ([*gemini(), 5], "entry 3", 4, 1),
        ([*gemini(), None], "entry 3", 4, 1),
        ([*gemini(), {**gemini()[0], "titleUrl": [1]}], "entry 3", 4, 2),
        ([claude(), {**claude(), "chat_messages": [None]}], "conversation 2, message 1", 2, 1),
        ([claude(), {**claude(), "chat_messages": None}], "conversation 2", 2, 1),
    ],
)
def test_an_entry_that_is_none_is_a_fault(tmp_path, content, place, turns, unreadable):
    survey = look_over(recognise(write(tmp_path, content)))

    assert (survey.unreadable, survey.faults[0]["place"]) == (unreadable, place)
    assert survey.turns == turns


@pytest.mark.parametrize("number", ["1" * 5_000, "9" * 30, "1e400"])
def test_a_number_beyond_all_bounds_is_refused(tmp_path, number):
    content = orjson.dumps([{**MEM0, "metadata": {"n": 77_777}}]).replace(b"77777", number.encode())
    with pytest.raises(UnreadableImport, match="overflow"):
        look_over(recognise(write(tmp_path, content)))


def pam(**own: Any) -> dict[str, Any]:
    text = "Ada likes trains."
    memory = {
        "id": "m1",
        "type": "fact",
        "status": "active",
        "content": text,
        "content_hash": compute_content_hash(text),
        "temporal": {"created_at": "2025-01-01T00:00:00Z"},
        "provenance": {"platform": "chatgpt"},
        "metadata": {"memos": own},
    }
    return {"schema": "portable-ai-memory", "schema_version": "1.0", "memories": [memory]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content",
    [
        [chatgpt("MARK", title="MARK")],
        [tree({"MARK": (None, [])}, current_node="MARK")],
        [claude("MARK")],
        [{**MEM0, "id": "MARK"}],
        [{**HINDSIGHT, "id": "MARK", "document_id": "MARK", "context": "MARK"}],
        pam(speaker="MARK", session_id="MARK"),
    ],
    ids=["a conversation", "a message", "claude", "mem0", "hindsight", "pam"],
)
@pytest.mark.parametrize("mark", [HALF, NUL], ids=["half a character", "NUL"])
def test_what_is_read_can_be_stored(alice, tmp_path, content, mark):
    path = write(tmp_path, orjson.dumps(content).replace(b"MARK", mark.encode()))
    turns = read(path)
    assert turns

    counts = take_in(alice.scope, turns, now=timezone.now())
    assert counts.new == len(turns) == Memory.objects.in_scope(alice.scope).count()
    assert take_in(alice.scope, read(path), now=timezone.now()).present == len(turns)


@pytest.mark.django_db
def test_an_id_that_two_have_names_the_first(alice, tmp_path):
    twice = tree({"a": (None, ["b"]), "b": ("a", [])}, current_node="b")
    twice["mapping"]["b"]["message"]["id"] = "a"
    turns = read(write(tmp_path, [twice, twice]))

    assert take_in(alice.scope, turns, now=timezone.now()).new == 1
    assert Memory.objects.in_scope(alice.scope).get().text == "I am a."


def test_what_names_a_turn_does_not_grow_with_its_pieces(tmp_path):
    """Each piece of a text and each message of a conversation repeats the name: a file of a few MB took gigabytes."""
    long = "word " * 100_000
    kept = read(write(tmp_path, [{"conversations_memory": long}]))
    assert len(kept) == 25
    assert len({turn.key for turn in kept}) == 25
    assert sum(len(turn.key) for turn in kept) < 25 * 100

    one = tree({"a": (None, [])}, current_node="a")
    one["mapping"]["a"]["message"] |= {"id": "k" * 99_000, "content": {"content_type": "text", "parts": [long]}}
    named = read(write(tmp_path, [one]))
    assert len({turn.key for turn in named}) == 25
    assert sum(len(turn.key) for turn in named) < 25 * 100

    names = [f"n{number}" for number in range(50)]
    nodes = {
        name: (names[place - 1] if place else None, names[place + 1 : place + 2]) for place, name in enumerate(names)
    }
    turns = read(write(tmp_path, [tree(nodes, current_node="n49", conversation_id="c" * 1_000_000)]))
    assert len({turn.key for turn in turns}) == 50
    assert sum(len(turn.key) for turn in turns) < 50 * 100


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("a" * 45_000, [20_000, 20_000, 5_000]),
        ("a" * 15_000 + "\n\n " + "b" * 4_000 + " " + "c" * 10_000, [15_000, 14_001]),
        ("a" * 15_000 + " " * 30_000 + "b" * 25_000, [15_000, 20_000, 5_000]),
        ("字" * 12_000 + "\n" + "a " * 5_000, [12_000, 9_999]),
    ],
)
def test_a_long_text_is_cut_after_a_line_or_a_word_and_loses_nothing(tmp_path, text, sizes):
    pieces = read_texts(write(tmp_path, [{"conversations_memory": text}]))

    assert [len(piece) for piece in pieces] == sizes
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_the_names_of_usual_turns_stay_as_they_were(tmp_path):
    """The names do not depend on the file, so they show which turns were imported earlier."""
    assert [turn.key for turn in read(write(tmp_path, [chatgpt()]))] == [
        f"chatgpt:c1:c1-{one}" for one in ("n1", "n3", "n4")
    ]
    text = "word " * 8_000
    assert [turn.key for turn in read(write(tmp_path, [{"conversations_memory": text}]))] == [
        f"claude:memory:{text.strip()}",
        f"claude:memory:{text.strip()}#2",
    ]
