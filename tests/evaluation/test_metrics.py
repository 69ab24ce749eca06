"""Metrics, compared with values computed by hand."""

from __future__ import annotations

import math

import pytest

from memory.evaluation import metrics


def test_one_question_by_hand() -> None:
    ranked = ["x1", "e1", "x2", "x3", "x4", "e2", *(f"y{n}" for n in range(6)), "e3"]
    found = metrics.score(ranked, {"e1": 1, "e2": 1, "e3": 1, "e4": 1, "x1": 0})

    # The evidence is at ranks 2, 6 and 13; the fourth piece was never found.
    assert found["R@1"] == 0
    assert found["R@5"] == 0.25
    assert found["R@10"] == 0.5
    assert found["R@20"] == 0.75
    assert found["all@10"] == 0
    assert found["Hit@10"] == 1
    assert found["MRR"] == 0.5
    gained = 1 / math.log2(3) + 1 / math.log2(7)
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)
    assert found["nDCG@10"] == pytest.approx(gained / best, abs=1e-6)


def test_grades_are_gains_and_the_best_order_is_one() -> None:
    grades = {"best": 3.0, "good": 1.0, "wrong": -1.0}

    assert metrics.score(["best", "good"], grades)["nDCG@10"] == 1
    turned = metrics.score(["good", "best"], grades)
    assert turned["nDCG@10"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)), abs=1e-6)
    assert turned["all@10"] == turned["R@5"] == turned["MRR"] == 1
    assert turned["R@1"] == 0.5


def test_nothing_found_is_nought() -> None:
    assert set(metrics.score([], {"e": 1}).values()) == {0}
    assert set(metrics.score(["x"] * 1, {"e": 1}).values()) == {0}


def test_a_question_without_evidence_is_refused() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        metrics.score(["x"], {"x": 0})


def test_means_and_types() -> None:
    hit, miss = metrics.score(["e"], {"e": 1}), metrics.score(["x"], {"e": 1})

    assert metrics.mean([hit, miss, miss, miss])["MRR"] == 0.25
    kinds = metrics.by_type([("b", hit), ("a", miss), ("b", miss)])
    assert list(kinds) == ["a", "b"]
    assert (kinds["b"]["questions"], kinds["b"]["R@10"]) == (2, 0.5)


def test_percentiles() -> None:
    assert metrics.percentiles([float(n) for n in range(101)]) == {"p50": 50, "p95": 95}
