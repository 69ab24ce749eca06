"""An inverted index in memory: which rows hold a term, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

# Postings that came since the last packing; with more, they are packed, which touches all of them.
_LOOSE = 4_096
_LOOSE_SHARE = 0.25


class TermIndex:
    """Postings by term. Those of rows that are gone stay until the whole is built anew."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._first = np.zeros(1, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int32)
        self._frequencies = np.empty(0, dtype=np.int16)
        self._loose: dict[int, list[tuple[int, int]]] = {}
        self._loose_count = 0

    @classmethod
    def of_terms(cls, terms: Sequence[str], rows: Sequence[np.ndarray], frequencies: Sequence[np.ndarray]) -> TermIndex:
        """Of each of `terms` (distinct) its rows [n], each once, and how often each of them holds it [n]."""
        index = cls()
        index._numbers = {term: number for number, term in enumerate(terms)}
        index._pack(rows, frequencies)
        return index

    @property
    def bytes(self) -> int:
        """About what it takes, in bytes: a term costs about 120, with its string."""
        arrays = self._first.nbytes + self._rows.nbytes + self._frequencies.nbytes
        return arrays + 120 * len(self._numbers) + 120 * self._loose_count

    def add(self, row: int, postings: Iterable[tuple[str, int]]) -> None:
        """A row that is new, with its (term, frequency)."""
        for term, frequency in postings:
            number = self._numbers.setdefault(term, len(self._numbers))
            self._loose.setdefault(number, []).append((row, frequency))
            self._loose_count += 1
        if self._loose_count > max(_LOOSE, _LOOSE_SHARE * len(self._rows)):
            numbers = range(len(self._numbers))
            found = [self._of(number) for number in numbers]
            self._pack([rows for rows, _ in found], [frequencies for _, frequencies in found])

    def postings(self, term: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows [n] and frequencies [n] of a term, with those of rows that are gone; None if it was never held."""
        number = self._numbers.get(term)
        return None if number is None else self._of(number)

    def _of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        if number + 1 < len(self._first):
            place = slice(self._first[number], self._first[number + 1])
            rows, frequencies = self._rows[place], self._frequencies[place]
        else:
            rows, frequencies = self._rows[:0], self._frequencies[:0]
        loose = self._loose.get(number)
        if not loose:
            return rows, frequencies
        added = np.array(loose, dtype=np.int32)
        return (
            np.concatenate([rows, added[:, 0]]),
            np.concatenate([frequencies, added[:, 1].astype(np.int16)]),
        )

    def _pack(self, rows: Sequence[np.ndarray], frequencies: Sequence[np.ndarray]) -> None:
        self._first = np.concatenate([[0], np.cumsum([len(one) for one in rows], dtype=np.int64)]).astype(np.int64)
        self._rows = np.concatenate([np.empty(0, np.int32), *rows]).astype(np.int32)
        self._frequencies = np.concatenate([np.empty(0, np.int16), *frequencies]).astype(np.int16)
        self._loose, self._loose_count = {}, 0
