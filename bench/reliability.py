"""Weighted logistic regression, the area under the ROC curve, and a reliability curve as SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

L2 = 1e-4
STEPS = 50


def fit_logistic(features: np.ndarray, wanted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fits a logistic regression by Newton's method; returns the intercept and the coefficients of the features.

    `features`: [rows, features]; `wanted`: bool [rows]. A small L2 penalty on standardised features keeps it stable.
    """
    weights = weights / weights.sum()
    mean = weights @ features
    spread = np.sqrt(weights @ (features - mean) ** 2) + 1e-9
    rows = np.column_stack([np.ones(len(features)), (features - mean) / spread])
    found = np.zeros(rows.shape[1])
    ridge = L2 * np.diag([0.0, *np.ones(features.shape[1])])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (wanted - chance)) - ridge @ found
        curvature = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + ridge
        found = found + np.linalg.solve(curvature, slope)
    coefficients = found[1:] / spread
    return np.concatenate([[found[0] - coefficients @ mean], coefficients])


def rank_area(high: np.ndarray, low: np.ndarray) -> float:
    """Returns the area under the ROC curve: the probability that one of `high` exceeds one of `low`.

    Equal values count half. The result is nan if one of them is empty.
    """
    if not len(high) or not len(low):
        return float("nan")
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left")
    equal = np.searchsorted(ordered, high, side="right") - below
    return float((below + equal / 2).mean() / len(low))


def draw(points: Sequence[tuple[float, float]]) -> str:
    """Draws the curve of (predicted, observed) pairs, both 0..1, with the diagonal of perfect calibration, as SVG."""
    side, edge = 320, 40

    def at(said: float, seen: float) -> str:
        return f"{edge + said * side:.1f},{edge + (1 - seen) * side:.1f}"

    ticks = "".join(
        f'<text x="{edge + value * side:.0f}" y="{edge + side + 16}" text-anchor="middle">{value:g}</text>'
        f'<text x="{edge - 6}" y="{edge + (1 - value) * side + 4:.0f}" text-anchor="end">{value:g}</text>'
        for value in (0, 0.5, 1)
    )
    dots = "".join(
        '<circle cx="{}" cy="{}" r="4" fill="#2563eb"/>'.format(*at(said, seen).split(",")) for said, seen in points
    )
    whole = side + 2 * edge
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}"'
        ' font-family="sans-serif" font-size="12">'
        f'<rect width="{whole}" height="{whole}" fill="#fff"/>'
        f'<rect x="{edge}" y="{edge}" width="{side}" height="{side}" fill="none" stroke="#9ca3af"/>'
        f'<polyline points="{at(0, 0)} {at(1, 1)}" stroke="#9ca3af" stroke-dasharray="4 4" fill="none"/>'
        f'<polyline points="{" ".join(at(*point) for point in points)}" stroke="#2563eb" stroke-width="2" fill="none"/>'
        f"{dots}{ticks}"
        f'<text x="{edge + side / 2}" y="{edge + side + 32}" text-anchor="middle">relevance</text>'
        f'<text x="12" y="{edge + side / 2}" text-anchor="middle" transform="rotate(-90 12 {edge + side / 2})">'
        "share of judged evidence</text></svg>\n"
    )
