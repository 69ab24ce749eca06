"""What opinions do to a memory's importance: small steps, within bounds, the same whatever order they came in."""

from __future__ import annotations

from collections.abc import Mapping

from memory.enums import Feedback

# What one opinion moves the importance by, of the 0 to 1 there are. That something is wrong says more than that it
# helped once.
STEPS: Mapping[str, float] = {Feedback.USEFUL: 0.05, Feedback.WRONG: -0.15, Feedback.OUTDATED: -0.1}
# All opinions together move it by so much at most: many voices neither hide a memory nor put it above all others.
LOWEST, HIGHEST = -0.3, 0.2


def shift(opinions: Mapping[str, int]) -> float:
    """How far opinions (kind → how many hold it) move an importance, LOWEST to HIGHEST."""
    total = sum(STEPS[kind] * count for kind, count in opinions.items())
    return min(max(total, LOWEST), HIGHEST)


def shift_importance(importance: float, before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """The importance (0 to 1) when the opinions were `before` and now are `after`."""
    return round(min(max(importance + shift(after) - shift(before), 0.0), 1.0), 6)
