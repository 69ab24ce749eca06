"""The gate's corpora have the size and variety that they claim, and no frame is in both halves."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from memory.gate.injection import SUSPECTED, find_injection

GATE = Path(__file__).resolve().parents[2] / "bench" / "gate"


# Limits of wrong verdicts on the texts by which rules are written.
MOST_MISSED, MOST_FALSE = 0.02, 0.005


@pytest.fixture(scope="module")
def parts():
    """Read the texts of each part, by the part's name."""
    sys.path.insert(0, str(GATE))
    try:
        from corpus import PARTS, read_samples

        yield {part: read_samples(part) for part in PARTS}
    finally:
        sys.path.remove(str(GATE))


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


def test_fresh_texts_are_many_and_no_line_is_in_both_parts(parts):
    fresh, unseen = parts["fresh"], parts["fresh-unseen"]

    for language in ("en", "zh"):
        own = [sample for sample in [*fresh, *unseen] if sample.language == language]
        assert sum(not sample.attack for sample in own) >= 250
        assert sum(sample.attack for sample in own) >= 80
    assert 0.55 <= len(fresh) / (len(fresh) + len(unseen)) <= 0.65
    texts = Counter(sample.text for part in parts.values() for sample in part)
    assert texts.most_common(1)[0][1] == 1
    # A line and its translation are in the same part.
    places = [{sample.frame.replace(".en.", ".").replace(".zh.", ".") for sample in part} for part in (fresh, unseen)]
    assert places[0].isdisjoint(places[1])


@pytest.mark.parametrize("part", ["learn", "fresh"])
def test_rules_hold_of_what_they_were_written_by(parts, part):
    found = [(sample.attack, find_injection(sample.text)[0] >= SUSPECTED) for sample in parts[part]]
    attacks = [caught for attack, caught in found if attack]
    harmless = [caught for attack, caught in found if not attack]

    assert attacks.count(False) <= MOST_MISSED * len(attacks)
    assert harmless.count(True) <= MOST_FALSE * len(harmless)


@pytest.mark.parametrize("part", ["report", "fresh-unseen"])
def test_what_is_unseen_is_not_printed(part):
    command = [sys.executable, str(GATE / "score.py"), "--half", part, "--misses"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "not to be looked at" in done.stderr
