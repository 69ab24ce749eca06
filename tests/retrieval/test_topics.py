"""Topics of a session: joining and splitting."""

from __future__ import annotations

import numpy as np

from memory.retrieval.topics import LARGEST, SessionTopics, split

DIMENSIONS = 48


def around(*centres: int, each: int, seed: int = 1) -> np.ndarray:
    """Return `each` vectors of length 1 near each of the axes `centres`."""
    draw = np.random.default_rng(seed)
    vectors = np.concatenate([np.eye(DIMENSIONS)[[centre] * each] for centre in centres])
    vectors += 0.06 * draw.standard_normal(vectors.shape)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def none() -> SessionTopics:
    return SessionTopics(np.zeros((0, DIMENSIONS)), np.zeros(0, int))


def test_what_is_near_is_one_topic_whatever_comes_between():
    kiln, ferry = around(0, each=10), around(7, each=10, seed=2)
    mixed = np.stack([kiln, ferry], axis=1).reshape(20, -1)
    topics = none()
    assert topics.place(mixed, np.zeros_like(mixed)) == [0, 1] * 10
    assert topics.sizes.tolist() == [10, 10]


def test_a_batch_goes_on_where_the_one_before_ended():
    vectors = around(0, 7, 3, each=12)
    whole, parts = none(), none()
    expected = whole.place(vectors, np.zeros_like(vectors))
    placed = parts.place(vectors[:20], np.zeros((20, DIMENSIONS)))
    means = np.stack([vectors[:20][[one == topic for one in placed]].mean(axis=0) for topic in sorted(set(placed))])
    later = SessionTopics(means, np.bincount(placed))
    assert placed + later.place(vectors[20:], np.zeros((16, DIMENSIONS))) == expected


def test_a_turn_that_says_little_goes_with_the_turn_before_it():
    kiln = around(0, each=10)
    [little] = around(30, each=1)
    little = little + 0.55 * kiln[0]
    little /= np.linalg.norm(little)
    alone, together = none(), none()
    vectors = np.concatenate([kiln, around(7, each=10, seed=2), little[None]])
    before = np.zeros_like(vectors)
    assert alone.place(vectors, before)[-1] == 2
    before[-1] = kiln[0]
    assert together.place(vectors, before)[-1] == 0


def test_vectors_that_are_all_the_same_are_one_topic():
    same = np.repeat(around(0, each=1), 60, axis=0)
    topics = none()
    assert set(topics.place(same, same)) == {0}
    assert [len(part) for part in split(same)] == [60]


def test_topics_that_say_the_same_are_found_but_not_beyond_the_largest():
    topics = SessionTopics(around(0, 0, 7, each=1), np.array([10, 12, 10]))
    assert topics.find_same(0) == 1
    topics.join(0, 1)
    assert topics.sizes.tolist() == [0, 22, 10]
    assert topics.find_same(1) is None
    full = SessionTopics(around(0, 0, each=1), np.array([LARGEST, 1]))
    assert full.find_same(1) is None


def test_a_large_topic_falls_into_its_parts_each_row_once():
    vectors = around(0, 7, 3, each=30)
    parts = split(vectors)
    assert sorted(row for part in parts for row in part.tolist()) == list(range(90))
    assert all(len(part) <= LARGEST for part in parts)
    assert {frozenset(part // 30) for part in parts} == {frozenset({0}), frozenset({1}), frozenset({2})}
