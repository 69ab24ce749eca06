"""Applies opinions to a memory's importance: small steps within bounds, in any order with the same result."""

from __future__ import annotations

from collections.abc import Mapping

from memory.enums import Feedback

# Change of the importance (0 to 1) by a single opinion. That something is wrong says more than that it helped once.
STEPS: Mapping[str, float] = {Feedback.USEFUL: 0.05, Feedback.WRONG: -0.15, Feedback.OUTDATED: -0.1}
# Bounds for all opinions together: many voices neither hide a memory nor raise it above all others.
LOWEST, HIGHEST = -0.3, 0.2


def shift(opinions: Mapping[str, int]) -> float:
    """Return how much opinions (counts by kind) change an importance, from LOWEST to HIGHEST."""
    total = sum(STEPS[kind] * count for kind, count in opinions.items())
    return min(max(total, LOWEST), HIGHEST)


def shift_importance(importance: float, before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Return the new importance (0 to 1) when opinions change from `before` to `after`."""
    return round(min(max(importance + shift(after) - shift(before), 0.0), 1.0), 6)
