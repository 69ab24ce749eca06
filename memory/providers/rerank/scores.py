"""What every reranker's scores must be."""

from __future__ import annotations

from collections.abc import Sequence

from memory.errors import RerankUnavailable

# No model's scores come near; NaN is not below it either.
LARGEST = 1e9


def check_scores(scores: Sequence[float], texts: Sequence[str], source: str) -> list[float]:
    """The scores, one a text and each a number that can be reckoned with. Raises RerankUnavailable, naming `source`."""
    if len(scores) != len(texts):
        raise RerankUnavailable(f"{source} gave {len(scores)} scores to {len(texts)} texts.")
    if not all(abs(score) < LARGEST for score in scores):
        raise RerankUnavailable(f"{source} gave a score that is not a number, or beyond {LARGEST:g}.")
    return [float(score) for score in scores]
