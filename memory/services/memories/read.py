"""Reads memories one by one and in pages, and reads the history of one of them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, Count, Exists, OuterRef, Q, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.lookups import Exact
from psycopg.errors import QueryCanceled

from memory.enums import MemoryKind, MemoryState
from memory.errors import NotFound, SearchTimedOut
from memory.kinds import kind_of
from memory.models import (
    HOLDS_ON,
    AuditLog,
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryVersion,
    Posting,
    ProjectedMemory,
    RetiredStatement,
)
from memory.models.audit import FREQUENT
from memory.models.keys import id_after
from memory.models.memory import MemoryQuerySet, spans_of
from memory.models.paging import page_of
from memory.models.sql import positional
from memory.retrieval.filters import Filter
from memory.retrieval.predicate import predicate
from memory.services.facts.sources import sources_of
from memory.services.memories import unsure_pairs
from memory.services.memories.change import state_of
from memory.services.memories.retire import JUDGED
from memory.text.analysis import terms
from memory.types import Access, Scope

# The ingest event of a memory may be written this long after its id was made: embedding a batch takes time.
_INGEST_WITHIN = timedelta(minutes=15)
# Counting stops at this many postings of a word when the rarest of several words is looked for.
_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """The filters of a list of memories; None matches all. A memory must contain all `words`, in any of their forms.

    `topic`: the number of a topic of the map. `since` and `until` bound the time it happened; `until` is excluded.
    `current`: whether it still holds.
    """

    session: str | None = None
    speaker: str | None = None
    role: str | None = None
    tier: str | None = None
    kind: str | None = None
    topic: int | None = None
    state: str | None = MemoryState.ACTIVE
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None
    pinned: bool | None = None
    review: bool | None = None
    current: bool | None = None
    cursor: uuid.UUID | None = None
    limit: int = 50


def list_memories(
    scope: Scope, *, wanted: MemoryFilter, now: datetime
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return a page of the namespace's memories, newest recorded first, and the cursor of the next one (None: no next
    page).

    Counts nothing. Raises SearchTimedOut when too many rows had to be read.
    """
    with _limit_time():
        page, following = page_of(_select(scope, wanted, now=now), wanted.limit)
    sources = list_sources(page)
    return [to_dict(memory, sources) for memory in page], page[-1].pk if following else None


def list_slice(
    scope: Scope, *, wanted: MemoryFilter, offset: int, now: datetime, where: Filter | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Return the namespace's memories that match `where`, from the `offset`th on, newest recorded first, and their
    total number.

    Raises as `list_memories`.
    """
    with _limit_time():
        rows = meet(_select(scope, wanted, now=now), where)
        part, total = list(rows[offset : offset + wanted.limit]), rows.count()
    sources = list_sources(part)
    return [to_dict(memory, sources) for memory in part], total


def _select(scope: Scope, wanted: MemoryFilter, *, now: datetime) -> MemoryQuerySet:
    """Select the rows of the list; to be called in a transaction."""
    rows = narrow_rows(Memory.objects.in_scope(scope), wanted, now=now)
    if wanted.words is not None:
        rows = _with_words(rows, scope, wanted)
    return rows.select_related("namespace").defer("terms", "content_hash").order_by("-pk")


@contextmanager
def _limit_time() -> Iterator[None]:
    """Open a transaction with the statement timeout of a search. Raises SearchTimedOut."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {settings.MEMOS_SEARCH_TIMEOUT_MS:d}")
            yield
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise SearchTimedOut(
            f"The list took longer than {settings.MEMOS_SEARCH_TIMEOUT_MS} ms and was ended. Name a session, a shorter "
            "time or rarer words."
        ) from error


def get_memory(access: Access, *, memory_id: uuid.UUID) -> dict[str, Any]:
    """Return one memory in any state; from a read share, only an active one. Raises NotFound."""
    memory = _get_reachable(access, memory_id)
    return to_dict(memory, list_sources([memory]))


def get_many(scope: Scope, memory_ids: Sequence[uuid.UUID]) -> list[dict[str, Any]]:
    """Return the named memories of the namespace in the given order, in any state; missing ones are left out."""
    rows = Memory.objects.in_scope(scope).filter(pk__in=memory_ids).select_related("namespace")
    found = {memory.pk: memory for memory in rows}
    present = [found[identity] for identity in memory_ids if identity in found]
    sources = list_sources(present)
    return [to_dict(memory, sources) for memory in present]


def get_reachable(access: Access, memory_ids: Sequence[uuid.UUID]) -> list[dict[str, Any]]:
    """Return the named memories that the caller reaches in the given order, each once; missing ones are left out."""
    rows = _select_shown(access).filter(pk__in=memory_ids).select_related("namespace")
    found = {memory.pk: memory for memory in rows}
    present = [found[identity] for identity in dict.fromkeys(memory_ids) if identity in found]
    sources = list_sources(present)
    return [to_dict(memory, sources) for memory in present]


def history(access: Access, *, memory_id: uuid.UUID, limit: int) -> dict[str, Any]:
    """Return the history of a memory, newest first: former versions, audit events, links, opinions and retired
    statements, at most `limit` of each. From a read share, only retired statements and links, without reasons and
    actors.

    Raises NotFound.
    """
    memory = _get_reachable(access, memory_id)
    own = {"namespace_id": memory.namespace_id, "memory_id": memory.pk}
    links = MemoryLink.objects.filter(Q(memory_id=memory.pk) | Q(other_id=memory.pk), namespace_id=memory.namespace_id)
    retired = list(RetiredStatement.objects.filter(**own)[:limit])
    shown_links = list(links[:limit])
    said = _explain_judgements(memory, retired, shown_links)
    told = {
        "memory": to_dict(memory, list_sources([memory])),
        "versions": [
            {
                "id": str(version.pk),
                "revision": version.revision,
                "text": version.text,
                "metadata": version.metadata,
                "speaker": version.speaker,
                "occurred_at": version.occurred_at.isoformat() if version.occurred_at else None,
                "reason": version.reason,
                "actor": version.actor,
                "replaced_at": version.replaced_at.isoformat(),
            }
            for version in MemoryVersion.objects.filter(**own)[:limit]
        ],
        "events": [
            {
                "id": str(event.pk),
                "event_type": event.event_type,
                "details": event.details,
                "actor": event.actor,
                "request_id": event.request_id,
                "created_at": event.created_at.isoformat(),
            }
            for event in _events(memory, limit)
        ],
        "links": [
            {
                "memory_id": str(link.memory_id),
                "kind": link.kind,
                "other_id": str(link.other_id),
                "reason": _why(link.reason, said, link.other_id, link.memory_id, None),
                "confidence": link.confidence,
                "actor": link.actor,
                "created_at": link.created_at.isoformat(),
            }
            for link in shown_links
        ],
        "retired": [
            {
                "start": row.start,
                "end": row.end,
                "text": memory.text[row.start : row.end],
                "by": str(row.by),
                "by_start": row.by_start,
                "by_end": row.by_end,
                "reason": _why(row.reason, said, memory.pk, row.by, row.start),
                "confidence": row.confidence,
                "valid_to": row.valid_to.isoformat() if row.valid_to < HOLDS_ON else None,
                "retired_at": row.retired_at.isoformat(),
                "withdrawn_at": row.withdrawn_at.isoformat() if row.withdrawn_at else None,
            }
            for row in retired
        ],
        "feedback": [
            {
                "kind": opinion.kind,
                "note": opinion.note,
                "actor": opinion.actor,
                "created_at": opinion.created_at.isoformat(),
            }
            for opinion in MemoryFeedback.objects.filter(**own).order_by("-created_at")[:limit]
        ],
    }
    return _without_others(told) if access.reads_share_of(memory.namespace_id) else told


def _without_others(told: dict[str, Any]) -> dict[str, Any]:
    """Remove from a history the owners' changes, reasons and actors."""
    links = [{**link, "reason": "", "actor": ""} for link in told["links"]]
    retired = [{**statement, "reason": ""} for statement in told["retired"]]
    return {**told, "versions": [], "events": [], "feedback": [], "links": links, "retired": retired}


def _why(reason: str, said: Mapping[unsure_pairs.Place, str], *place: Any) -> str:
    """Return a stored reason, or the explanation of the language model that judged."""
    return said.get((place[0], place[1], place[2]), reason) if reason == JUDGED else reason


def _explain_judgements(
    memory: Memory, retired: Sequence[RetiredStatement], links: Sequence[MemoryLink]
) -> dict[unsure_pairs.Place, str]:
    """Return the language model's explanations of the statements and links that it judged."""
    pairs = [(memory.namespace_id, memory.pk, row.by) for row in retired if row.reason == JUDGED]
    pairs += [(memory.namespace_id, link.other_id, link.memory_id) for link in links if link.reason == JUDGED]
    return {place: unsure_pairs.in_words(said) for place, said in unsure_pairs.explanations(pairs).items() if said}


def list_sources(memories: Sequence[Memory]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the sources of those of the memories that are facts, preferences or replies, by their ids."""
    made = [
        memory
        for memory in memories
        if "answer" in memory.metadata or _kind(memory) in (MemoryKind.FACT, MemoryKind.PREFERENCE)
    ]
    return sources_of({memory.namespace_id for memory in made}, [memory.pk for memory in made])


def _kind(memory: Memory) -> MemoryKind:
    return kind_of(
        role=memory.role,
        session=memory.session,
        turn=memory.turn,
        importance=memory.importance,
        is_preference=memory.is_preference,
    )


def to_dict(memory: Memory, sources: Mapping[uuid.UUID, Sequence[uuid.UUID]]) -> dict[str, Any]:
    """Return a memory as clients see it. `sources`: the result of `list_sources`."""
    return {
        **state_of(memory),
        "kind": _kind(memory).value,
        "sources": [str(source) for source in sources.get(memory.pk, ())],
        "session_id": memory.session,
        "turn": memory.turn,
        "role": memory.role,
        "speaker": memory.speaker,
        "text": memory.text,
        "metadata": memory.metadata,
        "tier": memory.tier,
        "tokens": memory.tokens,
        "retired_statements": [list(span) for span in spans_of(memory.retired_spans)],
        "created_at": memory.created_at.isoformat(),
    }


def _get_reachable(access: Access, memory_id: uuid.UUID) -> Memory:
    memory = _select_shown(access).filter(pk=memory_id).select_related("namespace").first()
    if memory is None:
        raise NotFound(f"There is no memory {memory_id} that this key reaches.", detail={"field": "memory_id"})
    return memory


def _select_shown(access: Access) -> MemoryQuerySet:
    """Select the memories that the caller may look at one by one: a read share excludes archived memories."""
    rows = Memory.objects.reachable_by(access)
    shared = [identity for identity, _ in access.shares if access.reads_share_of(identity)]
    return rows.exclude(~Q(state=MemoryState.ACTIVE), namespace_id__in=shared) if shared else rows


def meet(rows: MemoryQuerySet, where: Filter | None) -> MemoryQuerySet:
    """Filter the rows by a metadata filter."""
    condition = predicate(where)
    if condition is None:
        return rows
    # Django uses the table's name, not an alias. Clients' values are bound parameters, not part of the statement.
    statement, values = positional(re.sub(r"\bm\.", "memory_memory.", condition.sql), condition.parameters)
    return rows.filter(RawSQL(statement, values, output_field=BooleanField()))  # noqa: S611 - see above


def narrow_rows(rows: MemoryQuerySet, wanted: MemoryFilter, *, now: datetime) -> MemoryQuerySet:
    """Apply every filter of the list except `words`."""
    equal = {name: getattr(wanted, name) for name in ("session", "speaker", "role", "tier", "state", "pinned")}
    rows = rows.filter(**{name: value for name, value in equal.items() if value is not None})
    if wanted.kind is not None:
        rows = rows.of_kind(wanted.kind)
    if wanted.topic is not None:
        rows = rows.filter(Exists(ProjectedMemory.objects.of_memory().filter(cluster=wanted.topic)))
    if wanted.since is not None:
        rows = rows.filter(occurred_at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(occurred_at__lt=wanted.until)
    if wanted.review is not None:
        rows = rows.exclude(review="") if wanted.review else rows.filter(review="")
    if wanted.current is not None:
        holds = Q(valid_to=None) | Q(valid_to__gt=now)
        rows = rows.filter(holds if wanted.current else ~holds)
    if wanted.cursor is not None:
        rows = rows.filter(pk__lt=wanted.cursor)
    return rows


def _with_words(rows: MemoryQuerySet, scope: Scope, wanted: MemoryFilter) -> MemoryQuerySet:
    """Narrow the page to memories with all the words. Changes the planner settings of the caller's transaction
    meanwhile."""
    found = set(terms(wanted.words or ""))
    if not found or wanted.state != MemoryState.ACTIVE:
        # Only active memories have postings; each memory keeps its terms.
        return hold_words(rows, wanted.words or "")
    postings = Posting.objects.in_scope(scope)
    if wanted.cursor is not None:
        postings = postings.filter(memory_id__lt=wanted.cursor)
    # The postings of a term are in the order of the list. PostgreSQL, which has no statistics of a namespace, would
    # gather and sort all of them (measured with a word in each of 200,000 memories: 1.3 s).
    _plan(in_order=True)
    rarest, *others = sorted(found)
    if others:
        rarest, *others = sorted(found, key=lambda term: (postings.filter(term=term)[:_COUNTED].count(), term))
    page = postings.filter(Exists(rows.filter(pk=OuterRef("memory_id"))), term=rarest)
    if others:
        # Use a count instead of EXISTS, which the planner would join in an order of its choice.
        own = postings.filter(term__in=others, memory_id=OuterRef("memory_id")).values("namespace_id")
        page = page.filter(Exact(Subquery(own.annotate(number=Count("term")).values("number")), len(others)))
    identities = list(page.order_by("-memory_id").values_list("memory_id", flat=True)[: wanted.limit + 1])
    _plan(in_order=False)
    return Memory.objects.in_scope(scope).filter(pk__in=identities)


def hold_words(rows: MemoryQuerySet, words: str) -> MemoryQuerySet:
    """Narrow `rows` to memories with all the words, without the postings; words that are not indexed (the, of, 的,
    emoji) are searched for as they are written."""
    found = set(terms(words))
    return rows.filter(terms__contains=sorted(found)) if found else rows.filter(text__icontains=words.strip())


def _plan(*, in_order: bool) -> None:
    """Make PostgreSQL read in index order and probe for the rest, or plan freely again; within the transaction."""
    names = ("enable_sort", "enable_hashjoin", "enable_mergejoin", "enable_bitmapscan")
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"SET LOCAL {name} = {'off' if in_order else 'DEFAULT'}" for name in names))


def _events(memory: Memory, limit: int) -> list[AuditLog]:
    """Return the decisions about the memory, newest first, and last its ingest event, if that still exists."""
    mine = AuditLog.objects.filter(namespace_id=memory.namespace_id, subject=str(memory.pk))
    decisions = list(mine.exclude(event_type__in=FREQUENT).order_by("-pk")[:limit])
    # Events that every turn makes have no index by their subject, but ids sort by time.
    made = mine.filter(session=memory.session, pk__gt=memory.pk, pk__lt=id_after(memory.pk, _INGEST_WITHIN))
    return [*decisions, *made.filter(event_type="INGEST")[:1]][:limit]
