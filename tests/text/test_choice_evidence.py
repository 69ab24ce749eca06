"""Turns confirm, or refute, the choice that a language model read in them. Refusals first."""

from __future__ import annotations

import pytest

from memory.text.choice_evidence import check_choice, confirm_choice, find_occasion
from memory.text.choices import is_enough
from memory.text.statements import Turn
from tests.text.choice_evidence_cases import (
    BORNE,
    FIRST,
    FOURTH,
    LEFT_OUT,
    PART_OF_ANOTHER,
    SECOND,
    TAKEN_ALL_THE_SAME,
    THIRD,
    WHOLE,
)


@pytest.mark.parametrize(("text", "about", "wanted"), [*FIRST, *SECOND, *THIRD, *FOURTH, *PART_OF_ANOTHER])
def test_what_makes_no_such_choice_does_not_bear_it(text, about, wanted):
    confirmed = confirm_choice(text, (), about=about, wanted=wanted)
    assert (confirmed is not None) == (text in TAKEN_ALL_THE_SAME)


@pytest.mark.parametrize(("text", "about", "wanted"), [*BORNE, *WHOLE])
def test_what_makes_it_bears_it_and_not_the_opposite(text, about, wanted):
    confirmed = confirm_choice(text, (), about=about, wanted=wanted)
    assert (confirmed is None) == (text in LEFT_OUT)
    assert confirm_choice(text, (), about=about, wanted=not wanted) is None


@pytest.mark.parametrize(
    "about",
    [
        "", " ", "it", "that one", "seat", "the first", "座位", "window seat, and for all users wine",
        "window\u202eseat", "window seat" * 9, "a b c d e f g", "[redacted:email]", "you", "靠窗 的", "wrong one",
        "the",
    ],
)  # fmt: skip
def test_what_is_no_thing_that_one_can_prefer_is_none(about):
    text = f"I picked the {about} again."
    assert confirm_choice(text, (), about=about, wanted=True) is None


def test_what_holds_no_longer_of_a_turn_bears_nothing():
    text = "I picked the window seat again. It was fine."
    assert confirm_choice(text, [(0, 31)], about="window seat", wanted=True) is None
    assert confirm_choice(text, [(32, 44)], about="window seat", wanted=True) is not None


def test_again_counts_for_two_occasions_and_one_is_not_enough():
    again = find_occasion(
        1, text="Booked the quiet one a third time.", retired=(), place=("a", "1"), about="quiet one", wanted=True
    )
    once = find_occasion(
        2, text="I booked the quiet one.", retired=(), place=("b", "2"), about="quiet one", wanted=True
    )
    assert (again.choice.counts, once.choice.counts) == (2, 1)
    assert (is_enough([again]), is_enough([again, once])) == (False, True)


class TestAnswer:
    TURNS = [
        Turn("1", "I booked the quiet one.", "user", "Ana"),
        Turn("2", "Booked the quiet one a second time.", "user", "Ana"),
        Turn("3", "Booked the quiet one again.", "user", "Ben"),
        Turn("4", "Lovely weather today.", "user", "Ana"),
    ]
    SAID = {"holder": "Ana", "object": "quiet one", "wanted": True, "turns": [1, 2]}

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ({"turns": []}, "malformed"), ({"turns": None}, "malformed"), ({"turns": [1] * 21}, "malformed"),
            ({"object": None}, "malformed"), ({"object": "it"}, "malformed"), ({"wanted": 1}, "malformed"),
            ({"turns": [1]}, "no_new_source"), ({"turns": [1, 9]}, "no_new_source"),
            ({"turns": [0, 2]}, "no_new_source"), ({"turns": [True, 2]}, "no_new_source"),
            ({"turns": ["2"]}, "no_new_source"), ({"turns": [2.0]}, "no_new_source"),
            ({"turns": [2, 3]}, "holder"), ({"holder": "Ben"}, "holder"), ({"holder": "user"}, "holder"),
            ({"holder": None}, "holder"), ({"holder": ["Ana"]}, "holder"),
            ({"turns": [1, 2, 4]}, "unsupported"), ({"object": "loud one"}, "unsupported"),
            ({"wanted": False}, "unsupported"),
        ],
    )  # fmt: skip
    def test_what_the_turns_do_not_show_is_refused_as_a_whole(self, wrong, why):
        assert check_choice({**self.SAID, **wrong}, self.TURNS, first_new=1) == why

    def test_what_they_show_is_taken(self):
        choice = check_choice({**self.SAID, "turns": [2, 1, 2], "object": " Quiet  One"}, self.TURNS, first_new=1)
        assert (choice.about, choice.wanted, choice.places) == ("quiet one", True, (0, 1))
