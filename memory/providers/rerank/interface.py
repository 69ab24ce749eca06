"""What a reranker is, and how one is made of the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Reranker(Protocol):
    """Reads a question and a text together, and says how well the text answers."""

    @property
    def name(self) -> str:
        """What people read: the provider and its model."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A finite score a text, in their order; higher is better, the scale is the model's own.

        Raises RerankUnavailable, also when MEMOS_RERANK_TIMEOUT_SECONDS are over.
        """
        ...


@dataclass(frozen=True, slots=True)
class RerankerKind:
    """A kind of reranker, and how it is made of the settings. It needs the setting `needs`, which names `what`."""

    needs: str
    what: str
    make: Callable[[], Reranker]
