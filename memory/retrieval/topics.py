"""Groups the memories of a session into topics as they arrive, by leader clustering (Hartigan 1975).

A memory joins the topic with the nearest mean, or begins a new topic if none is near enough. The threshold adapts to
the embedding model: it lies at a share of the way from the mean similarity of two memories of the session to 1. A turn
is placed together with the turn before it, because a short one ("Yes, on Tuesday.") says little alone. The result has
no random part, and a memory stays in its topic until that is split or joined to another.
"""

from __future__ import annotations

import numpy as np

from memory.retrieval import kmeans

# A memory joins a topic from this share of the way from the mean similarity to 1.
NEAR_SHARE = 0.3
# Two topics are joined from this share of the way.
SAME_SHARE = 0.65
# The weight of the turn before, relative to the turn itself.
CONTEXT_WEIGHT = 0.3
# A topic of more memories is split, if it falls into distinct parts.
LARGEST = 48
# Each part of a split topic has at least this share of its memories.
SMALLEST_PART = 0.15
# The mean similarity of two memories that is assumed while the session has fewer than _TOLD_BY memories.
USUAL_SIMILARITY = 0.2
_TOLD_BY = 8
# The limit on the mean similarity, so that memories that all say the same still count as near.
MOST_SIMILAR = 0.9


class SessionTopics:
    """Holds the topics of one session, numbered in the given order; topics that memories begin are numbered after them.

    `means`: for each topic the mean of its memories' vectors of length 1, float [topics, dimensions]. `sizes`: the
    number of memories, int [topics].
    """

    def __init__(self, means: np.ndarray, sizes: np.ndarray) -> None:
        self._count = len(sizes)
        self._sizes = sizes.astype(np.int64)
        self._totals = means.astype(np.float64) * self._sizes[:, None]
        self._lengths = np.linalg.norm(self._totals, axis=1)
        self._whole = self._totals.sum(axis=0)

    @property
    def sizes(self) -> np.ndarray:
        """Returns the number of memories of each topic, int [topics]."""
        return self._sizes[: self._count]

    def place(self, vectors: np.ndarray, before: np.ndarray) -> list[int]:
        """Adds memories one after the other, and returns the topic of each.

        `before` has the vector of the turn before each memory, zeros if there is none. Both are float [memories,
        dimensions], of length 1.
        """
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
        """Returns the nearest topic that may be joined with `topic` (similar, both small enough), or None."""
        sizes = self.sizes
        fitting = (sizes > 0) & (sizes + sizes[topic] <= LARGEST)
        fitting[topic] = False
        return self._find_nearest(self._totals[topic], self._threshold(SAME_SHARE), among=fitting)

    def join(self, topic: int, other: int) -> None:
        """Moves the memories of `topic` to `other`; `topic` stays as an empty one."""
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
        """Returns the cosine that is `share` of the way from the mean similarity of two memories to 1.

        `more`: vectors of memories that are in no topic yet, but count for the mean.
        """
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
        # einsum runs in one thread; those of a matrix product would wait for each other on cores that PostgreSQL uses.
        products = np.einsum("ij,j->i", self._totals[: self._count], vector)
        lengths = self._lengths[: self._count] * float(np.linalg.norm(vector))
        cosines = products / np.maximum(lengths, 1e-12)
        if among is not None:
            cosines = np.where(among, cosines, -2.0)
        best = int(cosines.argmax())
        return best if cosines[best] >= near else None


def split(vectors: np.ndarray) -> list[np.ndarray]:
    """Splits a topic of `vectors`, float [memories, dimensions], and returns the rows of each part.

    A part has at most LARGEST rows, unless it does not fall into distinct parts.
    """
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
    """Returns a mask of the rows in the second of two clusters, or None if one of them would be too small."""
    centroids = kmeans.train(vectors.astype(np.float32), 2)
    if len(centroids) < 2:
        return None
    second = np.asarray(kmeans.assign(vectors.astype(np.float32), centroids)) == 1
    least = max(1, int(SMALLEST_PART * len(vectors)))
    return second if least <= int(second.sum()) <= len(vectors) - least else None
