"""Reads a namespace's index from PostgreSQL: all of it, the ids that changed since, and the changed memories."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.enums import MemoryState, Role
from memory.models.arrays import uuid_array
from memory.models.sql import fetch
from memory.postgresql.base import open_connection
from memory.retrieval.candidate_features import QUESTION_TOKENS
from memory.retrieval.columns.columns import Columns, Row, TermStatistics
from memory.retrieval.columns.terms import TermIndex

# The changes of transactions that the snapshot `seen` did not see. It has seen all transactions before `oldest`.
CHANGES = """(
    SELECT pg_current_snapshot()::text AS snapshot, s.memories, s.terms, c.memory_ids, c.alias_ids
    FROM (
        SELECT coalesce(sum(memories), 0)::bigint AS memories, coalesce(sum(terms), 0)::bigint AS terms
        FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s
    ) AS s, (
        SELECT array_agg(DISTINCT subject::text) FILTER (WHERE NOT of_alias) AS memory_ids,
               array_agg(DISTINCT subject::text) FILTER (WHERE of_alias) AS alias_ids
        FROM memory_indexchange
        WHERE namespace_id = %(namespace_id)s AND transaction >= %(oldest)s
          AND NOT pg_visible_in_snapshot(transaction::text::xid8, %(seen)s::pg_snapshot)
    ) AS c
)"""
_CHANGES = f"SELECT * FROM {CHANGES} AS changes"  # noqa: S608 - the text above

_MEMORIES = """
SELECT m.id::text, m.session::text, m.turn, m.speaker::text, m.role = %(agent)s,
       m.tokens < %(question_tokens)s AND right(rtrim(m.text), 1) IN ('?', '？'),
       m.is_preference, m.tokens, m.length, m.importance, extract(epoch FROM m.occurred_at)::float8,
       coalesce(extract(epoch FROM m.valid_to)::float8, 'infinity'), m.state = %(state)s
FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s {those}
ORDER BY m.id
"""
_VECTORS = """
SELECT memory_id::text, embedding FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable {those}
ORDER BY memory_id, passage
"""
_POSTINGS = """
SELECT memory_id::text, array_agg(term::text), array_agg(frequency), max(length) FROM memory_posting
WHERE namespace_id = %(namespace_id)s AND memory_id = ANY(%(ids)s::uuid[]) GROUP BY memory_id
"""
_ALL_POSTINGS = """
SELECT term::text, string_agg(uuid_send(memory_id), ''), string_agg(int2send(frequency), ''),
       string_agg(int4send(length), '')
FROM memory_posting
WHERE namespace_id = %(namespace_id)s GROUP BY term
"""
_MENTIONS = """
SELECT memory_id::text, array_agg(alias::text) FROM memory_entitymention
WHERE namespace_id = %(namespace_id)s AND active {those} GROUP BY memory_id
"""
_ALIASES = """
SELECT id::text, key::text, entity::text FROM memory_entityalias WHERE namespace_id = %(namespace_id)s {those}
"""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Holds a snapshot of the transactions that have been seen, in PostgreSQL's text form `xmin:xmax:in progress`."""

    text: str

    @property
    def oldest(self) -> int:
        """Returns the id of the first transaction that may not have been seen; all committed ones before it have."""
        return int(self.text.split(":", 1)[0])

    def is_after(self, other: Snapshot) -> bool:
        """Tells whether it has seen everything that the other has."""
        return all(own >= others for own, others in zip(self._bounds, other._bounds, strict=True))

    @property
    def _bounds(self) -> tuple[int, int]:
        first, end, _ = self.text.split(":", 2)
        return int(first), int(end)


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds what changed between two snapshots: ids of memories and of names of entities.

    `seen`: the later snapshot, which was taken after `started` (monotonic seconds). `statistics`: those of the
    namespace as of then.
    """

    seen: Snapshot
    statistics: TermStatistics
    memory_ids: list[str]
    alias_ids: list[str]
    started: float


@dataclass(frozen=True, slots=True)
class Changed:
    """Holds changed memories and names as they are now.

    `rows`: searchable memories. `out_of_search`: ids of memories that exist but are not searched. `gone`: ids of
    memories that no longer exist. `aliases`: (id, key, entity) of names.
    """

    rows: list[Row]
    out_of_search: list[str]
    gone: list[str]
    aliases: list[tuple[str, str, str]]


def read_changes(namespace_id: int, seen: Snapshot) -> Changes:
    """Reads the changes since `seen`."""
    started = time.monotonic()
    [row] = fetch(_CHANGES, parameters_of_changes(seen) | {"namespace_id": namespace_id}, prepared=True, by_key=True)
    return changes_of(row, started)


def parameters_of_changes(seen: Snapshot) -> dict[str, Any]:
    """Returns the parameters of CHANGES besides `namespace_id`."""
    return {"seen": seen.text, "oldest": seen.oldest}


def changes_of(row: Sequence[Any], started: float) -> Changes:
    """Makes Changes of a row of CHANGES that was requested at `started` (monotonic seconds)."""
    snapshot, memories, terms, memory_ids, alias_ids = row
    return Changes(Snapshot(snapshot), TermStatistics(memories, terms), memory_ids or [], alias_ids or [], started)


def read_all(namespace_id: int, model_id: int, dimensions: int) -> tuple[Columns, Snapshot]:
    """Reads the whole index in one snapshot, and returns the columns and the snapshot."""
    # The settings of row-level security are sent now; inside, they would come before SET TRANSACTION, which must be the
    # first statement of a transaction.
    open_connection().send_reach()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SELECT pg_current_snapshot()::text")
            snapshot = Snapshot(cursor.fetchone()[0])
        columns = Columns(dimensions)
        place = {"namespace_id": namespace_id, "model_id": model_id}
        rows = list(_rows(place, those="", of_memory="", dimensions=dimensions))
        numbers = {row.id: number for number, row in enumerate(rows)}
        columns.fill(rows, *_all_postings(place, numbers))
        for alias, key, entity in fetch(_ALIASES.format(those=""), place, prepared=False):
            columns.names.put(alias, key, entity)
    return columns, snapshot


def read_changed(namespace_id: int, model_id: int, dimensions: int, changes: Changes) -> Changed:
    """Reads the current state of the memories and names of `changes`."""
    place = {"namespace_id": namespace_id, "model_id": model_id, "ids": uuid_array(changes.memory_ids)}
    rows: list[Row] = []
    there: set[str] = set()
    if changes.memory_ids:
        postings = {row[0]: row for row in fetch(_POSTINGS, place, prepared=True)}
        those = ("AND m.id = ANY(%(ids)s::uuid[])", "AND memory_id = ANY(%(ids)s::uuid[])")
        found = _rows(place, those=those[0], of_memory=those[1], dimensions=dimensions, there=there)
        for row in found:
            _, terms, frequencies, length = postings.get(row.id, (row.id, [], [], 0))
            rows.append(row._replace(postings=list(zip(terms, frequencies, strict=True)), length=length))
    aliases: list[tuple[str, str, str]] = []
    if changes.alias_ids:
        those_aliases = {"namespace_id": namespace_id, "ids": uuid_array(changes.alias_ids)}
        statement = _ALIASES.format(those="AND id = ANY(%(ids)s::uuid[])")
        aliases = fetch(statement, those_aliases, prepared=True)
    searched = {row.id for row in rows}
    return Changed(
        rows,
        [identity for identity in changes.memory_ids if identity in there and identity not in searched],
        [identity for identity in changes.memory_ids if identity not in there],
        aliases,
    )


def _rows(
    place: dict[str, Any], *, those: str, of_memory: str, dimensions: int, there: set[str] | None = None
) -> Iterator[Row]:
    """Yields the searchable memories without their postings; adds the ids of all existing ones to `there`."""
    prepared = bool(those)
    fixed = {"agent": Role.AGENT.value, "state": MemoryState.ACTIVE.value, "question_tokens": QUESTION_TOKENS}
    vectors: dict[str, list[np.ndarray]] = defaultdict(list)
    for memory_id, packed in fetch(_VECTORS.format(those=of_memory), place, prepared=prepared, binary=True):
        vectors[memory_id].append(_unpack(packed))
    mentions = dict(fetch(_MENTIONS.format(those=of_memory), place, prepared=prepared))
    none = np.zeros((0, dimensions), np.float16)
    for row in fetch(_MEMORIES.format(those=those), place | fixed, prepared=prepared):
        identity, is_searched = row[0], row[-1]
        if there is not None:
            there.add(identity)
        if is_searched:
            own = vectors.get(identity)
            vectors_of_it = np.array(own) if own else none
            yield Row._make([*row[:-1], vectors_of_it, (), mentions.get(identity, ())])


def _unpack(packed: Any) -> np.ndarray:
    """Unpacks a half-precision vector in pgvector's binary form: two 16-bit integers, then the values, big-endian."""
    return np.frombuffer(packed, ">f2", offset=4).astype(np.float16)


def _all_postings(place: dict[str, Any], numbers: dict[str, int]) -> tuple[TermIndex, np.ndarray]:
    """Reads the postings of all memories, and the length of each in terms. `numbers`: the rows by id, in that order."""
    known = np.array([bytes.fromhex(identity.replace("-", "")) for identity in numbers], dtype="S16")
    lengths = np.zeros(len(known), np.int32)
    terms: list[str] = []
    rows: list[np.ndarray] = []
    frequencies: list[np.ndarray] = []
    for term, ids, packed, packed_lengths in fetch(_ALL_POSTINGS, place, prepared=False, binary=True):
        holders = np.frombuffer(ids, "S16")
        found = np.minimum(np.searchsorted(known, holders), max(len(known) - 1, 0))
        here = known[found] == holders if len(known) else np.zeros(len(holders), dtype=bool)
        terms.append(term)
        rows.append(found[here].astype(np.int32))
        frequencies.append(np.frombuffer(packed, ">i2")[here].astype(np.int16))
        lengths[rows[-1]] = np.frombuffer(packed_lengths, ">i4")[here]
    return TermIndex.of_terms(terms, rows, frequencies), lengths
