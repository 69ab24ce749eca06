"""Each signal, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from memory.retrieval import signals
from tests.retrieval.candidates import candidates

# Twice the length of a passage, so the correction for chance is that of log 2.
LONG = 2 * signals.PASSAGE_TOKENS


def test_meaning_is_the_cosine_over_the_best_and_an_opposite_is_no_relation():
    assert signals.by_meaning(candidates(3, cosine=[0.4, 0.8, -0.5])).tolist() == pytest.approx([0.5, 1.0, 0.0])


def test_a_best_cosine_that_means_nothing_is_not_stretched_to_one():
    assert signals.by_meaning(candidates(2, cosine=[0.1, 0.05])).tolist() == pytest.approx([0.5, 0.25])
    assert signals.by_meaning(candidates(2, cosine=[0.2, 0.1])).tolist() == pytest.approx([1.0, 0.5])


def test_a_long_memory_gives_back_what_chance_gave_it():
    values = signals.by_meaning(candidates(2, cosine=[0.5, 0.5], tokens=[10.0, LONG]))
    assert values.tolist() == pytest.approx([1.0, (0.5 - 0.06 * math.log(2)) / 0.5])
    # Nothing is subtracted up to the length of a passage.
    assert signals.by_meaning(candidates(2, cosine=[0.5, 0.5], tokens=[1.0, 75.0])).tolist() == [1.0, 1.0]


def test_words_are_the_bm25_over_the_best_less_what_length_gave():
    assert signals.by_words(candidates(3, bm25=[6.0, 3.0, 0.0])).tolist() == pytest.approx([1.0, 0.5, 0.0])
    long = signals.by_words(candidates(3, bm25=[4.0, 4.0, 0.0], tokens=[10.0, LONG, LONG]))
    assert long.tolist() == pytest.approx([1.0, 1 - signals.LENGTH_LEXICAL * math.log(2), 0.0])


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [-0.2, -0.1]])
def test_arms_without_a_relation_give_nothing(values):
    found = candidates(len(values), cosine=values, bm25=np.maximum(values, 0.0))
    assert not signals.by_meaning(found).any()
    assert not signals.by_words(found).any()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.4] * 9 + [1.0], 0.6),
        ([0.5] * 10 + [0.1], 0.0),
        ([0.0, 1.0] + [0.4] * 9, 0.6),
        ([], signals.USUAL_GAP),
        ([0.7], signals.USUAL_GAP),
        ([1.0] + [0.0] * 8, signals.USUAL_GAP),
    ],
)
def test_standing_out_is_the_lead_over_the_tenth_and_the_usual_one_where_there_is_none(scores, expected):
    assert signals.prominence(np.array(scores)) == pytest.approx(expected)


def test_a_neighbour_lends_what_exceeds_the_floor_and_less_from_two_turns_away():
    around, answered = signals.neighbours(candidates(5), np.array([0.0, 0.0, 1.0, 0.0, 0.0]))
    assert around.tolist() == pytest.approx([0.7, 1.0, 0.0, 1.0, 0.7])
    assert not answered.any()
    assert not signals.neighbours(candidates(3), np.array([0.0, signals.LENDING_FLOOR, 0.0]))[0].any()
    half = signals.neighbours(candidates(2), np.array([0.7, 0.0]))[0]
    assert half.tolist() == pytest.approx([0.0, 0.5])


def test_what_two_neighbours_lend_adds_up():
    around, _ = signals.neighbours(candidates(3), np.array([1.0, 0.0, 0.7]))
    assert around.tolist() == pytest.approx([0.7 * 0.5, 1.5, 0.7])


def test_only_the_turn_after_a_question_may_answer_it():
    found = candidates(3, asks=[False, True, False])
    _, answered = signals.neighbours(found, np.array([0.0, 1.0, 0.0]))
    assert answered.tolist() == pytest.approx([0.0, 0.0, 1.0])


def test_other_sessions_and_turns_after_a_long_pause_are_no_neighbours():
    score = np.array([1.0, 0.0])
    assert not signals.neighbours(candidates(2, session=[0, 1]), score)[0].any()
    assert signals.neighbours(candidates(2, occurred=[0.0, 3600.0]), score)[0][1] == pytest.approx(1.0)
    assert not signals.neighbours(candidates(2, occurred=[0.0, 3601.0]), score)[0].any()
    assert not signals.neighbours(candidates(2, pairs=np.zeros((0, 3), int)), score)[0].any()


@pytest.mark.parametrize(
    ("voices", "expected"),
    [
        ([0, 1, 0, 1], 1.0),
        ([0, 0, 0, 1], 1.0),
        ([0] * 9 + [1], 0.4),
        ([0, 1, 2, 3], 1.0),
        ([0, 0, 0, 0], 0.0),
        ([5], 0.0),
    ],
)
def test_a_session_is_a_conversation_as_far_as_others_speak_in_it(voices, expected):
    found = signals.conversation(candidates(len(voices), voice=voices))
    assert found.tolist() == pytest.approx([expected] * len(voices))


@pytest.mark.parametrize(
    ("voices", "expected"), [([0, 0, 0], 0.0), ([0] * 7 + [1], 0.5), ([0, 0, 0, 1], 1.0), ([0, 1], 1.0)]
)
def test_candidates_are_talk_as_far_as_others_speak_among_them(voices, expected):
    assert signals.talk(candidates(len(voices), voice=voices, session=range(len(voices)))) == pytest.approx(expected)
    assert signals.talk(candidates(0)) == 0.0


def test_each_session_is_a_conversation_of_its_own():
    found = candidates(6, session=[0, 1, 0, 1, 2, 2], voice=[0, 0, 1, 0, 1, 1])
    assert signals.conversation(found).tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert signals.conversation(candidates(0)).tolist() == []


def test_notes_of_one_person_lend_each_other_nothing():
    notes = candidates(3, voice=[0, 0, 0], asks=[False, True, False])
    around, answered = signals.neighbours(notes, np.array([0.0, 1.0, 0.0]))
    assert not around.any()
    assert not answered.any()


def test_long_turns_lend_and_borrow_less():
    faded = math.exp(-1)
    lending = signals.neighbours(candidates(2, tokens=[140.0, 10.0]), np.array([1.0, 0.0]))[0]
    borrowing = signals.neighbours(candidates(2, tokens=[10.0, 140.0]), np.array([1.0, 0.0]))[0]
    assert lending[1] == pytest.approx(faded)
    assert borrowing[1] == pytest.approx(faded)


def test_a_session_has_the_mean_of_its_three_best_over_the_worst_session():
    found = candidates(5, session=[0, 0, 0, 0, 1])
    values = signals.session(found, np.array([0.9, 0.6, 0.1, 0.3, 0.6]))
    assert values.tolist() == pytest.approx([0.4, 0.4, 0.4, 0.4, 0.0])


def test_where_there_is_one_session_it_says_nothing():
    assert not signals.session(candidates(3), np.array([0.9, 0.6, 0.1])).any()
    assert signals.session(candidates(0), np.zeros(0)).tolist() == []


def test_recency_is_the_place_by_time_alike_for_one_moment():
    assert signals.recency(candidates(4, occurred=[50.0, 10.0, 50.0, 20.0])).tolist() == pytest.approx([1, 0, 1, 0.5])
    assert signals.recency(candidates(2, occurred=[5.0, 5.0])).tolist() == [0.0, 0.0]
