"""Takes statements of a memory out of search and back; the rest of the memory stays in it.

Every function changes rows only and belongs inside the transaction that locks the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.enums import ChangeKind, MemoryState
from memory.governance.conflicts import Decision
from memory.models import Memory, RetiredStatement
from memory.models.memory import spans_of
from memory.services import index, queue
from memory.services.change import MAX_REASON_CHARS
from memory.services.embedding import Embedded, embedded_text
from memory.services.index import Indexed
from memory.text.analysis import terms
from memory.text.utterances import Statement, live_text

_REASONS = {
    ChangeKind.RETRACTS: "A newer memory takes it back.",
    ChangeKind.CLOSES: "A newer memory says that it is done.",
    ChangeKind.REPLACES: "A newer memory puts something else in its place.",
}


@dataclass(frozen=True, slots=True)
class Going:
    """A statement that is to leave search, at [start, end); `by` is what the newer memory says."""

    start: int
    end: int
    by: Statement
    decision: Decision
    names: frozenset[str] = field(default=frozenset())


def reason_of(decision: Decision) -> str:
    """Why, in a sentence that quotes neither memory: it stays when the newer one is erased."""
    return (_REASONS[decision.change.kind] if decision.change else decision.reason)[:MAX_REASON_CHARS]


def left_of(memory: Memory, going: Sequence[Going]) -> str:
    """What the memory says when these statements are gone too; empty when no word is left."""
    spans = [*spans_of(memory.retired_spans), *((one.start, one.end) for one in going)]
    text = live_text(memory.text, spans)
    return text if any(character.isalnum() for character in text) else ""


def retire(memory: Memory, going: Sequence[Going], *, by: Memory, embedded: Embedded | None, now: datetime) -> None:
    """Takes the statements out of search; sets `retired_spans`, `terms` and `length` of the memory.

    `embedded`: the vectors of what is left; None: the worker makes them.
    """
    RetiredStatement.objects.bulk_create(
        [
            RetiredStatement(
                namespace_id=memory.namespace_id,
                memory_id=memory.pk,
                start=one.start,
                end=one.end,
                by=by.pk,
                by_start=one.by.start,
                by_end=one.by.end,
                reason=reason_of(one.decision),
                confidence=one.decision.confidence,
                terms=sorted(set(terms(embedded_text(memory.text[one.start : one.end], memory.speaker)))),
                names=sorted(one.names),
                valid_to=max(by.holds_from, memory.holds_from),
                retired_at=now,
            )
            for one in going
        ]
    )
    spans = sorted([*spans_of(memory.retired_spans), *((one.start, one.end) for one in going)])
    memory.retired_spans = [place for span in spans for place in span]
    _index_what_is_left(memory, embedded)


def withdraw(memory: Memory, *, now: datetime) -> None:
    """Has every statement of the memory count again; sets `retired_spans`, `terms` and `length` of it."""
    rows = RetiredStatement.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk, withdrawn_at=None)
    rows.update(withdrawn_at=now)
    memory.retired_spans = []
    _index_what_is_left(memory, None)


def _index_what_is_left(memory: Memory, embedded: Embedded | None) -> None:
    names = index.names_of([memory]).get(memory.pk, ())
    entry = Indexed.of(memory, text=memory.live, names=names)
    if memory.state == MemoryState.ACTIVE:
        index.index_anew(memory, entry)
    else:
        memory.terms, memory.length = list(entry.frequencies), entry.length
    index.replace_vectors(memory, embedded, searchable=memory.state == MemoryState.ACTIVE)
    if embedded is None:
        queue.enqueue(queue.EMBED_PENDING)
