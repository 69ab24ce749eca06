"""The place of memory among a caller's messages, and the hash of a conversation's first ones."""

from __future__ import annotations

import pytest

from memory.enums import MemoryPlace
from memory.text.completion_messages import (
    KEPT_IN_MIND,
    RECALLED,
    AddedMemory,
    add_instruction,
    find_last_said,
    hash_beginning,
)

ADDED = AddedMemory("She eats no nuts.\n", "The shop is in Lyon.\n")
TALK = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Hi."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
    {"role": "tool", "content": "9 °C", "tool_call_id": "t"},
    {"role": "user", "content": "Where is the shop?"},
]


def test_apart_it_stands_before_all_and_before_the_last_of_the_user():
    told = ADDED.add_to(TALK)

    assert told[0] == {"role": "system", "content": f"{KEPT_IN_MIND}She eats no nuts.\n"}
    assert told[-2] == {"role": "system", "content": f"{RECALLED}The shop is in Lyon.\n"}
    assert [*told[1:-2], told[-1]] == TALK


@pytest.mark.parametrize("instructions", [TALK[:1], []])
def test_folded_there_is_one_message_that_instructs_and_it_is_the_first(instructions):
    first, *between, last = ADDED.add_to([*instructions, *TALK[1:]], MemoryPlace.SYSTEM)

    assert first["role"] == ("developer" if instructions else "system")
    assert first["content"].startswith(f"{KEPT_IN_MIND}She eats no nuts.\n")
    assert first["content"].endswith("\nBe brief.") == bool(instructions)
    assert between == TALK[1:-1]
    assert last["content"] == f"{RECALLED}The shop is in Lyon.\n\nThe next message:\nWhere is the shop?"


def test_with_the_user_no_other_message_changes():
    *before, last = ADDED.add_to(TALK, MemoryPlace.USER)

    assert before == TALK[:-1]
    assert last["content"].startswith(f"{KEPT_IN_MIND}She eats no nuts.\n\n{RECALLED}The shop is in Lyon.\n\n")
    assert last["content"].endswith("\nWhere is the shop?")


def test_parts_stay_as_they_are_behind_a_part_more():
    parts = [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    talk = [{"role": "system", "content": system}, {"role": "user", "content": parts}]
    first, last = ADDED.add_to(talk, MemoryPlace.SYSTEM)

    assert first["content"][1:] == system
    assert last["content"][1:] == parts
    assert [one["content"][0]["type"] for one in (first, last)] == ["text", "text"]
    assert talk[1] == {"role": "user", "content": parts}


@pytest.mark.parametrize("place", MemoryPlace)
def test_nothing_is_added_where_there_is_nothing_to_tell(place):
    assert AddedMemory("", "").add_to(TALK, place) == TALK


@pytest.mark.parametrize("place", [MemoryPlace.SYSTEM, MemoryPlace.USER])
def test_what_was_recalled_alone_needs_no_message_of_its_own(place):
    told = AddedMemory("", "The shop is in Lyon.\n").add_to(TALK, place)
    assert told[:-1] == TALK[:-1]


@pytest.mark.parametrize("place", MemoryPlace)
def test_a_talk_in_which_the_user_has_said_nothing_is_told_what_is_kept_in_mind_at_most(place):
    talk = [{"role": "assistant", "content": "Hello."}]
    assert find_last_said(talk) is None
    assert ADDED.add_to(talk, place)[-1:] == talk


def test_an_instruction_is_added_to_the_first_one():
    assert add_instruction(TALK[:2], "Answer JSON.")[0]["content"] == "Be brief.\nAnswer JSON."
    assert add_instruction(TALK[1:2], "Answer JSON.") == [{"role": "system", "content": "Answer JSON."}, TALK[1]]


def test_a_conversation_is_the_same_whatever_comes_behind_its_first_message():
    first = hash_beginning(TALK, "key:a")

    assert hash_beginning(TALK[:2], "key:a") == first
    assert hash_beginning([{**TALK[0], "content": "Be brief. It is 9."}, TALK[1]], "a") == hash_beginning(
        [{**TALK[0], "content": "Be brief. It is 10."}, TALK[1]], "a"
    )
    others = [
        hash_beginning(TALK, "key:b"),
        hash_beginning(TALK[1:], "key:a"),
        hash_beginning([TALK[0], {"role": "user", "content": "Hi. 1"}], "key:a"),
        hash_beginning([TALK[0], {"role": "user", "content": "Hi. 2"}], "key:a"),
        hash_beginning([{"role": "user", "content": "\ud800"}], "key:a"),
    ]
    assert len({first, *others}) == 6
