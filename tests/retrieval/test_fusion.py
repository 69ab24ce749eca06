"""The arithmetic of the ranking."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.arms import ArmHit
from memory.retrieval.explain import METHOD, explain, reason
from memory.retrieval.fusion import Candidate, Part, fuse, weights_for
from memory.retrieval.pipeline import Hit

A, B, C, D = (uuid.UUID(int=number) for number in range(1, 5))
EVEN = {"dense": 0.5, "lexical": 0.5}


def ranked(candidates: list[Candidate]) -> list[uuid.UUID]:
    return [candidate.memory_id for candidate in candidates]


@pytest.mark.parametrize(("familiarity", "dense", "lexical"), [(1.0, 0.5, 0.5), (0.0, 0.0, 1.0), (0.5, 0.25, 0.75)])
def test_words_decide_where_the_model_reads_badly(familiarity: float, dense: float, lexical: float) -> None:
    assert weights_for(familiarity) == {"dense": dense, "lexical": lexical}


def test_each_arm_is_scaled_to_its_best_and_weighted() -> None:
    found = {
        "dense": [ArmHit(A, 0.8, 1), ArmHit(B, 0.4, 2), ArmHit(C, -0.2, 3)],
        "lexical": [ArmHit(B, 10.0, 1), ArmHit(C, 5.0, 2)],
    }

    candidates, considered = fuse(found, EVEN, limit=10)

    assert considered == 3
    assert ranked(candidates) == [B, A, C]
    assert [candidate.score for candidate in candidates] == pytest.approx([0.75, 0.5, 0.25])
    best = candidates[0].parts
    assert best["dense"] == Part(0.4, 2, pytest.approx(0.25))
    assert best["lexical"] == Part(10.0, 1, pytest.approx(0.5))
    # An opposite meaning is no relation: it takes nothing away.
    assert candidates[2].parts["dense"] == Part(-0.2, 3, 0.0)


def test_a_memory_that_both_like_passes_one_that_a_single_arm_loves() -> None:
    found = {
        "dense": [ArmHit(A, 1.0, 1), ArmHit(C, 0.9, 2)],
        "lexical": [ArmHit(B, 1.0, 1), ArmHit(C, 0.9, 2)],
    }
    assert ranked(fuse(found, EVEN, limit=1)[0]) == [C]


def test_without_familiarity_meaning_counts_nothing() -> None:
    found = {"dense": [ArmHit(A, 0.9, 1), ArmHit(B, 0.1, 2)], "lexical": [ArmHit(B, 2.0, 1)]}

    candidates, considered = fuse(found, weights_for(0.0), limit=10)

    assert ranked(candidates) == [B, A]
    assert [candidate.score for candidate in candidates] == [1.0, 0.0]
    assert considered == 2


@pytest.mark.parametrize("found", [{}, {"dense": [], "lexical": []}])
def test_arms_that_find_nothing_leave_nothing(found: dict[str, list[ArmHit]]) -> None:
    assert fuse(found, EVEN, limit=10) == ([], 0)


def test_one_empty_arm_leaves_the_other_its_order() -> None:
    found = {"dense": [ArmHit(A, 0.5, 1), ArmHit(B, 0.25, 2)], "lexical": []}
    candidates, _ = fuse(found, EVEN, limit=10)
    assert [(entry.memory_id, entry.score) for entry in candidates] == [(A, 0.5), (B, 0.25)]


def test_scores_of_zero_and_below_divide_by_nothing() -> None:
    found = {"dense": [ArmHit(A, -0.1, 1)], "lexical": [ArmHit(B, 0.0, 1)]}
    candidates, _ = fuse(found, EVEN, limit=10)
    assert [candidate.score for candidate in candidates] == [0.0, 0.0]


def test_equals_come_newest_first_and_the_limit_cuts_the_oldest() -> None:
    found = {"dense": [ArmHit(identity, 0.5, rank) for rank, identity in enumerate((B, D, A, C), start=1)]}
    candidates, considered = fuse(found, EVEN, limit=3)
    assert ranked(candidates) == [D, C, B]
    assert considered == 4


HITS = st.dictionaries(st.integers(0, 20), st.floats(-1, 50, allow_subnormal=False), max_size=15)


@given(dense=HITS, lexical=HITS, familiarity=st.floats(0, 1), limit=st.integers(1, 10))
def test_shares_sum_to_the_score_scores_fall_and_none_passes_one(dense, lexical, familiarity, limit) -> None:
    found = {
        arm: [ArmHit(uuid.UUID(int=number), score, None) for number, score in scores.items()]
        for arm, scores in (("dense", dense), ("lexical", lexical))
    }

    candidates, considered = fuse(found, weights_for(familiarity), limit=limit)

    assert considered == len({*dense, *lexical})
    assert len(candidates) == min(limit, considered)
    places = [(candidate.score, candidate.memory_id) for candidate in candidates]
    assert all(first[0] >= second[0] - 1e-12 for first, second in pairwise(places))
    for candidate in candidates:
        assert candidate.score == pytest.approx(sum(part.weighted for part in candidate.parts.values()))
        assert 0 <= candidate.score <= 1 + 1e-9
        assert set(candidate.parts) == {
            arm for arm, hits in found.items() if candidate.memory_id in {h[0] for h in hits}
        }


def hit(parts: dict[str, Part]) -> Hit:
    now = datetime(2026, 5, 8, tzinfo=UTC)
    rest: dict[str, Any] = {"similarity": 0.0, "overlap": 0.0, "rank": 1, "candidate": Candidate(A, parts)}
    return Hit(A, "s1", 1, "user", "", "text", {}, "L2", now, now, 0.5, 1, **rest)


def test_an_explanation_takes_the_score_apart() -> None:
    found = hit({"dense": Part(0.81, 2, 0.4), "lexical": Part(3.5, 1, 0.5)})

    explanation = explain(found, EVEN)

    assert explanation["method"] == METHOD
    components = explanation["components"]
    assert components["id"] == str(A)
    assert components["final"] == pytest.approx(0.9)
    assert components["arms"]["dense"] == {"raw": 0.81, "rank": 2, "weight": 0.5, "weighted": 0.4}
    assert components["reason"] == "Found by meaning (place 2) and by its words (place 1)."


def test_an_arm_that_did_not_find_it_says_so() -> None:
    components = explain(hit({"lexical": Part(3.5, 1, 0.5)}), EVEN)["components"]
    assert components["arms"]["dense"] == {"raw": None, "rank": None, "weight": 0.5, "weighted": 0.0}
    assert components["reason"] == "Found by its words (place 1)."


def test_an_arm_that_was_only_asked_to_score_is_no_finder() -> None:
    assert reason(hit({"dense": Part(0.2, None, 0.1), "lexical": Part(3.5, 4, 0.5)})) == "Found by its words (place 4)."
