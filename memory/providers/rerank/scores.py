"""Validates the scores of rerankers."""

from __future__ import annotations

from collections.abc import Sequence

from memory.errors import RerankUnavailable

# No model's scores are nearly as large. NaN fails the comparison, too.
LARGEST = 1e9


def check_scores(scores: Sequence[float], texts: Sequence[str], source: str) -> list[float]:
    """Return the scores if there is a usable one for each text. Raise RerankUnavailable naming `source` if not."""
    if len(scores) != len(texts):
        raise RerankUnavailable(f"{source} gave {len(scores)} scores to {len(texts)} texts.")
    if not all(abs(score) < LARGEST for score in scores):
        raise RerankUnavailable(f"{source} gave a score that is not a number, or beyond {LARGEST:g}.")
    return [float(score) for score in scores]
