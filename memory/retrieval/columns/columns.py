"""Implements the columns: one row for each searchable memory, and the retrievers over them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import simsimd

from memory.retrieval.arms import WordHits
from memory.retrieval.arms.bm25 import K1, B, term_idf
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.columns.names import NameIndex
from memory.retrieval.columns.terms import TermIndex
from memory.text.names import speaker_key

# On Sapphire Rapids, simsimd sums 16-bit numbers in 16 bits, which is too coarse to rank by.
simsimd.disable_capability("sapphire")

# The approximate bytes of a row besides its arrays: its id as text, and the entry that finds its row.
_ROW_BYTES = 250
# The approximate bytes of the name of a session or a speaker, with its number.
_NAME_BYTES = 200
# A changed row is appended at the end and its old row removed; with a larger share of removed rows, all are read again.
_GONE_SHARE = 0.3

_TYPES: dict[str, Any] = {
    "high": np.uint64,
    "low": np.uint64,
    "alive": bool,
    "has_vector": bool,
    "session": np.int32,
    "turn": np.int32,
    "speaker": np.int32,
    "by_agent": bool,
    "asks": bool,
    "is_preference": bool,
    "tokens": np.int32,
    "length": np.int32,
    "importance": np.float64,
    "occurred": np.float64,
    "valid_to": np.float64,
}


class Row(NamedTuple):
    """Holds a searchable memory as it is read.

    Times are seconds since the epoch; `valid_to` is infinite while the memory holds. `vectors`: float16 [passages,
    dimensions], empty while the memory waits for its vector. `postings`: (term, frequency). `aliases`: ids of the names
    that it mentions, one for each mention.
    """

    id: str
    session: str
    turn: int
    speaker: str
    by_agent: bool
    asks: bool
    is_preference: bool
    tokens: int
    length: int
    importance: float
    occurred: float
    valid_to: float
    vectors: np.ndarray
    postings: Sequence[tuple[str, int]]
    aliases: Sequence[str]


class TermStatistics(NamedTuple):
    """Holds the statistics of a namespace that BM25 needs: the number of memories, and the sum of their terms."""

    memories: int
    terms: int


class Columns:
    """Holds the searchable memories of a namespace under one embedding model, as columns. Not thread-safe.

    Rows are numbered in the order in which they were added; methods take and return these numbers.
    """

    def __init__(self, dimensions: int) -> None:
        self._size = 0
        self._gone = 0
        self._arrays = {name: np.zeros(0, kind) for name, kind in _TYPES.items()}
        self._vectors = np.zeros((0, dimensions), np.float16)
        # The further passages of the few memories that have more than one.
        self._more_rows = np.zeros(0, np.int32)
        self._more_vectors = np.zeros((0, dimensions), np.float16)
        self.ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._speaker_keys: list[str] = []
        self._known_speakers: set[str] = set()
        self.terms = TermIndex()
        self.names = NameIndex()
        self.kept = KeptMemories()
        self._places: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return self._size

    def __getattr__(self, name: str) -> np.ndarray:
        """Returns the column of that name [rows]: one of `_TYPES`."""
        if name not in _TYPES:
            raise AttributeError(name)
        return self._arrays[name][: self._size]

    @property
    def bytes(self) -> int:
        """Returns the approximate size of the columns, in bytes."""
        arrays = sum(column.nbytes for column in self._arrays.values())
        vectors = self._vectors.nbytes + self._more_vectors.nbytes + self._more_rows.nbytes
        named = _NAME_BYTES * (len(self._sessions) + len(self._speakers))
        return (
            arrays + vectors + _ROW_BYTES * self._size + named + self.terms.bytes + self.names.bytes + self.kept.bytes
        )

    def rows_of(self, identities: Iterable[str]) -> np.ndarray:
        """Returns the rows of the known memories among `identities`."""
        found = (self._row_of.get(identity) for identity in identities)
        return np.array([row for row in found if row is not None], np.int64)

    @property
    def count(self) -> int:
        """Returns the number of memories in the columns."""
        return self._size - self._gone

    @property
    def are_worn(self) -> bool:
        """Tells whether the columns should be read again, because many rows were removed."""
        return self._gone > max(1_000, _GONE_SHARE * self._size)

    @property
    def speakers(self) -> list[str]:
        """Lists the names of the speakers, by their numbers."""
        return list(self._speakers)

    @property
    def speaker_keys(self) -> list[str]:
        """Lists the speakers' name keys (`speaker_key`), by their numbers."""
        return self._speaker_keys

    def speakers_named(self, keys: Iterable[str]) -> frozenset[str]:
        """Returns the `keys` that name a speaker under any of their names, and the keys of these speakers."""
        known = self._known_speakers
        found = known.intersection(keys)
        for key in self.names.select_known(keys):
            speakers = known.intersection(self.names.keys_beside(key))
            if speakers:
                found |= {key, *speakers}
        return frozenset(found)

    def fill(self, rows: Sequence[Row], terms: TermIndex, lengths: np.ndarray) -> None:
        """Fills the empty columns. `terms` has the postings, and `lengths` the lengths, by the places in `rows`."""
        for row in rows:
            self._append(row)
        self._arrays["length"][: len(rows)] = lengths
        self.terms = terms

    def put(self, row: Row) -> None:
        """Adds a memory that is new or has changed."""
        self.remove(row.id)
        self.terms.add(self._append(row), row.postings)

    def remove(self, identity: str) -> None:
        """Removes a memory that is gone or can no longer be searched, if it is known."""
        self.kept.forget(identity)
        row = self._row_of.pop(identity, None)
        if row is None:
            return
        self._arrays["alive"][row] = False
        of_others = self._more_rows != row
        if not of_others.all():
            self._more_rows, self._more_vectors = self._more_rows[of_others], self._more_vectors[of_others]
        self.ids[row] = ""
        self._gone += 1
        self._places = None

    def cosines(self, vector: np.ndarray) -> np.ndarray:
        """Returns the cosine (−1..1) of each row's nearest passage to `vector` [dimensions], times its length.

        It is 0 for rows without a vector.
        """
        wanted = vector.astype(np.float16)[None]
        cosines = _similarity(wanted, self._vectors[: self._size])
        if len(self._more_rows):
            np.maximum.at(cosines, self._more_rows, _similarity(wanted, self._more_vectors))
        cosines[~self.has_vector] = 0.0
        return np.asarray(cosines * np.linalg.norm(vector))

    def nearest(self, cosines: np.ndarray, *, limit: int, among: np.ndarray | None = None) -> np.ndarray:
        """Returns the `limit` rows with the highest cosine, best first; `among` [rows] is a mask of those to search."""
        searched = self.alive & self.has_vector
        if among is not None:
            searched &= among
        rows = np.flatnonzero(searched)
        return self._best(rows, cosines[rows], limit=limit)[0]

    def by_words(
        self, asked: Sequence[str], statistics: TermStatistics, *, limit: int, preferences: bool
    ) -> tuple[np.ndarray, np.ndarray, WordHits]:
        """Returns the `limit` rows with the highest BM25 score, best first, their scores, and the term counts.

        `preferences`: whether preferences are found. They never count for the rarity of terms and the mean length. The
        counts are as in `lexical.search`.
        """
        scores = np.zeros(self._size)
        holding: dict[str, int] = {}
        alive, lengths, is_preference = self.alive, self.length, self.is_preference
        of_preferences = lengths[alive & is_preference]
        counted = statistics.memories - len(of_preferences)
        memories = float(max(counted, 1))
        mean_length = max((statistics.terms - int(of_preferences.sum())) / max(counted, 1), 1.0)
        for term in asked:
            found = self.terms.postings(term)
            if found is None:
                continue
            rows, frequencies = found
            here = alive[rows]
            rows, frequencies = rows[here], frequencies[here]
            of_others = ~is_preference[rows]
            held = int(of_others.sum())
            if held:
                holding[term] = held
            if not preferences:
                rows, frequencies = rows[of_others], frequencies[of_others]
            if len(rows):
                idf = term_idf(term, holding=held, memories=memories)
                damped = K1 * (1 - B + B * lengths[rows] / mean_length)
                scores[rows] += idf * frequencies * (K1 + 1) / (frequencies + damped)
        rows = np.flatnonzero(scores)
        best, of_best = self._best(rows, scores[rows], limit=limit)
        return best, of_best, WordHits([], memories, holding)

    def around(self, rows: np.ndarray, *, turns: int) -> np.ndarray:
        """Returns pairs of `rows` and rows of the same session up to `turns` turns away, in order of occurrence.

        The pairs are integers [pairs, 3]: a row, its neighbour, and by how many turns the neighbour is later.
        """
        order, parts, places = self._by_time()
        rows = rows[~self.is_preference[rows]]
        if not len(rows):
            return np.zeros((0, 3), np.int64)
        here = places[rows]
        distances = np.array([*range(-turns, 0), *range(1, turns + 1)])
        there = here + distances[:, None]
        inside = (there >= 0) & (there < len(order))
        inside &= parts[there.clip(0, len(order) - 1)] == parts[here]
        of_distance, of_row = np.nonzero(inside)
        return np.column_stack([rows[of_row], order[there[inside]], distances[of_distance]])

    def in_order_of_ids(self, rows: np.ndarray) -> np.ndarray:
        """Sorts distinct rows by the memories' ids, which sort by time."""
        return rows[np.lexsort((self.low[rows], self.high[rows]))]

    def _append(self, row: Row) -> int:
        number = self._size
        if number == len(self._vectors):
            self._grow()
        identity = uuid.UUID(row.id).int
        values = {
            "high": identity >> 64,
            "low": identity & (1 << 64) - 1,
            "alive": True,
            "has_vector": len(row.vectors) > 0,
            "session": self._sessions.setdefault(row.session, len(self._sessions)),
            "turn": row.turn,
            "speaker": self._number_speaker(row.speaker),
            "by_agent": row.by_agent,
            "asks": row.asks,
            "is_preference": row.is_preference,
            "tokens": row.tokens,
            "length": row.length,
            "importance": row.importance,
            "occurred": row.occurred,
            "valid_to": row.valid_to,
        }
        for name, value in values.items():
            self._arrays[name][number] = value
        if len(row.vectors):
            self._vectors[number] = row.vectors[0]
        if len(row.vectors) > 1:
            own = np.full(len(row.vectors) - 1, number, np.int32)
            self._more_rows = np.concatenate([self._more_rows, own])
            self._more_vectors = np.concatenate([self._more_vectors, row.vectors[1:]])
        self.ids.append(row.id)
        self._row_of[row.id] = number
        self.names.add(number, row.aliases)
        self._size += 1
        self._places = None
        return number

    def _number_speaker(self, speaker: str) -> int:
        number = self._speakers.setdefault(speaker, len(self._speakers))
        if number == len(self._speaker_keys):
            self._speaker_keys.append(speaker_key(speaker))
            self._known_speakers.add(self._speaker_keys[number])
        return number

    def _grow(self) -> None:
        capacity = max(64, len(self._vectors) + len(self._vectors) // 4)
        self._arrays = {name: _resize(column, capacity) for name, column in self._arrays.items()}
        self._vectors = _resize(self._vectors, capacity)

    def _best(self, rows: np.ndarray, scores: np.ndarray, *, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the `limit` best of `rows` by `scores`, and their scores; the newer is first among equals.

        Scores are compared with seven digits (float32), as in SQL.
        """
        rounded = -scores.astype(np.float32)
        if len(rows) > limit:
            kept = rounded <= np.partition(rounded, limit - 1)[limit - 1]
            rows, scores, rounded = rows[kept], scores[kept], rounded[kept]
        order = np.lexsort((~self.low[rows], ~self.high[rows], rounded))[:limit]
        return rows[order], scores[order]

    def _by_time(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the order of rows within their sessions; cached until a row changes.

        The first array has the rows that are alive and not preferences, grouped by session and by turns or others, in
        order of occurrence; the second has a number for the group of each; the third has the place of each row.
        """
        if self._places is None:
            rows = np.flatnonzero(self.alive & ~self.is_preference)
            parts = self.session[rows].astype(np.int64) * 2 + (self.turn[rows] < 0)
            order = np.lexsort((self.turn[rows], self.occurred[rows], parts))
            places = np.zeros(len(self), np.int64)
            places[rows[order]] = np.arange(len(rows))
            self._places = rows[order], parts[order], places
        return self._places


def _similarity(wanted: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    if not len(vectors):
        return np.zeros(0)
    return 1.0 - np.asarray(simsimd.cdist(wanted, vectors, metric="cosine"))[0]


def _resize(array: np.ndarray, length: int) -> np.ndarray:
    grown = np.zeros((length, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
