"""What the machine took out of search, as people look at it: the pairs of the last days, and those of one memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.models import HOLDS_ON, Memory, RetiredStatement
from memory.models.paging import page_of
from memory.models.sql import fetch
from memory.services.memories import unsure_pairs
from memory.services.memories.retire import ACTOR, JUDGED
from memory.types import Access

# How long it is told as something that happened lately.
RECENT = timedelta(days=7)
COUNTED_AT_MOST = 1_000
# A place in the list: when it happened and the id of the row.
Cursor = tuple[datetime, uuid.UUID]


@dataclass(frozen=True, slots=True)
class Pair:
    """A part of `memory`, at [start, end) of its text, that holds no longer, and what `newer` says instead, at
    [by_start, by_end); None: it is gone. `whole`: all of the memory was superseded. `explanation`: why in the words of
    the language model that judged it, which may quote both; empty when a rule did."""

    id: uuid.UUID
    memory: Memory
    start: int
    end: int
    whole: bool
    newer_id: uuid.UUID
    newer: Memory | None
    by_start: int
    by_end: int
    reason: str
    confidence: float
    at: datetime
    explanation: str = ""

    @property
    def old_words(self) -> str:
        """What holds no longer."""
        return self.memory.text[self.start : self.end]

    @property
    def new_words(self) -> str:
        """What the newer memory says instead; empty when it is gone."""
        return self.newer.text[self.by_start : self.by_end] if self.newer else ""


# What a newer memory announced ("I no longer …") leaves with what it took back, and comes back with it: no pair.
_PAIRS = """
SELECT * FROM (
    (SELECT r.id, r.memory_id, r.start, r."end", false AS whole, r.by, r.by_start, r.by_end, r.reason, r.confidence,
            r.retired_at AS at
     FROM memory_retiredstatement r
     WHERE r.withdrawn_at IS NULL AND r.by <> r.memory_id AND r.retired_at >= %(since)s
       AND r.valid_to < %(holds_on)s
       AND (%(everywhere)s::bool OR r.namespace_id = ANY(%(namespaces)s::bigint[]))
       AND (%(before)s::timestamptz IS NULL OR (r.retired_at, r.id) < (%(before)s::timestamptz, %(below)s::uuid))
     ORDER BY r.retired_at DESC, r.id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT m.id, m.id, 0, length(m.text), true, m.superseded_by, 0, NULL, l.reason, l.confidence, m.superseded_at
     FROM memory_memory m
     JOIN memory_memorylink l ON l.namespace_id = m.namespace_id AND l.other_id = m.id AND l.kind = 'supersedes'
                              AND l.memory_id = m.superseded_by AND l.actor = %(machine)s
     WHERE m.superseded_by IS NOT NULL AND m.superseded_at >= %(since)s
       AND (%(everywhere)s::bool OR m.namespace_id = ANY(%(namespaces)s::bigint[]))
       AND (%(before)s::timestamptz IS NULL OR (m.superseded_at, m.id) < (%(before)s::timestamptz, %(below)s::uuid))
     ORDER BY m.superseded_at DESC, m.id DESC LIMIT %(limit)s)
) AS pairs ORDER BY at DESC, id DESC LIMIT %(limit)s
"""


def recent(
    access: Access, *, since: datetime, cursor: Cursor | None = None, limit: int
) -> tuple[list[Pair], Cursor | None]:
    """What was retired and superseded since then and still is, newest first, and the place of the page after."""
    rows = fetch(_PAIRS, _parameters(access, since=since, cursor=cursor, limit=limit + 1), prepared=False)
    page, following = page_of(rows, limit)
    pairs = _add_explanations([pair for pair in _pairs(access, page) if pair is not None])
    return pairs, (page[-1][-1], page[-1][0]) if following else None


def count_recent(access: Access, *, since: datetime) -> int:
    """How many pairs `recent` has; COUNTED_AT_MOST and one more stand for "more"."""
    rows = fetch(
        f"SELECT count(*) FROM ({_PAIRS}) AS counted",  # noqa: S608 - a constant of this file
        _parameters(access, since=since, cursor=None, limit=COUNTED_AT_MOST + 1),
        prepared=False,
    )
    return int(rows[0][0])


def list_parts(memory: Memory) -> list[Pair]:
    """The parts of a memory that hold no longer, in their order."""
    rows = RetiredStatement.objects.filter(
        namespace_id=memory.namespace_id, memory_id=memory.pk, withdrawn_at=None, valid_to__lt=HOLDS_ON
    ).order_by("start")
    newer = _memories(memory.namespace_id, {row.by for row in rows})
    pairs = [
        Pair(
            row.pk, memory, row.start, row.end, False, row.by, newer.get(row.by), row.by_start, row.by_end,
            row.reason, row.confidence, row.retired_at,
        )
        for row in rows
    ]  # fmt: skip
    return _add_explanations(pairs)


def count_parts(memory: Memory) -> int:
    """How many parts of it hold no longer."""
    return len(memory.retired_spans) // 2


def _parameters(access: Access, *, since: datetime, cursor: Cursor | None, limit: int) -> dict[str, object]:
    before, below = cursor or (None, None)
    return {
        "since": since,
        "holds_on": HOLDS_ON,
        "machine": ACTOR,
        "everywhere": access.all_namespaces,
        "namespaces": sorted(access.namespace_ids),
        "before": before,
        "below": below,
        "limit": limit,
    }


def _pairs(access: Access, rows: Collection[tuple]) -> list[Pair | None]:
    named = {identity for row in rows for identity in (row[1], row[5])}
    found = {
        one.pk: one for one in Memory.objects.reachable_by(access).filter(pk__in=named).select_related("namespace")
    }
    pairs: list[Pair | None] = []
    for identity, memory_id, start, end, whole, by, by_start, by_end, reason, confidence, at in rows:
        memory, newer = found.get(memory_id), found.get(by)
        until = by_end or (len(newer.text) if newer is not None else 0)
        pairs.append(
            Pair(identity, memory, start, end, whole, by, newer, by_start, until, reason, confidence, at)
            if memory is not None
            else None
        )
    return pairs


def _add_explanations(pairs: list[Pair]) -> list[Pair]:
    """The pairs, those that a language model judged with what it said."""
    judged = [(one.memory.namespace_id, one.memory.pk, one.newer_id) for one in pairs if one.reason == JUDGED]
    said = unsure_pairs.explanations(judged) if judged else {}
    return [
        replace(one, explanation=said.get((one.memory.pk, one.newer_id, None if one.whole else one.start), ""))
        if one.reason == JUDGED
        else one
        for one in pairs
    ]


def _memories(namespace_id: int, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Memory]:
    return {one.pk: one for one in Memory.objects.filter(namespace_id=namespace_id, pk__in=ids)}
