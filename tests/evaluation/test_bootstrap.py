from __future__ import annotations

import math

import numpy as np
import pytest

from memory.evaluation.bootstrap import estimate_intervals


def test_runs_that_are_equal_differ_by_nothing() -> None:
    scores = np.random.default_rng(1).random((40, 3))

    for interval in estimate_intervals(scores, scores):
        assert (interval.difference, interval.low, interval.high) == (0, 0, 0)


def test_the_same_input_gives_the_same_interval() -> None:
    draw = np.random.default_rng(2)
    base, run = draw.random((60, 2)), draw.random((60, 2))

    assert estimate_intervals(base, run) == estimate_intervals(base, run)


def test_it_is_about_the_normal_interval_for_many_questions() -> None:
    differences = np.random.default_rng(3).normal(-0.05, 0.2, size=(900, 1))
    [interval] = estimate_intervals(np.zeros((900, 1)), differences)
    mean, error = float(differences.mean()), float(differences.std()) / math.sqrt(900)

    assert interval.difference == pytest.approx(mean)
    assert interval.low == pytest.approx(mean - 1.96 * error, abs=0.0015)
    assert interval.high == pytest.approx(mean + 1.96 * error, abs=0.0015)
    assert interval.high < 0


def test_pairs_are_kept_together() -> None:
    # Every question is worse by the same amount, so the mean is too, whichever questions are drawn.
    base = np.random.default_rng(4).random((30, 1))
    [interval] = estimate_intervals(base, base - 0.1)

    assert interval.low == pytest.approx(-0.1)
    assert interval.high == pytest.approx(-0.1)


@pytest.mark.parametrize(("base", "run"), [((0, 2), (0, 2)), ((3, 2), (4, 2)), ((3,), (3,))])
def test_shapes_that_do_not_pair_are_refused(base: tuple, run: tuple) -> None:
    with pytest.raises(ValueError, match="shapes"):
        estimate_intervals(np.zeros(base), np.zeros(run))
