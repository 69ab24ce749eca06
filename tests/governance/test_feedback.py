"""Opinions change an importance in small steps, within bounds, and can be withdrawn."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from memory.governance.feedback import HIGHEST, LOWEST, shift, shift_importance


@pytest.mark.parametrize(
    ("opinions", "expected"),
    [({}, 0.0), ({"useful": 1}, 0.05), ({"wrong": 1}, -0.15), ({"outdated": 1}, -0.1),
     ({"useful": 1, "wrong": 1}, -0.1), ({"useful": 1000}, HIGHEST), ({"wrong": 1000}, LOWEST),
     ({"useful": 3, "wrong": 1}, 0.0)],
)  # fmt: skip
def test_what_opinions_are_worth(opinions, expected):
    assert shift(opinions) == pytest.approx(expected)


def test_an_importance_stays_between_0_and_1_and_within_the_bounds_of_the_shift():
    for importance, useful, wrong, outdated in product((0.0, 0.1, 0.5, 1.0), range(6), range(4), range(4)):
        moved = shift_importance(importance, {}, {"useful": useful, "wrong": wrong, "outdated": outdated})
        assert 0 <= moved <= 1
        assert importance + LOWEST <= moved <= importance + HIGHEST


def test_an_opinion_that_is_taken_back_leaves_the_importance_as_it_was():
    steps = [{}, {"useful": 1}, {"useful": 1, "wrong": 1}, {"useful": 1}, {}]
    importance = 0.5
    for before, after in pairwise(steps):
        importance = shift_importance(importance, before, after)
    assert importance == 0.5
