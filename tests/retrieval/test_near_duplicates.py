"""Restatements of one statement, and the order by variety."""

from __future__ import annotations

import pytest

from memory.retrieval.near_duplicates import Variety, Words, near_duplicates, nearest


def take_all(hits: list[Words], scores: list[float], *, weight: float) -> list[tuple[int, float]]:
    variety = Variety(weight)
    for place, (words, score) in enumerate(zip(hits, scores, strict=True)):
        variety.add(place, words, score)
    return [taken for _ in hits if (taken := variety.take())]


def test_what_another_speaker_says_is_another_statement():
    assert near_duplicates([Words("Ann", "I moved to Lisbon."), Words("Bob", "I moved to Lisbon.")]) == {}


def test_each_restatement_names_the_first_that_said_it():
    hits = [Words("Ann", text) for text in ("Tea is good.", "The ship sank.", "Tea is good!", " Tea is  good")]
    assert near_duplicates(hits) == {2: 0, 3: 0}
    assert near_duplicates([]) == {}


def test_spread_takes_the_best_that_is_unlike_those_taken():
    # Jaccard: 0 and 1 share three of five words, 2 shares none with either.
    hits = [Words("Ann", text) for text in ("red green blue one", "red green blue two", "ship dock sea port")]

    chosen = take_all(hits, [1.0, 0.95, 0.9], weight=0.1)

    assert [place for place, _ in chosen] == [0, 2, 1]
    assert [cost for _, cost in chosen] == pytest.approx([0.0, 0.0, 0.06])


def test_spread_without_weight_keeps_the_order_and_the_earlier_of_equals():
    hits = [Words("Ann", "red green"), Words("Ann", "red green"), Words("Ann", "blue")]
    assert take_all(hits, [0.5, 0.5, 0.5], weight=0.0) == [(0, 0.0), (1, 0.0), (2, 0.0)]
    assert take_all([], [], weight=0.1) == []


def test_scores_less_costs_never_rise():
    texts = ["a b c", "a b d", "e f g", "a f h", "b c d", "e f"]
    scores = [1.0, 0.99, 0.97, 0.96, 0.95, 0.94]
    chosen = take_all([Words("Ann", text) for text in texts], scores, weight=0.3)
    finals = [scores[place] - cost for place, cost in chosen]
    assert finals == sorted(finals, reverse=True)


def test_the_nearest_is_the_one_with_most_words_in_common():
    said = Words("Ann", "red green blue")
    others = [Words("Bob", "ship"), Words("Ann", "red green"), Words("Ann", "red")]
    assert nearest(said, others) == (1, pytest.approx(2 / 3))
