"""The corpora of the gate: as many and as varied as they are said to be, and no frame in both halves."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

GATE = Path(__file__).resolve().parents[2] / "bench" / "gate"


@pytest.fixture(scope="module")
def samples():
    sys.path.insert(0, str(GATE))
    try:
        from corpus import read_samples

        yield read_samples()
    finally:
        sys.path.remove(str(GATE))


def test_there_are_enough_of_each(samples):
    attacks = [sample for sample in samples if sample.attack]
    harmless = [sample for sample in samples if not sample.attack]

    assert len(attacks) >= 300
    assert len(harmless) >= 600
    assert len({sample.kind for sample in attacks}) >= 12
    for language in ("en", "zh"):
        assert sum(sample.language == language for sample in attacks) >= 100
        assert sum(sample.language == language for sample in harmless) >= 200


def test_no_text_is_there_twice_and_no_frame_is_in_both_halves(samples):
    texts = Counter(sample.text for sample in samples)
    halves = {sample.frame: sample.half for sample in samples}

    assert texts.most_common(1)[0][1] == 1
    assert all(halves[sample.frame] == sample.half for sample in samples)
    counted = Counter(halves.values())
    assert abs(counted["learn"] - counted["report"]) <= 0.1 * len(halves)


def test_slots_are_filled(samples):
    assert all("<<" not in sample.text or "|" not in sample.text.split("<<", 1)[1][:80] for sample in samples)
