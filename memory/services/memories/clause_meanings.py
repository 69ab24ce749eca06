"""How near in meaning what a memory says to have changed is to clauses of earlier memories."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from memory.caches import Cache, for_seconds
from memory.governance.likelihood import Nearness
from memory.services.index.embedding_model import ActiveModel
from memory.text.clauses import clauses

# Texts of one comparison of which the meaning may be asked for.
MOST_COMPARED = 100
# The turns of a session are near the same earlier ones, and so are those that come a little later: vectors of so many
# texts (3 MB) are kept for so long, by a hash of the text.
MOST_KEPT = 2_000
KEPT_SECONDS = 600.0

_vectors: Cache[tuple[int, bytes], np.ndarray] = for_seconds(KEPT_SECONDS, most=MOST_KEPT)


def embed(model: ActiveModel, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """float32 [dimensions] of each of the texts, by the model. Raises EmbeddingUnavailable."""
    known = {text: _vectors.get(_key(model, text)) for text in texts}
    vectors = {text: vector for text, vector in known.items() if vector is not None}
    new = [text for text in known if text not in vectors]
    if new:
        for text, vector in zip(new, model.embed(new), strict=True):
            # Copied, or the one that is asked for most would keep all that were made with it.
            vectors[text] = _vectors.put(_key(model, text), vector.copy())
    return vectors


def _key(model: ActiveModel, text: str) -> tuple[int, bytes]:
    return model.id, hashlib.sha256(text.encode()).digest()


class ClauseMeanings:
    """The meanings of the statements `told` (of a new memory; with their vectors), of their clauses, and of earlier
    clauses: MOST_COMPARED texts at most, in this order. Implements `governance.likelihood.Meanings`.

    Vectors are made of the statements at once, and of the rest when it is measured: few of the clauses near a statement
    are ones that it may replace.
    """

    def __init__(self, model: ActiveModel, told: Sequence[str]) -> None:
        """Raises EmbeddingUnavailable."""
        self.model = model
        self.told = embed(model, told)
        self._known: frozenset[str] = frozenset()

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
        vectors = embed(self.model, [statement, clause, *formers])
        said, told = vectors[statement], vectors[clause]
        return {former: Nearness(_cosine(said, vectors[former]), _cosine(told, vectors[former])) for former in formers}


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other)
