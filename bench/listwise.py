"""Learns the weights of a linear ranking from questions whose evidence is known: numbers in, numbers out.

Listwise softmax, the top-one case of ListNet (Cao et al. 2007, "Learning to Rank: From Pairwise Approach to Listwise
Approach"): the scores of a question's candidates become probabilities, and their cross-entropy to the uniform
distribution over the evidence is what Adam (Kingma and Ba 2015) makes small. The loss is convex: nothing depends on
where it starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

L2 = 1e-4
STEPS = 400
STEP_SIZE = 0.3
# The number of candidates of a question that are used: its evidence and the best of the rest.
LISTED = 150


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds a question: the features of its candidates, and which of them are evidence.

    `features` are [candidates, features] in the current order, best first. `evidence`: the number of all pieces of
    evidence. Questions of one `group` stay in one fold.
    """

    features: np.ndarray
    relevant: np.ndarray
    evidence: int
    group: str


def fit(sets: Sequence[Sequence[Asked]], *, steps: int = STEPS, l2: float = L2) -> np.ndarray:
    """Fits the weights [features] that rank evidence first; all sets count the same, whatever their size.

    Questions of which no candidate or all candidates are evidence are left out. Raises ValueError if none is left.
    """
    kept = [[one for one in asked if one.relevant.any() and not one.relevant.all()] for asked in sets]
    kept = [asked for asked in kept if asked]
    if not kept:
        raise ValueError("no question has both evidence and other candidates: nothing can be learned")
    lists, absent, target = _pad_lists([one for asked in kept for one in asked])
    share = np.concatenate([np.full(len(asked), 1 / (len(kept) * len(asked))) for asked in kept])
    share = share.astype(np.float32)[:, None]
    weights = np.zeros(lists.shape[2], dtype=np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        error = (_softmax(np.where(absent, -np.inf, lists @ weights)) - target) * share
        gradient = np.tensordot(error, lists, axes=2) + 2 * l2 * weights
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        # The step size shrinks to zero, so that the weights converge.
        size = STEP_SIZE * (1 - (step - 1) / steps)
        weights = weights - size * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights.astype(float)


def folds(asked: Sequence[Asked], *, count: int, seed: int) -> np.ndarray:
    """Returns the fold (0..count−1) of each question. Groups stay together, if there are as many groups as folds."""
    groups = sorted({one.group for one in asked})
    chance = np.random.default_rng(seed)
    if len(groups) < count:
        return chance.permutation(len(asked)) % count
    fold = dict(zip(groups, chance.permutation(len(groups)) % count, strict=True))
    return np.array([fold[one.group] for one in asked])


def quality(one: Asked, scores: np.ndarray) -> tuple[float, float]:
    """Returns (recall at 10, reciprocal rank) of a question, each 0..1; equal scores keep their order."""
    found = one.relevant[np.argsort(-scores, kind="stable")]
    first = int(found.argmax()) if found.any() else None
    return float(found[:10].sum()) / one.evidence, 0.0 if first is None else 1 / (first + 1)


def _pad_lists(asked: Sequence[Asked]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns features [questions, LISTED, features], absent places and target probabilities [questions, LISTED]."""
    width = max(LISTED, *(int(one.relevant.sum()) for one in asked))
    lists = np.zeros((len(asked), width, asked[0].features.shape[1]), dtype=np.float32)
    absent = np.ones((len(asked), width), dtype=bool)
    target = np.zeros((len(asked), width), dtype=np.float32)
    for number, one in enumerate(asked):
        rows = np.concatenate([np.flatnonzero(one.relevant), np.flatnonzero(~one.relevant)])[:width]
        lists[number, : len(rows)] = one.features[rows]
        absent[number, : len(rows)] = False
        target[number, : int(one.relevant.sum())] = 1 / one.relevant.sum()
    return lists, absent, target


def _softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
