"""Relevance: what it is made of, and that each piece of evidence counts for what it should."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, idf
from memory.retrieval.question import question
from memory.retrieval.relevance import USUAL_COSINE, Evidence, evidence_of

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
USUAL = Evidence(nearest=0.5, standing=2.0, bm25=8.0, rarest=6.0, familiarity=1.0)

cosines = st.floats(-1, 1)
scores = st.floats(0, 200)


def evidence(values: list[float], bm25: list[float], *, memories: float = 100.0, familiarity: float = 1.0) -> Evidence:
    asked = question("?", vector=np.zeros(3), model_id=1, familiarity=familiarity, now=NOW)
    return evidence_of(asked, np.array(values, dtype=float), np.array(bm25, dtype=float), WordHits([], memories, {}))


def test_evidence_is_the_best_of_the_candidates_and_how_far_it_stands_out():
    found = evidence([0.6, 0.2, 0.2, 0.2], [0.0, 9.0, 3.0, 0.0])

    assert (found.nearest, found.bm25, found.familiarity) == (0.6, 9.0, 1.0)
    assert found.standing == pytest.approx((0.6 - 0.3) / (np.std([0.6, 0.2, 0.2, 0.2]) + 0.03))
    assert found.rarest == pytest.approx(idf(holding=0, memories=100))


def test_without_candidates_nothing_is_relevant():
    found = evidence([], [], memories=0)

    assert (found.nearest, found.standing, found.bm25) == (0.0, 0.0, 0.0)
    assert found.relevance(cosine=0.0, bm25=0.0) < 0.01


def test_words_are_counted_in_words_that_no_other_memory_holds():
    assert USUAL.words(0) == 0
    assert USUAL.words((K1 + 1) * 6.0) == pytest.approx(np.log(2))
    assert USUAL.words(-1.0) == 0


@given(nearest=cosines, own=cosines, standing=st.floats(0, 6), bm25=scores, share=st.floats(0, 1))
def test_relevance_is_a_probability(nearest, own, standing, bm25, share):
    known = Evidence(nearest=nearest, standing=standing, bm25=bm25, rarest=6.0, familiarity=1.0)
    assert 0 <= known.relevance(cosine=min(own, nearest), bm25=share * bm25) <= 1


@given(nearest=cosines, more=st.floats(0.01, 1), own=cosines)
def test_a_nearer_memory_is_more_relevant(nearest, more, own):
    near, nearer = replace(USUAL, nearest=nearest), replace(USUAL, nearest=nearest + more)
    assert near.relevance(cosine=own, bm25=1) < nearer.relevance(cosine=own, bm25=1)
    assert USUAL.relevance(cosine=own, bm25=1) < USUAL.relevance(cosine=own + more, bm25=1)


@given(bm25=scores, more=st.floats(0.5, 50))
def test_more_of_what_is_rare_is_more_relevant(bm25, more):
    assert USUAL.relevance(cosine=0.5, bm25=bm25) < USUAL.relevance(cosine=0.5, bm25=bm25 + more)
    fewer, many = replace(USUAL, bm25=bm25), replace(USUAL, bm25=bm25 + more)
    assert fewer.relevance(cosine=0.5, bm25=0) < many.relevance(cosine=0.5, bm25=0)


@given(best=st.floats(0.1, 0.8), more=st.floats(0.02, 0.19), rest=st.lists(st.floats(0, 0.1), min_size=2, max_size=30))
def test_a_nearer_best_outweighs_that_it_stands_out_more(best, more, rest):
    """Standing out counts against: of many candidates the best always does. Nearness counts for more."""
    near, nearer = evidence([best, *rest], [0.0]), evidence([best + more, *rest], [0.0])
    assert near.relevance(cosine=best, bm25=0) < nearer.relevance(cosine=best + more, bm25=0)


def test_what_the_model_cannot_read_counts_neither_for_nor_against():
    far, near = (replace(USUAL, nearest=nearest, familiarity=0.0) for nearest in (0.05, 0.95))
    usual = replace(USUAL, nearest=USUAL_COSINE)
    for unread in (far, near):
        assert unread.relevance(cosine=0.05, bm25=8) == pytest.approx(usual.relevance(cosine=USUAL_COSINE, bm25=8))
