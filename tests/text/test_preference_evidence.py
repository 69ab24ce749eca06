"""Turns confirm, or refute, a preference that a model read in them. Refusals first: no aversion is a liking."""

from __future__ import annotations

import time

import pytest

from memory.enums import Attitude, FactRefusal
from memory.text.preference_evidence import find_attitude
from memory.text.preferences import MAX_TURN_CHARS, check_preference
from memory.text.statements import Turn
from tests.text.preference_evidence_cases import (
    AFTERWARDS,
    AVERSIONS,
    LAST,
    LEFT_OUT,
    LIKES,
    LIKES_AFTERWARDS,
    TAKEN_ALL_THE_SAME,
)

ON_REVIEW = (
    "I get hives from peanuts.", "I react badly to peanuts.", "I stay clear of peanuts.",
    "I am on a diet without peanuts.", "My doctor forbids me peanuts.", "I refuse peanuts.",
    "I gave peanuts up for good.", "I do not like peanuts.", "I like no peanuts.", "Peanuts make me ill.",
)  # fmt: skip


def check(text: str, about: str, told: str, *, attitude: str, wanted: bool) -> FactRefusal | Attitude:
    raw = {
        "shown_by": "statement", "holder": "Ana", "attitude": attitude, "wanted": wanted, "object": about,
        "text": told, "strength": 0.8, "turns": [1],
    }  # fmt: skip
    found = check_preference(raw, [Turn("1", text, "user", "Ana")], first_new=0)
    return found if isinstance(found, FactRefusal) else found[0].attitude


@pytest.mark.parametrize("attitude", [Attitude.LIKE, Attitude.HABIT, Attitude.CONSTRAINT, Attitude.DISLIKE])
@pytest.mark.parametrize(("text", "about", "told"), AVERSIONS)
def test_an_aversion_is_never_wanted(text, about, told, attitude):
    assert isinstance(find_attitude(text, about=about, attitude=attitude, wanted=True), FactRefusal)
    assert isinstance(check(text, about, told, attitude=attitude, wanted=True), FactRefusal)


@pytest.mark.parametrize(("text", "about"), [*AFTERWARDS, *LAST])
def test_nor_is_one_that_was_written_as_a_trap(text, about):
    found = [find_attitude(text, about=about, attitude=attitude, wanted=True) for attitude in Attitude]
    assert any(isinstance(one, Attitude) for one in found) == (text in TAKEN_ALL_THE_SAME)


@pytest.mark.parametrize(("text", "about"), LIKES_AFTERWARDS)
def test_a_liking_that_the_check_was_not_written_for_passes(text, about):
    found = find_attitude(text, about=about, attitude=Attitude.LIKE, wanted=True)
    assert isinstance(found, Attitude) == (text not in LEFT_OUT)


@pytest.mark.parametrize("text", ON_REVIEW)
def test_an_aversion_in_common_words_is_never_wanted(text):
    for attitude in Attitude:
        assert isinstance(find_attitude(text, about="peanuts", attitude=attitude, wanted=True), FactRefusal)


@pytest.mark.parametrize(("text", "about", "told"), LIKES)
def test_a_liking_passes_and_is_not_avoided(text, about, told):
    assert find_attitude(text, about=about, attitude=Attitude.LIKE, wanted=True) in (Attitude.LIKE, Attitude.HABIT)
    for attitude in (Attitude.DISLIKE, Attitude.CONSTRAINT, Attitude.LIKE):
        assert find_attitude(text, about=about, attitude=attitude, wanted=False) == FactRefusal.NEGATION


def test_most_likings_pass_all_that_is_checked():
    passed = [case for case in LIKES if check(*case, attitude="like", wanted=True) in (Attitude.LIKE, Attitude.HABIT)]
    assert len(passed) >= 32


@pytest.mark.parametrize(
    ("text", "about", "attitude", "wanted", "borne"),
    [
        ("I love jazz.", "jazz", "like", True, "like"),
        ("I love jazz.", "jazz", "habit", True, "like"),
        ("I usually drink tea.", "tea", "like", True, "habit"),
        ("I usually drink tea.", "tea", "habit", True, "habit"),
        ("我每天早上喝豆浆。", "豆浆", "like", True, "habit"),
        ("I get hives from peanuts.", "peanuts", "constraint", False, "constraint"),
        ("I get hives from peanuts.", "peanuts", "dislike", False, "dislike"),
        ("Loud music gives me a headache.", "loud music", "constraint", False, "dislike"),
        ("Loud music gives me a headache.", "loud music", "habit", False, "dislike"),
        ("我吃了虾就起疹子。", "虾", "constraint", False, "constraint"),
        ("I only eat kosher food.", "kosher food", "constraint", True, FactRefusal.NEGATION),
        ("I bought a green tea set.", "green tea", "like", True, FactRefusal.UNSUPPORTED),
    ],
)
def test_an_attitude_is_taken_as_far_as_the_words_bear_it(text, about, attitude, wanted, borne):
    assert find_attitude(text, about=about, attitude=Attitude(attitude), wanted=wanted) == borne


@pytest.mark.parametrize(
    "part", ["i love ", "i eat and ", "x, ", "peanuts is ", "我喜欢", "花生，", "cannot start the "]
)
def test_long_and_repeated_text_ends_soon(part):
    text = (part * MAX_TURN_CHARS)[:MAX_TURN_CHARS]
    started = time.process_time()
    for about in ("peanuts", "花生"):
        find_attitude(text, about=about, attitude=Attitude.LIKE, wanted=True)
        find_attitude(f"{text} {about}", about=about, attitude=Attitude.LIKE, wanted=True)
    assert time.process_time() - started < 5
