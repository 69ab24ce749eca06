"""Learning weights, with questions whose best weights are known."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def listwise() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_listwise", BENCH / "listwise.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(listwise: ModuleType):
    """Make questions with 20 candidates; the evidence has the highest sum of features × `truth` plus noise."""

    def make(truth: list[float], *, count: int = 150, seed: int = 1) -> list:
        chance = np.random.default_rng(seed)
        asked = []
        for number in range(count):
            features = chance.random((20, len(truth)))
            scores = features @ truth + chance.gumbel(0, 0.1, 20)
            asked.append(listwise.Asked(features, scores == scores.max(), 1, f"group {number % 7}"))
        return asked

    return make


def test_it_finds_the_weights_that_made_the_evidence(listwise, drawn) -> None:
    learned = listwise.fit([drawn([1.0, 0.5, -0.3, 0.0], count=600)])
    assert learned / learned[0] == pytest.approx([1.0, 0.5, -0.3, 0.0], abs=0.1)
    # Gumbel noise of scale 0.1 is a softmax of that temperature.
    assert 1 / learned[0] == pytest.approx(0.1, abs=0.03)


def test_it_is_the_same_each_time(listwise, drawn) -> None:
    asked = drawn([1.0, 0.5])
    assert listwise.fit([asked], steps=50).tolist() == listwise.fit([asked], steps=50).tolist()


def test_a_small_set_counts_as_much_as_a_large_one(listwise, drawn) -> None:
    words, meaning = drawn([1.0, 0.0], count=300), drawn([0.0, 1.0], count=30, seed=2)
    learned = listwise.fit([words, meaning])
    together = listwise.fit([[*words, *meaning]])
    assert learned[1] / learned[0] == pytest.approx(1.0, abs=0.35)
    assert together[1] / together[0] < 0.4


def test_a_feature_that_says_nothing_gets_no_weight(listwise) -> None:
    chance = np.random.default_rng(3)
    features = np.concatenate([chance.random((40, 10, 1)), np.zeros((40, 10, 1))], axis=2)
    asked = [listwise.Asked(one, one[:, 0] == one[:, 0].max(), 1, "g") for one in features]
    learned = listwise.fit([asked])
    assert learned[0] > 1
    assert learned[1] == 0.0


def test_questions_that_teach_nothing_are_left_out(listwise, drawn) -> None:
    asked = drawn([1.0, 0.5])
    lost = listwise.Asked(np.ones((4, 2)), np.zeros(4, dtype=bool), 2, "g")
    only = listwise.Asked(np.ones((4, 2)), np.ones(4, dtype=bool), 4, "g")
    assert listwise.fit([[*asked, lost, only]], steps=20).tolist() == listwise.fit([asked], steps=20).tolist()
    with pytest.raises(ValueError, match="nothing can be learned"):
        listwise.fit([[lost, only]])


def test_evidence_is_never_cut_off_the_list(listwise) -> None:
    features = np.linspace(1, 0, 400)[:, None]
    relevant = np.arange(400) >= 395
    learned = listwise.fit([[listwise.Asked(features, relevant, 5, "g")]])
    assert learned[0] < 0


def test_groups_stay_together_where_there_are_enough(listwise, drawn) -> None:
    asked = drawn([1.0])
    fold = listwise.folds(asked, count=5, seed=20)
    assert set(fold) == set(range(5))
    for group in {one.group for one in asked}:
        assert len({int(own) for own, one in zip(fold, asked, strict=True) if one.group == group}) == 1
    by_question = listwise.folds(asked, count=10, seed=20)
    assert sorted(np.bincount(by_question)) == [15] * 10


def test_quality_counts_evidence_that_is_no_candidate_as_not_found(listwise) -> None:
    relevant = np.zeros(30, dtype=bool)
    relevant[[1, 20]] = True
    one = listwise.Asked(np.zeros((30, 1)), relevant, 4, "g")
    assert listwise.quality(one, -np.arange(30.0)) == (0.25, 0.5)
    assert listwise.quality(one, np.zeros(30)) == (0.25, 0.5)
    assert listwise.quality(one, np.where(np.arange(30) == 20, 1.0, 0.0)) == (0.5, 1.0)
    none = listwise.Asked(np.zeros((3, 1)), np.zeros(3, dtype=bool), 1, "g")
    assert listwise.quality(none, np.zeros(3)) == (0.0, 0.0)
