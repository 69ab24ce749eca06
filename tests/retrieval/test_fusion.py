"""The arithmetic of the ranking."""

from __future__ import annotations

import math
import uuid
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import idf
from memory.retrieval.candidate_features import CandidateFeatures
from memory.retrieval.fusion import (
    ARMS,
    CHANCE,
    SIGNALS,
    Candidate,
    Contribution,
    Ranking,
    beyond_chance,
    dense_weight,
    rank,
    word_evidence,
)
from memory.retrieval.question import Question, Wants
from tests.retrieval.candidates import candidates

EVERYTHING = (*ARMS, *SIGNALS)
NO_WORDS = WordHits([], 0.0, {})
# One of two memories holds the only word, so a best score of 20 is certain evidence.
ONE_WORD = WordHits([], 2.0, {"word": 1})


def identity(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def key(number: int) -> str:
    return str(identity(number))


def asked(*, familiarity: float = 1.0, **wants: bool) -> Question:
    return Question("q", ["word"], np.zeros(1), 1, familiarity, None, Wants(**wants), [], None, None)


def ranked(
    count: int, *, taking_part: Any = ARMS, question: Question | None = None, ranks: Any = None, **arrays: Any
) -> Ranking:
    features = CandidateFeatures([key(number) for number in range(count)], candidates(count, **arrays))
    return rank(question or asked(), features, by_words=ONE_WORD, ranks=ranks or {}, taking_part=taking_part)


def order(ranking: Ranking) -> list[int]:
    return [ranking.candidate(place).memory_id.int for place in range(len(ranking))]


@pytest.mark.parametrize(
    ("familiarity", "evidence", "expected"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 0.5, 1 / 1.3),
        (1.0, 1.0, 1 / 2.2),
        (0.5, 0.0, 0.5),
        (0.5, 1.0, 0.5 / 2.2),
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
    ],
)
def test_words_weigh_as_far_as_they_are_evidence_and_decide_where_meaning_cannot_read(familiarity, evidence, expected):
    assert dense_weight(familiarity, evidence) == pytest.approx(expected)


def test_a_covered_question_is_evidence_the_less_the_more_meaning_recognises():
    # One of 99 memories holds each of the two words, and one memory both.
    counted = WordHits([], 99.0, {"harbour": 1, "crane": 1})
    rare = idf(holding=1, memories=99.0)

    def evidence(best: float, standing_out: float) -> float:
        return word_evidence(["harbour", "crane"], counted, best=best, standing_out=standing_out)

    assert evidence(2 * rare, 0.0) == 1.0
    assert evidence(rare, 0.0) == pytest.approx(1 - 0.5 * math.exp(-0.5))
    assert evidence(2 * rare, 0.5) == pytest.approx(1 - 0.75 * math.exp(-1))
    assert evidence(2 * rare, 1.0) == pytest.approx(1 - math.exp(-1))


def test_a_common_word_of_a_question_that_nothing_else_matches_is_hardly_evidence():
    counted = WordHits([], 500.0, {"green": 40})
    common = idf(holding=40, memories=500.0)
    terms = ["green", "trip", "oslo", "summer"]
    assert word_evidence(terms, counted, best=common, standing_out=0.2) < 0.3
    assert word_evidence(["green"], counted, best=common, standing_out=0.2) > 0.6


def test_many_rare_words_are_evidence_however_long_the_question_is():
    terms = [f"t{number}" for number in range(100)]
    counted = WordHits([], 80.0, dict.fromkeys(terms[:8], 1))
    rare = idf(holding=1, memories=80.0)
    assert word_evidence(terms, counted, best=8 * rare, standing_out=0.3) > 0.97


@pytest.mark.parametrize("counted", [NO_WORDS, WordHits([], 5.0, {})])
def test_without_a_match_words_are_no_evidence(counted):
    assert word_evidence(["anything"], counted, best=0.0, standing_out=0.25) == 0.0
    assert word_evidence([], counted, best=0.0, standing_out=0.25) == 0.0


def test_a_score_is_the_weighted_sum_of_both_arms():
    found = ranked(2, cosine=[0.6, 0.8], bm25=[80.0, 20.0], ranks={"dense": {key(1): 1}, "lexical": {}})

    # Words are certain evidence, so they weigh WORDS and meaning weighs 1.
    meaning, words = 1 / 2.2, 1.2 / 2.2
    assert found.weights == pytest.approx({"dense": meaning, "lexical": words})
    assert order(found) == [0, 1]
    first, second = found.candidate(0), found.candidate(1)
    assert first.parts == {
        "dense": Contribution(0.6, None, pytest.approx(0.75 * meaning)),
        "lexical": Contribution(80.0, None, pytest.approx(words)),
    }
    assert second.parts["dense"] == Contribution(0.8, 1, pytest.approx(meaning))
    assert second.score == pytest.approx(meaning + words / 4)
    assert [found.place_of(identity(number)) for number in (0, 1, 7)] == [0, 1, None]


def test_little_evidence_is_chance_among_notes_and_counts_in_a_conversation():
    assert beyond_chance(CHANCE, talk=0.0) == 0.0
    assert beyond_chance(CHANCE, talk=1.0) == CHANCE
    assert beyond_chance(0.5, talk=0.0) < beyond_chance(0.5, talk=0.5) < beyond_chance(0.5, talk=1.0) == 0.5
    assert beyond_chance(1.0, talk=0.0) == 1.0


@pytest.mark.parametrize(("arm", "expected"), [("dense", [1, 0]), ("lexical", [0, 1])])
def test_a_single_arm_has_the_whole_weight(arm, expected):
    found = ranked(2, taking_part=[arm], cosine=[0.1, 0.9], bm25=[9.0, 1.0], question=asked(familiarity=0.3))
    assert found.weights[arm] == 1.0
    assert order(found) == expected


def test_without_familiarity_meaning_counts_nothing():
    found = ranked(2, cosine=[0.1, 0.9], bm25=[9.0, 1.0], question=asked(familiarity=0.0))
    assert found.weights == {"dense": 0.0, "lexical": 1.0}
    assert order(found) == [0, 1]


def test_no_candidates_leave_nothing():
    found = ranked(0, taking_part=EVERYTHING)
    assert len(found) == 0
    assert found.place_of(identity(0)) is None


def test_equals_come_newest_first():
    assert order(ranked(4, cosine=[0.5, 0.5, 0.9, 0.5])) == [2, 3, 1, 0]


@pytest.mark.parametrize(
    ("name", "arrays", "wants", "expected"),
    [
        ("people", {"named": [True, False]}, {}, [0.27, None]),
        ("role", {"by_agent": [True, False]}, {}, [None, 0.3]),
        ("role", {"by_agent": [True, False]}, {"agent": True}, [0.3, None]),
        ("role", {"by_agent": [True, True]}, {"agent": True}, [None, None]),
        ("time", {"in_span": [False, True]}, {}, [None, 0.5]),
        ("question", {"asks": [True, True], "spoken": [True, False]}, {}, [-0.1, None]),
        ("recency", {}, {"recent": True}, [None, 0.05]),
        ("recency", {}, {}, [None, None]),
        ("importance", {"importance": [1.0, 0.2]}, {}, [0.15, -0.09]),
        ("session", {"session": [0, 1], "cosine": [0.5, 0.0]}, {}, [0.55 / 3, None]),
        ("neighbours", {"cosine": [0.5, 0.0]}, {}, [None, 0.25]),
        ("neighbours", {"cosine": [0.5, 0.0], "voice": [1, 1]}, {}, [None, None]),
        ("answer", {"cosine": [0.5, 0.0], "asks": [True, False]}, {}, [None, 0.22]),
    ],
)
def test_each_signal_gives_its_weight_to_those_that_it_speaks_of(name, arrays, wants, expected):
    given_arrays = {"cosine": [0.5, 0.5]} | arrays
    found = ranked(2, taking_part=["dense", name], question=asked(**wants), **given_arrays)

    by_id = {found.candidate(place).memory_id.int: found.candidate(place).parts for place in range(2)}
    shares = [by_id[number][name].weighted if name in by_id[number] else None for number in range(2)]
    assert shares == [value if value is None else pytest.approx(value) for value in expected]
    assert found.weights.get(name) == (SIGNALS[name] if any(value is not None for value in expected) else None)


def test_a_signal_that_takes_no_part_counts_nothing():
    assert set(ranked(2, cosine=[0.5, 0.4], named=[True, False]).weights) == {"dense", "lexical"}


def test_a_part_more_leaves_the_candidate_as_it_was():
    before = Candidate(str(identity(1)), {"dense": Contribution(0.5, 1, 0.4)})
    after = before.with_part("dated", Contribution(1.0, None, 0.25))
    assert (before.score, after.score) == (0.4, pytest.approx(0.65))
    assert set(before.parts) == {"dense"}


SCORES = st.floats(-1, 1, allow_subnormal=False)
ROW = st.fixed_dictionaries(
    {
        "cosine": SCORES,
        "bm25": st.floats(0, 50, allow_subnormal=False),
        "tokens": st.integers(1, 3000).map(float),
        "session": st.integers(0, 2),
        "occurred": st.integers(0, 9000).map(float),
        "importance": st.floats(0, 1),
        **{name: st.booleans() for name in ("by_agent", "spoken", "named", "asks", "in_span")},
    }
)


@given(
    rows=st.lists(ROW, min_size=1, max_size=15),
    familiarity=st.floats(0, 1),
    agent=st.booleans(),
    recent=st.booleans(),
    taking_part=st.sets(st.sampled_from(EVERYTHING)),
)
def test_shares_sum_to_the_score_by_which_the_order_falls(rows, familiarity, agent, recent, taking_part):
    arrays = {name: [row[name] for row in rows] for name in rows[0]}
    question = asked(familiarity=familiarity, agent=agent, recent=recent)

    found = ranked(len(rows), taking_part={*taking_part, "lexical"}, question=question, **arrays)

    assert sorted(order(found)) == list(range(len(rows)))
    listed = [found.candidate(place) for place in range(len(found))]
    assert all(first.score >= second.score - 1e-9 for first, second in pairwise(listed))
    assert found.weights["dense"] + found.weights["lexical"] == pytest.approx(1)
    for candidate in listed:
        assert set(candidate.parts) <= {*taking_part, *ARMS}
        assert candidate.score == pytest.approx(sum(part.weighted for part in candidate.parts.values()))
        for name, part in candidate.parts.items():
            if name not in ARMS:
                assert part.weighted == pytest.approx(part.raw * found.weights[name])
