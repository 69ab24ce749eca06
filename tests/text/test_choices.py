"""Choices in a turn, and their totals. Refusals first: texts that only look like one."""

from __future__ import annotations

import time

import pytest

from memory.text.choices import (
    MAX_KEY_TERMS,
    Occasion,
    TurnChoice,
    find_occasions,
    follow_choices,
    is_enough,
    read_choices,
    word_preference,
)
from tests.text.choice_cases import AFTERWARDS, CHOICES, LAST, NO_CHOICE, STILL_READ


@pytest.mark.parametrize(
    ("why", "text"),
    [(why, text) for why, texts in {**NO_CHOICE, "afterwards": AFTERWARDS, "last": LAST}.items() for text in texts],
)
def test_what_only_looks_like_a_choice_is_none(why, text):
    assert bool(read_choices(text)) is (text in STILL_READ)


@pytest.mark.parametrize(("text", "about", "wanted"), CHOICES)
def test_a_choice_is_read(text, about, wanted):
    [one] = read_choices(text)
    assert about in one.object
    assert one.wanted is wanted


def test_what_holds_no_longer_of_a_turn_is_not_read():
    assert read_choices("Book the aisle seat again. Thanks.", [(0, 26)]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'll take the window seat.", "The seat by the window, as always, please."),
        ("No seafood, please.", "Don't recommend seafood dishes."),
        ("我选靠窗的座位。", "还是订靠窗座位吧。"),
    ],
)
def test_the_same_thing_in_other_words_is_the_same(one, other):
    assert read_choices(one)[0].key == read_choices(other)[0].key


@pytest.mark.parametrize(
    "text",
    [
        "no no no " * 40, "book the " + "seat " * 70, "好的，" * 130, "我还是选" + "座" * 380, "ok, " * 99,
        "something " * 40, "can you " * 50 + "again", "不要放" * 130, "i'll take the " + "a " * 190,
    ],
)  # fmt: skip
def test_repeated_text_ends_soon(text):
    started = time.process_time()
    assert all(len(one.key) <= MAX_KEY_TERMS for one in read_choices(text))
    assert time.process_time() - started < 2


def occasions(*told: tuple[str, bool, int]) -> list[Occasion[int]]:
    """Return choices of one thing by place, each wanted or not, and the number of occasions it counts for."""
    return [
        Occasion(number, (place, ""), TurnChoice("aisle seat", wanted, counts, frozenset({"aisl", "seat"})))
        for number, (place, wanted, counts) in enumerate(told)
    ]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ([("a", True, 1)], None),
        ([("a", True, 2)], None),
        ([("a", True, 1), ("a", True, 1), ("a", True, 1)], None),
        ([("a", True, 2), ("a", True, 2)], None),
        ([("a", True, 1), ("b", True, 1)], None),
        ([("a", True, 1), ("b", True, 1), ("c", False, 1)], None),
        ([("a", True, 1), ("b", True, 1), ("c", True, 1)], True),
        ([("a", True, 1), ("b", True, 2)], True),
        ([("a", False, 1), ("b", False, 1), ("c", False, 1)], False),
        ([("a", True, 1), ("b", True, 1), ("c", True, 1), ("d", False, 1)], True),
        ([("a", True, 1), ("b", True, 1), ("c", True, 1), ("d", False, 1), ("e", False, 1)], None),
        ([("a", True, 1), ("b", True, 2), ("d", False, 1), ("e", False, 2)], False),
        ([("a", True, 1), ("b", False, 1), ("c", True, 1), ("d", False, 1), ("e", True, 1)], True),
    ],
)
def test_what_is_chosen_on_enough_occasions_is_preferred_until_the_opposite_is(told, shown):
    come_to = follow_choices(occasions(*told))
    assert (come_to.run[0].choice.wanted if come_to.is_preference else None) is shown


def test_an_end_is_where_the_opposite_began():
    told = occasions(("a", True, 2), ("b", True, 1), ("c", False, 1), ("d", False, 1))
    ended = follow_choices(told).ended
    assert ended is not None
    assert ended.turn == 2


def test_it_is_worded_in_the_words_of_the_first():
    run = [*find_occasions(1, text="No seafood, please.", retired=(), place=("a", ""))]
    assert word_preference(run).text == "Usually turns down seafood."
    run = [*find_occasions(1, text="还是订靠窗的座位吧。", retired=(), place=("a", ""))]
    assert word_preference(run).text == "通常会选靠窗的座位。"
    assert not is_enough(run)
    assert word_preference(run).strength < 0.5
