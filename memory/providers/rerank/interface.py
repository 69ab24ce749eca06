"""Defines rerankers, and how they are created from the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Reranker(Protocol):
    """Reads a question and a text together, and scores how well the text answers."""

    @property
    def name(self) -> str:
        """The provider and its model, for people."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a finite score for each text, in order; higher is better, and the scale depends on the model.

        Raise RerankUnavailable on failure, including after MEMOS_RERANK_TIMEOUT_SECONDS.
        """
        ...


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A kind of reranker, created from the settings by `make`. `needs` is a required setting, `what` describes it."""

    needs: str
    what: str
    make: Callable[[], Reranker]
