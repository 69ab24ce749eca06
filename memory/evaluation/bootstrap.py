"""Estimates the confidence interval of the difference of two runs by a paired bootstrap over questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 5_000
CONFIDENCE = 0.95
SEED = 20_020
# Number of resamples that are in memory at once.
_CHUNK = 250


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference, and the interval that contains it with CONFIDENCE."""

    difference: float
    low: float
    high: float


def estimate_intervals(base: np.ndarray, run: np.ndarray) -> list[Interval]:
    """Return for each figure the mean of `run` − `base` and its percentile bootstrap interval.

    Both are float [questions, figures], with the same question in the same row. Questions are drawn with replacement,
    RESAMPLES times, from a fixed seed, so that the same input gives the same interval (Efron & Tibshirani 1993, ch. 13;
    for retrieval Sakai 2006). Questions are assumed independent. Raise ValueError for other shapes.
    """
    if base.shape != run.shape or base.ndim != 2 or not len(base):
        raise ValueError(f"shapes {base.shape} and {run.shape}: both must be [questions, figures], not empty")
    differences = run - base
    count = len(differences)
    draw = np.random.default_rng(SEED)
    means = np.concatenate(
        [
            draw.multinomial(count, np.full(count, 1 / count), size=min(_CHUNK, RESAMPLES - start))
            @ differences
            / count
            for start in range(0, RESAMPLES, _CHUNK)
        ]
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return [Interval(*map(float, values)) for values in zip(differences.mean(axis=0), low, high, strict=True)]
