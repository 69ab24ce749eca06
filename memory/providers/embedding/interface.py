"""Defines the interface of embedding providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

# The parts of vectors that one model makes.
WHOLE = (slice(None),)


class EmbeddingProvider(Protocol):
    """Makes vectors of one model."""

    @property
    def dimensions(self) -> int:
        """Length of a vector. Raises EmbeddingUnavailable when that has to be asked for and nobody answers."""
        ...

    @property
    def parts(self) -> Sequence[slice]:
        """The parts of a vector that different models make, each a direction of its own; the first is that of the model
        by which scores of statements were learned."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32 [len(texts), dimensions], each row of unit length; the same text always gives the same row.

        Raises EmbeddingUnavailable.
        """
        ...

    def familiarity(self, text: str) -> float:
        """0..1: how much of `text` is in languages that the model has learned; search trusts it that far."""
        ...

    def as_questions(self, texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """The `vectors` of questions with these texts as search takes them, float32 [questions, dimensions].

        Their length times the cosine to a memory's vector is how near the memory is.
        """
        ...


class Pending(Protocol):
    """Vectors in the making."""

    def result(self) -> np.ndarray:
        """Waits for them; the same each time. Raises EmbeddingUnavailable."""
        ...


@runtime_checkable
class EmbedsElsewhere(Protocol):
    """A provider that may have vectors made by another process of the machine while the caller goes on."""

    def start(self, texts: Sequence[str]) -> Pending | None:
        """Starts embedding a few texts elsewhere; returns None if this process computes vectors itself."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingModelKind:
    """Describes how models of a provider are created from their name and dimensions.

    `default_model` is used if the settings name none. Models that are not `sized` get dimensions of 0.
    """

    default_model: str
    make: Callable[[str, int], EmbeddingProvider]
    sized: bool = False
