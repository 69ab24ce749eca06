"""Implements an inverted index in memory, which maps a term to the rows that hold it and to its frequency in each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

# Postings added since the last packing are packed when they exceed this number and this share of the packed ones,
# because packing copies all of them.
_LOOSE = 4_096
_LOOSE_SHARE = 0.25


class TermIndex:
    """Holds postings by term. Postings of removed rows stay until the whole index is rebuilt."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._first = np.zeros(1, dtype=np.int64)
        self._rows = np.empty(0, dtype=np.int32)
        self._frequencies = np.empty(0, dtype=np.int16)
        self._loose: dict[int, list[tuple[int, int]]] = {}
        self._loose_count = 0

    @classmethod
    def of_terms(cls, terms: Sequence[str], rows: Sequence[np.ndarray], frequencies: Sequence[np.ndarray]) -> TermIndex:
        """Makes an index of distinct `terms`, with the distinct rows [n] of each and its `frequencies` in them [n]."""
        index = cls()
        index._numbers = {term: number for number, term in enumerate(terms)}
        index._pack(rows, frequencies)
        return index

    @property
    def bytes(self) -> int:
        """Returns the approximate size in bytes; a term with its string takes about 120."""
        arrays = self._first.nbytes + self._rows.nbytes + self._frequencies.nbytes
        return arrays + 120 * len(self._numbers) + 120 * self._loose_count

    def add(self, row: int, postings: Iterable[tuple[str, int]]) -> None:
        """Adds a new row with its postings (term, frequency)."""
        for term, frequency in postings:
            number = self._numbers.setdefault(term, len(self._numbers))
            self._loose.setdefault(number, []).append((row, frequency))
            self._loose_count += 1
        if self._loose_count > max(_LOOSE, _LOOSE_SHARE * len(self._rows)):
            numbers = range(len(self._numbers))
            found = [self._of(number) for number in numbers]
            self._pack([rows for rows, _ in found], [frequencies for _, frequencies in found])

    def postings(self, term: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the rows [n] and frequencies [n] of a term, including removed rows; None for an unknown term."""
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
