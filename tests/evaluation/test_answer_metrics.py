"""Scores of answers without a model, compared with values computed by hand."""

from __future__ import annotations

import pytest

from memory.evaluation.answer_metrics import containment, find_letter, token_f1


@pytest.mark.parametrize(
    ("gold", "answer", "f1"),
    [
        ("a red bicycle", "The red bicycle", 1.0),
        ("running shoes", "She bought shoes to run", 2 * 2 / (2 + 5)),
        ("7 May 2023", "7 May", 2 * 2 / (3 + 2)),
        ("Graz", "Vienna", 0.0),
        ("Graz", "", 0.0),
        ("红色的车", "红车", 2 * 2 / (4 + 2)),
    ],
)
def test_token_f1(gold, answer, f1):
    assert token_f1(gold, answer) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("gold", "answer", "share"),
    [
        ("the red bicycle", "It is red, and it is a bicycle that I like.", 1.0),
        ("pottery, swimming", "She swims.", 0.5),
        ("the", "anything", 1.0),
        ("Graz", "", 0.0),
    ],
)
def test_containment(gold, answer, share):
    assert containment(gold, answer) == pytest.approx(share)


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("(b)", "b"), ("I would say (B).", "b"), ("c", "c"), ("(a) or (b)", ""), ("none of them", ""), ("", "")],
)
def test_chosen_letter(answer, letter):
    assert find_letter(answer) == letter
