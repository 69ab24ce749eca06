"""Lists automatic retirements and supersessions for people: those of the last days, and those of one memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.models import HOLDS_ON, Memory, RetiredStatement
from memory.models.paging import page_of
from memory.models.queries import memories as queries
from memory.services.memories import unsure_pairs
from memory.services.memories.retire import ACTOR, JUDGED
from memory.types import Access

# The age up to which a pair counts as recent.
RECENT = timedelta(days=7)
COUNTED_AT_MOST = 1_000
# A position in the list: when it happened and the id of the row.
Cursor = tuple[datetime, uuid.UUID]


@dataclass(frozen=True, slots=True)
class Pair:
    """A part of `memory`, at [start, end) of its text, that no longer holds, and what `newer` says instead, at
    [by_start, by_end); `newer` is None when it is gone. `whole`: all of the memory was superseded. `explanation`: the
    reason in the words of the language model that judged the pair, which may quote both; '' when a rule did."""

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
        """The words that no longer hold."""
        return self.memory.text[self.start : self.end]

    @property
    def new_words(self) -> str:
        """The newer memory's words; '' when it is gone."""
        return self.newer.text[self.by_start : self.by_end] if self.newer else ""


def recent(
    access: Access, *, since: datetime, cursor: Cursor | None = None, limit: int
) -> tuple[list[Pair], Cursor | None]:
    """Return a page of what was retired and superseded since then and still is, newest first, and the next page's
    cursor."""
    rows = queries.list_replaced(_namespaces(access), since=since, actor=ACTOR, before=cursor, limit=limit + 1)
    page, following = page_of(rows, limit)
    pairs = _add_explanations([pair for pair in _pairs(access, page) if pair is not None])
    return pairs, (page[-1][-1], page[-1][0]) if following else None


def count_recent(access: Access, *, since: datetime) -> int:
    """Count the pairs of `recent`; COUNTED_AT_MOST + 1 stands for more than COUNTED_AT_MOST."""
    return queries.count_replaced(_namespaces(access), since=since, actor=ACTOR, most=COUNTED_AT_MOST + 1)


def list_parts(memory: Memory) -> list[Pair]:
    """Return the parts of a memory that no longer hold, in their order."""
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
    """Return the number of parts of the memory that no longer hold."""
    return len(memory.retired_spans) // 2


def _namespaces(access: Access) -> frozenset[int] | None:
    return None if access.all_namespaces else access.namespace_ids


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
    """Add the model's explanation to each pair that a language model judged."""
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
