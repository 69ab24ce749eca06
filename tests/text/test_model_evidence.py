"""The fields and turns that a language model gives for a preference; unusable answers and unknown turns are refused."""

from __future__ import annotations

import pytest

from memory.enums import FactRefusal
from memory.text.model_evidence import ModelEvidence, read_evidence
from memory.text.statements import Turn

TURNS = [Turn(speaker, "I like tea.", speaker=speaker) for speaker in ("Ann", "Ben", "Ann", "Ann")]
RAW = {"holder": "Ann", "object": "Tea", "wanted": True, "turns": [4, 3, 3]}


@pytest.mark.parametrize("all_new", [True, False])
def test_places_are_in_order_and_once(all_new):
    found = read_evidence(RAW, TURNS, first_new=2, most_turns=4, all_new=all_new)
    assert found == ModelEvidence("Tea", True, (2, 3))


@pytest.mark.parametrize(
    ("changed", "all_new", "refusal"),
    [
        ({"object": None}, False, FactRefusal.MALFORMED),
        ({"object": " "}, False, FactRefusal.MALFORMED),
        ({"wanted": 1}, False, FactRefusal.MALFORMED),
        ({"turns": "3"}, False, FactRefusal.MALFORMED),
        ({"turns": []}, False, FactRefusal.MALFORMED),
        ({"turns": [3] * 5}, False, FactRefusal.MALFORMED),
        ({"turns": [5]}, False, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [0, 3]}, False, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [True, 3]}, False, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [3.0]}, False, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [1]}, False, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [1, 3]}, True, FactRefusal.NO_NEW_SOURCE),
        ({"turns": [2, 3]}, False, FactRefusal.HOLDER),
        ({"holder": "Ben"}, False, FactRefusal.HOLDER),
        ({"holder": None}, False, FactRefusal.HOLDER),
    ],
)
def test_what_is_no_answer_or_nobodys_is_refused(changed, all_new, refusal):
    assert read_evidence(RAW | changed, TURNS, first_new=2, most_turns=4, all_new=all_new) == refusal


def test_a_choice_may_begin_in_earlier_turns():
    found = read_evidence(RAW | {"turns": [1, 3]}, TURNS, first_new=2, most_turns=4, all_new=False)
    assert found == ModelEvidence("Tea", True, (0, 2))
