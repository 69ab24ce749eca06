"""A question as the arms see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.retrieval.predicate import Predicate
from memory.text.analysis import terms


@dataclass(frozen=True, slots=True)
class Question:
    """`vector`: float32 [dimensions] of the stored model `model_id`; `familiarity` (0..1): how far to trust it.

    With a `predicate` the arms search among the memories that meet it only.
    """

    text: str
    terms: list[str]
    vector: np.ndarray
    model_id: int
    familiarity: float
    predicate: Predicate | None = None


def question(
    text: str, *, vector: np.ndarray, model_id: int, familiarity: float, predicate: Predicate | None = None
) -> Question:
    """A question with its distinct index terms, in order."""
    return Question(text, list(dict.fromkeys(terms(text))), vector, model_id, familiarity, predicate)
