"""Relevance: its features, and the direction in which each of them counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy_values import RELEVANCE_FLOOR
from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, idf
from memory.retrieval.question import question
from memory.retrieval.relevance import (
    HARDLY_RELEVANT,
    HIT_WEIGHTS,
    MOST_MEMORIES,
    NAME_COSINE,
    OWN,
    USUAL_COSINE,
    WEIGHTS,
    AnswerEvidence,
    HitEvidence,
    evidence_of,
)
from memory.text.question_frames import take_out_names
from tests.retrieval.candidates import candidates

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
USUAL = AnswerEvidence(
    nearest=0.5, mean=0.2, bm25=8.0, asked=20.0, rarest=6.0, memories=100, familiarity=1.0, ahead=0.2
)

cosines = st.floats(-1, 1)
scores = st.floats(0, 200)


def evidence(
    values: list[float],
    bm25: list[float],
    *,
    text: str = "?",
    memories: float = 100.0,
    holding: dict[str, int] | None = None,
    familiarity: float = 1.0,
) -> AnswerEvidence:
    asked = question(text, vector=np.zeros(3), model_id=1, familiarity=familiarity, now=NOW)
    by_words = WordHits([], memories, holding or {})
    return evidence_of(asked, candidates(len(values), cosine=values, bm25=bm25), by_words, ahead=0.0)


def answering(known: AnswerEvidence, *, cosine: float, bm25: float) -> float:
    return known.answerability([HitEvidence(cosine, bm25, False, 1.0)], is_calibrated=False)


def test_evidence_is_the_best_of_the_candidates_and_their_mean():
    found = evidence([0.6, 0.2, 0.2, 0.2], [0.0, 9.0, 3.0, 0.0])

    assert (found.nearest, found.mean, found.bm25) == (0.6, pytest.approx(0.3), 9.0)
    assert (found.memories, found.familiarity) == (100, 1.0)
    assert found.rarest == pytest.approx(idf(holding=0, memories=100))


def test_what_is_asked_is_worth_what_its_words_are_worth_there():
    found = evidence([0.6], [1.0], text="Which kiln is hotter?", holding={"kiln": 7})

    # The words "Which" and "is" are not terms.
    assert found.asked == pytest.approx(idf(holding=7, memories=100) + idf(holding=0, memories=100))


def test_without_candidates_nothing_is_relevant():
    found = evidence([], [], memories=0)

    assert (found.nearest, found.mean, found.bm25, found.asked) == (0.0, 0.0, 0.0, 0.0)
    assert answering(found, cosine=0.0, bm25=0.0) < RELEVANCE_FLOOR


def test_words_are_counted_in_words_that_no_other_memory_holds():
    assert USUAL.words(0) == 0
    assert USUAL.words((K1 + 1) * 6.0) == pytest.approx(np.log(2))
    assert USUAL.words(-1.0) == 0


@given(nearest=cosines, own=cosines, mean=cosines, bm25=scores, share=st.floats(0, 1), memories=st.floats(0, 1e7))
def test_relevance_is_a_probability(nearest, own, mean, bm25, share, memories):
    known = replace(USUAL, nearest=nearest, mean=min(mean, nearest), bm25=bm25, memories=memories)
    assert 0 <= answering(known, cosine=min(own, nearest), bm25=share * bm25) <= 1


@given(nearest=cosines, more=st.floats(0.01, 1), own=cosines)
def test_a_nearer_memory_is_more_relevant(nearest, more, own):
    near, nearer = replace(USUAL, nearest=nearest), replace(USUAL, nearest=nearest + more)
    assert answering(near, cosine=own, bm25=1) < answering(nearer, cosine=own, bm25=1)
    assert answering(USUAL, cosine=own, bm25=1) < answering(USUAL, cosine=own + more, bm25=1)


@given(bm25=scores, more=st.floats(0.5, 50))
def test_more_of_what_is_rare_is_more_relevant(bm25, more):
    assert answering(USUAL, cosine=0.5, bm25=bm25) < answering(USUAL, cosine=0.5, bm25=bm25 + more)
    fewer, many = replace(USUAL, bm25=bm25), replace(USUAL, bm25=bm25 + more)
    assert answering(fewer, cosine=0.5, bm25=0) < answering(many, cosine=0.5, bm25=0)


@given(
    best=st.floats(0.1, 0.8), more=st.floats(0.001, 0.19), rest=st.lists(st.floats(-0.1, 0.1), min_size=0, max_size=30)
)
def test_a_nearer_best_outweighs_that_it_leads_by_more(best, more, rest):
    """A lead counts against relevance, because the best of many candidates always has one; nearness outweighs it."""
    near, nearer = evidence([best, *rest], [0.0]), evidence([best + more, *rest], [0.0])
    assert answering(near, cosine=best, bm25=0) < answering(nearer, cosine=best + more, bm25=0)


def test_the_same_evidence_is_worth_more_among_few_memories_and_for_a_short_question():
    few, many = replace(USUAL, memories=1), replace(USUAL, memories=MOST_MEMORIES)
    few, usual, many = (answering(known, cosine=0.5, bm25=8) for known in (few, USUAL, many))
    assert few > usual > many
    short, long = replace(USUAL, asked=10.0), replace(USUAL, asked=100.0)
    assert answering(short, cosine=0.5, bm25=8) > answering(long, cosine=0.5, bm25=8)


def test_more_memories_than_were_learned_from_count_as_so_many():
    most, more = replace(USUAL, memories=MOST_MEMORIES), replace(USUAL, memories=1_000_000)
    assert answering(most, cosine=0.5, bm25=8) == answering(more, cosine=0.5, bm25=8)


def test_a_hit_is_believed_mostly_for_what_the_best_shows():
    best, lesser = USUAL.features(cosine=0.5, bm25=8), USUAL.features(cosine=0.1, bm25=8)

    assert len(best) == len(WEIGHTS)
    assert best[0] - lesser[0] == pytest.approx(OWN * 0.4)


def test_what_the_model_cannot_read_is_believed_for_its_words_alone():
    far, near = (replace(USUAL, nearest=nearest, bm25=12, familiarity=0.0) for nearest in (0.05, 0.95))
    usual = replace(USUAL, nearest=USUAL_COSINE, mean=USUAL_COSINE, bm25=12)
    for unread in (far, near):
        most_words, few_words = (answering(unread, cosine=0.05, bm25=bm25) for bm25 in (12, 2))
        assert most_words == pytest.approx(answering(usual, cosine=USUAL_COSINE, bm25=12))
        assert few_words < answering(usual, cosine=USUAL_COSINE, bm25=2)


def test_nothing_near_and_no_word_in_common_is_no_answer():
    nothing = replace(USUAL, nearest=0.14, mean=0.1, bm25=0.0, memories=2)
    hit = [HitEvidence(0.14, 0.0, False, 1.0)]

    assert nothing.answerability(hit, is_calibrated=True) == 0
    assert replace(nothing, bm25=1.0).answerability(hit, is_calibrated=True) > 0
    assert replace(nothing, nearest=0.3).answerability(hit, is_calibrated=True) > 0


hits = st.lists(
    st.builds(HitEvidence, cosine=cosines, bm25=scores, is_named=st.booleans(), score=st.floats(-1, 5)),
    max_size=20,
)


@given(found=hits, first=st.integers(0, 20), is_calibrated=st.booleans())
def test_relevance_never_rises_and_is_the_same_however_many_are_asked_for(found, first, is_calibrated):
    whole = USUAL.relevance_of(found, is_calibrated=is_calibrated)

    assert USUAL.relevance_of(found[:first], is_calibrated=is_calibrated) == whole[:first]
    assert whole == sorted(whole, reverse=True)
    assert all(0 <= value <= 1 for value in whole)


def test_each_hit_has_a_relevance_of_its_own():
    near, far = HitEvidence(0.5, 8.0, False, 1.5), HitEvidence(0.1, 0.0, False, 0.7)

    [first, second] = USUAL.relevance_of([near, far], is_calibrated=True)
    [answer, same_answer] = USUAL.relevance_of([near, far], is_calibrated=False)

    assert len(USUAL.features_of_all()) + len(USUAL.own_features(1, near, near)) == len(HIT_WEIGHTS)
    assert first > 4 * second
    assert same_answer > answer / 2


def test_of_a_model_that_was_not_measured_a_hit_says_what_it_says_of_the_answer():
    near, far = HitEvidence(0.5, 8.0, False, 1.5), HitEvidence(0.1, 0.0, False, 0.7)

    assert USUAL.relevance_of([near, far], is_calibrated=False) == [
        answering(USUAL, cosine=hit.cosine, bm25=hit.bm25) for hit in (near, far)
    ]
    assert USUAL.answerability([far, near], is_calibrated=False) == answering(USUAL, cosine=0.5, bm25=8.0)
    assert USUAL.answerability([], is_calibrated=True) == 0


def test_what_a_speaker_says_counts_as_near_to_a_question_with_the_name_in_it():
    def take_out(names, vector):
        assert names == ["tom"]
        return take_out_names(np.array([[1.0, 0.0, 0.0]], dtype=np.float32), vector)

    asked = question(
        "?",
        vector=np.array([0.6, 0.8, 0.0], dtype=np.float32),
        model_id=1,
        familiarity=1.0,
        now=NOW,
        take_out_speakers=take_out,
    ).naming(frozenset({"tom"}))
    known = candidates(2, cosine=[0.5, 0.5], bm25=[0.0, 0.0], named=[True, False])

    assert asked.vector.tolist() == pytest.approx([0.0, 1.0, 0.0])
    found = evidence_of(asked, known, WordHits([], 9.0, {}), ahead=0.0)

    assert found.kept == pytest.approx(0.8)
    assert found.nearest == pytest.approx(0.8 * 0.5 + 0.6 * NAME_COSINE)
    others, own = (HitEvidence(0.5, 0.0, is_named, 1.0) for is_named in (False, True))
    assert found.answerability([own], is_calibrated=True) > found.answerability([others], is_calibrated=True)


def test_a_question_whose_best_hit_is_hardly_relevant_is_not_answered():
    near = HitEvidence(0.5, 8.0, False, 1.5)
    # All memories resemble the question equally: the first hit is behind none, but neither near nor matching its words.
    vague = replace(USUAL, nearest=0.3, mean=0.05, bm25=1.0, ahead=0.0)
    hit = HitEvidence(0.05, 0.0, False, 1.0)
    [relevance] = vague.relevance_of([hit], is_calibrated=True)

    assert relevance < HARDLY_RELEVANT
    assert vague.answerability([hit], is_calibrated=True) <= relevance / 2
    assert USUAL.answerability([near], is_calibrated=True) == USUAL.answerability([near], is_calibrated=False)
