"""The arithmetic of bench/relevance.py: fitting, ranking and drawing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def reliability() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_reliability", BENCH / "reliability.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_fit_finds_the_chances_that_made_the_labels(reliability):
    draws = np.random.default_rng(1)
    features = draws.normal(size=(20_000, 2)) * [1, 5] + [3, 0]
    chance = 1 / (1 + np.exp(-(-2 + 1.5 * features[:, 0] - 0.2 * features[:, 1])))
    found = reliability.fit_logistic(features, draws.random(20_000) < chance, np.ones(20_000))
    assert found == pytest.approx([-2, 1.5, -0.2], abs=0.15)


def test_rows_without_weight_teach_nothing(reliability):
    features, wanted = np.array([[0.0], [1.0], [0.2], [0.9], [5.0]]), np.array([0, 1, 1, 0, 1], dtype=bool)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    assert reliability.fit_logistic(features, wanted, weights) == pytest.approx(
        reliability.fit_logistic(features[:4], wanted[:4], weights[:4])
    )


@pytest.mark.parametrize(
    ("high", "low", "area"), [([3, 4], [1, 2], 1.0), ([1], [2], 0.0), ([1, 2], [1, 2], 0.5), ([2], [1, 2, 3], 0.5)]
)
def test_the_area_counts_pairs_and_halves_of_equal_ones(reliability, high, low, area):
    assert reliability.rank_area(np.array(high), np.array(low)) == pytest.approx(area)


def test_the_area_of_nothing_is_no_number(reliability):
    assert np.isnan(reliability.rank_area(np.array([]), np.array([1.0])))


def test_the_curve_is_an_image_with_a_dot_for_each_point(reliability):
    root = ElementTree.fromstring(reliability.draw([(0.1, 0.2), (0.9, 0.8)]))
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 2
