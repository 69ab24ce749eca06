"""Takes parts of a memory's text out of search and back; the rest of the memory stays in it.

A legal hold does not stop it: the text stays as it is, and `withdraw` brings every statement back.

Every function changes rows only and belongs inside the transaction that locks the memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory.enums import MemoryState
from memory.governance.settling import Retired
from memory.models import HOLDS_ON, Memory, RetiredStatement
from memory.models.memory import spans_of
from memory.services.index import entries
from memory.services.index.embedding import Embedded, text_to_embed
from memory.services.index.entries import Indexed
from memory.services.index.searchable_text import Span, searchable_text
from memory.services.jobs import queue
from memory.services.summaries import stale
from memory.text.analysis import terms
from memory.text.translatable import gettext_noop as _
from memory.text.utterances import live_text

# The actor of automatic retirements and supersessions, in links and in the audit log.
ACTOR = "rule:supersession"

# The reason when a language model decided an unsure pair; its explanation is kept with the pair (UnsurePair).
JUDGED = _("A language model judged that a newer memory takes its place.")


@dataclass(frozen=True, slots=True)
class RetiredBefore:
    """The statement at [start, end) of a memory that was retired before. `ended`: it no longer holds; otherwise it only
    left search. `withdrawn`: it counts again, for good."""

    start: int
    end: int
    ended: bool
    withdrawn: bool

    @property
    def holds(self) -> bool:
        """Return whether the statement holds although it is out of search."""
        return not (self.ended or self.withdrawn)


def list_retired(memory: Memory) -> list[RetiredBefore]:
    """List the retired statements of the memory, including withdrawn ones."""
    rows = _rows(memory).values_list("start", "end", "valid_to", "withdrawn_at")
    return [
        RetiredBefore(start, end, ended=valid_to < HOLDS_ON, withdrawn=withdrawn_at is not None)
        for start, end, valid_to, withdrawn_at in rows
    ]


def remaining_text(memory: Memory, retired: Sequence[Retired[UUID]], unsearched: Sequence[Span]) -> str:
    """Return the text by which the memory is searched without these statements too; '' when no word is left.

    `unsearched`: spans that are out of search already (`searchable_text.list_unsearched_spans`).
    """
    text = live_text(memory.text, [*unsearched, *((one.start, one.end) for one in retired)])
    return text if any(character.isalnum() for character in text) else ""


def retire(
    memory: Memory, retired: Sequence[Retired[UUID]], *, by: Memory, embedded: Embedded | None, now: datetime
) -> None:
    """Take the statements out of search; set `retired_spans`, `terms` and `length` of the memory.

    `embedded`: the vectors of the remaining text; None: the worker makes them.
    """
    gone = [(one.start, one.end) for one in retired]
    for start, end in gone:
        _rows(memory).filter(valid_to=HOLDS_ON, start__lt=end, end__gt=start).delete()
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
                reason=one.decision.reason,
                confidence=one.decision.confidence,
                terms=sorted(set(terms(text_to_embed(memory.text[one.start : one.end], memory.speaker)))),
                names=sorted(one.names),
                valid_to=max(by.holds_from, memory.holds_from),
                retired_at=now,
            )
            for one in retired
        ]
    )
    memory.retired_spans = [place for span in sorted([*spans_of(memory.retired_spans), *gone]) for place in span]
    _index_what_is_left(memory, embedded)
    stale.mark([memory])


def withdraw(memory: Memory, *, now: datetime, starts: Collection[int] | None = None) -> int:
    """Have retired statements of the memory count again, for good: all of them, or only the ones that begin at
    `starts`.

    Sets `retired_spans`, `terms` and `length` of the memory; returns how many statements count again.
    """
    rows = _rows(memory).filter(withdrawn_at=None)
    count = (rows if starts is None else rows.filter(start__in=starts)).update(withdrawn_at=now)
    if count:
        _follow_rows(memory)
    return count


def give_back(memory: Memory, *, by: Collection[UUID], embedded: Embedded | None) -> int:
    """Withdraw the statements that these newer memories retired; they may be retired again, because no person decided
    it.

    `embedded`: the vectors of the text of `remaining_text_after`; None: the worker makes them. Returns the number of
    withdrawn statements.
    """
    count = _rows(memory).filter(withdrawn_at=None, by__in=by).delete()[0]
    if count:
        _follow_rows(memory, embedded)
    return count


def remaining_text_after(memory: Memory, *, by: Collection[UUID]) -> str:
    """Return the text by which the memory is searched once the statements that these newer memories retired count
    again."""
    rows = _rows(memory).filter(withdrawn_at=None).exclude(by__in=by)
    return live_text(memory.text, rows.values_list("start", "end"))


def retire_again(memory: Memory, *, starts: Collection[int]) -> int:
    """Undo the withdrawal of the statements that begin at `starts`; set the fields that `withdraw` sets; return how
    many."""
    count = _rows(memory).filter(withdrawn_at__isnull=False, start__in=starts).update(withdrawn_at=None)
    if count:
        _follow_rows(memory)
    return count


def _rows(memory: Memory) -> QuerySet[RetiredStatement]:
    return RetiredStatement.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)


def _follow_rows(memory: Memory, embedded: Embedded | None = None) -> None:
    """Update the searched text of the memory to exclude the statements that its rows retire now."""
    rows = _rows(memory).filter(withdrawn_at=None, valid_to__lt=HOLDS_ON)
    spans = rows.order_by("start").values_list("start", "end")
    memory.retired_spans = [place for span in spans for place in span]
    _index_what_is_left(memory, embedded)
    stale.mark([memory])


def _index_what_is_left(memory: Memory, embedded: Embedded | None) -> None:
    names = entries.names_of([memory]).get(memory.pk, ())
    entry = Indexed.of(memory, text=searchable_text(memory), names=names)
    if memory.state == MemoryState.ACTIVE:
        entries.index_anew(memory, entry)
    else:
        memory.terms, memory.length = list(entry.frequencies), entry.length
    entries.replace_vectors(memory, embedded, searchable=memory.state == MemoryState.ACTIVE)
    if embedded is None:
        queue.enqueue(queue.EMBED_PENDING)
