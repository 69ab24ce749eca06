"""Groups the memories of a session into topics, one after the other as they come: leader clustering (Hartigan 1975).

A memory joins the topic whose mean it is nearest to, or begins one of its own when none is near enough. What is near
depends on the model: the mean similarity of any two memories of the session is where nothing is alike, 1 where all is.
A turn is placed together with the turn before it, for a short one ("Yes, on Tuesday.") says little alone. No random
choice, and what is placed stays where it is until its topic is split or joined to another.
"""

from __future__ import annotations

import numpy as np

from memory.retrieval import kmeans

# From the mean similarity on, so much of the way to 1 is near enough to join a topic.
NEAR_SHARE = 0.3
# Two topics this near are one.
SAME_SHARE = 0.65
# What the turn before counts beside the turn itself.
CONTEXT_WEIGHT = 0.3
# A topic of more memories is split, if it falls into parts.
LARGEST = 48
# Of a split topic, no part has less than this share.
SMALLEST_PART = 0.15
# The mean similarity of two memories as far as so few have been seen that it cannot be told.
USUAL_SIMILARITY = 0.2
_TOLD_BY = 8
# Where all memories say the same, all are still near to each other.
MOST_SIMILAR = 0.9


class SessionTopics:
    """The topics of one session, numbered in the order in which they are given; those that memories begin come after.

    `means` float [topics, dimensions]: of each, the mean of its memories' vectors of length 1; `sizes` int [topics].
    """

    def __init__(self, means: np.ndarray, sizes: np.ndarray) -> None:
        self._count = len(sizes)
        self._sizes = sizes.astype(np.int64)
        self._totals = means.astype(np.float64) * self._sizes[:, None]
        self._lengths = np.linalg.norm(self._totals, axis=1)
        self._whole = self._totals.sum(axis=0)

    @property
    def sizes(self) -> np.ndarray:
        """How many memories each topic has, int [topics]."""
        return self._sizes[: self._count]

    def place(self, vectors: np.ndarray, before: np.ndarray) -> list[int]:
        """The topic of each of `vectors`, in their order. `before`: of each, the vector of the turn before, zeros
        where there is none; both float [memories, dimensions], of length 1."""
        near = self._threshold(NEAR_SHARE, more=vectors)
        placed: list[int] = []
        for vector, earlier in zip(vectors.astype(np.float64), before.astype(np.float64), strict=True):
            topic = self._find_nearest(vector + CONTEXT_WEIGHT * earlier, near)
            if topic is None:
                topic = self._begin()
            self._change(topic, vector, 1)
            placed.append(topic)
        return placed

    def find_same(self, topic: int) -> int | None:
        """The topic that says the same as `topic`, if there is one and both together are not too large."""
        sizes = self.sizes
        fitting = (sizes > 0) & (sizes + sizes[topic] <= LARGEST)
        fitting[topic] = False
        return self._find_nearest(self._totals[topic], self._threshold(SAME_SHARE), among=fitting)

    def join(self, topic: int, other: int) -> None:
        """Puts the memories of `topic` into `other`; it stays, empty."""
        total, size = self._totals[topic].copy(), int(self._sizes[topic])
        self._change(topic, -total, -size)
        self._change(other, total, size)

    def _begin(self) -> int:
        if self._count == len(self._sizes):
            more = max(16, self._count)
            self._totals = np.concatenate([self._totals, np.zeros((more, self._totals.shape[1]))])
            self._sizes = np.concatenate([self._sizes, np.zeros(more, np.int64)])
            self._lengths = np.concatenate([self._lengths, np.zeros(more)])
        self._count += 1
        return self._count - 1

    def _change(self, topic: int, total: np.ndarray, size: int) -> None:
        self._totals[topic] += total
        self._sizes[topic] += size
        self._lengths[topic] = np.linalg.norm(self._totals[topic])
        self._whole += total

    def _threshold(self, share: float, *, more: np.ndarray | None = None) -> float:
        """The cosine that is `share` of the way from the mean similarity of two memories to 1; `more`: vectors of
        memories that are in no topic yet."""
        whole, count = self._whole, int(self.sizes.sum())
        if more is not None:
            whole, count = whole + more.sum(axis=0), count + len(more)
        usual = USUAL_SIMILARITY
        if count >= _TOLD_BY:
            usual = min(MOST_SIMILAR, max(0.0, (float(whole @ whole) - count) / (count * (count - 1))))
        return usual + share * (1 - usual)

    def _find_nearest(self, vector: np.ndarray, near: float, among: np.ndarray | None = None) -> int | None:
        if not self._count:
            return None
        # Not the matrix product: its threads would wait for each other on cores that PostgreSQL uses.
        products = np.einsum("ij,j->i", self._totals[: self._count], vector)
        lengths = self._lengths[: self._count] * float(np.linalg.norm(vector))
        cosines = products / np.maximum(lengths, 1e-12)
        if among is not None:
            cosines = np.where(among, cosines, -2.0)
        best = int(cosines.argmax())
        return best if cosines[best] >= near else None


def split(vectors: np.ndarray) -> list[np.ndarray]:
    """The rows of each part that a topic of `vectors`, float [memories, dimensions], falls into; one part if it is as
    one. None has more than LARGEST rows unless it does not fall apart."""
    parts: list[np.ndarray] = []
    waiting = [np.arange(len(vectors))]
    while waiting:
        rows = waiting.pop()
        halves = _halve(vectors[rows]) if len(rows) > LARGEST else None
        if halves is None:
            parts.append(rows)
        else:
            waiting += [rows[~halves], rows[halves]]
    return parts


def _halve(vectors: np.ndarray) -> np.ndarray | None:
    """Which rows are in the second of two halves; None if they do not fall apart."""
    centroids = kmeans.train(vectors.astype(np.float32), 2)
    if len(centroids) < 2:
        return None
    second = np.asarray(kmeans.assign(vectors.astype(np.float32), centroids)) == 1
    least = max(1, int(SMALLEST_PART * len(vectors)))
    return second if least <= int(second.sum()) <= len(vectors) - least else None
