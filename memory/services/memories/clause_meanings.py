"""How near in meaning what a memory says to have changed is to clauses of earlier memories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from memory.governance.likelihood import Nearness
from memory.services.index.embedding_model import ActiveModel
from memory.text.clauses import clauses

# Texts of one comparison of which the meaning may be asked for.
MOST_COMPARED = 100


class ClauseMeanings:
    """The meanings of the statements `told` (of a new memory), of their clauses, and of earlier clauses: MOST_COMPARED
    texts at most, in this order. Implements `governance.likelihood.Meanings`.

    Vectors are made of the statements at once, and of the rest when it is measured: few of the clauses near a statement
    are ones that it may replace.
    """

    def __init__(self, model: ActiveModel, told: Sequence[str]) -> None:
        """Raises EmbeddingUnavailable."""
        self.told = tuple(dict.fromkeys(told))
        self.vectors = model.embed(self.told)
        self.model = model
        self._known: frozenset[str] = frozenset()
        self._vectors = dict(zip(self.told, self.vectors, strict=True))

    def add(self, earlier: Iterable[str]) -> None:
        """Makes the clauses of `earlier` statements known, and those of the new memory's.

        Of another model than MiniLM none is: `governance.likelihood` knows no other's cosines.
        """
        if not self.told or not self.model.is_minilm:
            return
        texts = [text for one in self.told for text in (one, *(clause.text for clause in clauses(one)))]
        texts += [clause.text for one in earlier for clause in clauses(one)]
        self._known = frozenset(list(dict.fromkeys(texts))[:MOST_COMPARED])

    def know(self, statement: str, clause: str, former: str) -> bool:
        return {statement, clause, former} <= self._known

    def measure(self, statement: str, clause: str, formers: Collection[str]) -> Mapping[str, Nearness]:
        """As `Meanings.measure`. Raises EmbeddingUnavailable."""
        new = [text for text in dict.fromkeys((clause, *formers)) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self.model.embed(new), strict=True))
        said, told = self._vectors[statement], self._vectors[clause]
        return {
            former: Nearness(_cosine(said, self._vectors[former]), _cosine(told, self._vectors[former]))
            for former in formers
        }


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other)
