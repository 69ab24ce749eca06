"""Reads entities for staff: their number, when one is mentioned, the evidence of an edge, and changes of names."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Q

from memory.enums import AuditEvent
from memory.models import AuditLog, Entity, EntityAlias, EntityMention, Memory
from memory.models.paging import page_of
from memory.models.queries import entities as queries
from memory.services.entities.listing import Cursor, to_dicts
from memory.text.names import name_key
from memory.text.periods import period
from memory.text.sentences import split_sentences
from memory.types import Access, Scope

COUNTED_AT_MOST = 1_000
EVIDENCE_CHARS = 220
MAX_MONTHS = 600
SHOWN_CHANGES = 20


@dataclass(frozen=True, slots=True)
class NameChange:
    """A merge or split of an entity. `aliases`: the names that moved; `other`: the entity on the other side."""

    event: str
    other: uuid.UUID | None
    aliases: list[uuid.UUID]
    reason: str
    actor: str
    at: datetime


class Rank(NamedTuple):
    """The position at which the next page of the most mentioned entities begins."""

    mentions: int
    id: uuid.UUID


def counts(access: Access, *, limit: int) -> list[tuple[str, int]]:
    """Count the entities that memories mention, by namespace; COUNTED_AT_MOST + 1 stands for more."""
    namespaces = None if access.all_namespaces else access.namespace_ids
    return queries.count_by_namespace(namespaces, most=COUNTED_AT_MOST + 1, limit=limit)


def find_entity(access: Access, *, entity_id: uuid.UUID) -> Entity | None:
    """Return the entity, merged or not; None if it is out of reach or does not exist."""
    return Entity.objects.reachable_by(access).filter(id=entity_id).select_related("namespace").first()


def list_most_mentioned(
    scope: Scope, *, kind: str | None, begins: str, cursor: Rank | None, limit: int
) -> tuple[list[dict[str, Any]], Rank | None]:
    """Return a page of the entities that memories mention, most mentioned first, and where the next page begins.

    The filters are those of `listing.entities`, which sorts by age. An entity that is mentioned meanwhile may
    move between pages.
    """
    rows = queries.rank_entities(
        scope.namespace_id,
        kind=kind or "",
        begins=name_key(begins) or begins,
        below=cursor.mentions if cursor else None,
        last=cursor.id if cursor else None,
        limit=limit + 1,
    )
    ranks = [Rank(int(mentions), identity) for identity, mentions in rows]
    page, following = page_of(ranks, limit)
    found = Entity.objects.in_scope(scope).filter(id__in=[rank.id for rank in page])
    by_id = {row.id: row for row in found}
    return to_dicts(scope, [by_id[rank.id] for rank in page if rank.id in by_id]), following


def months(scope: Scope, *, entity_id: uuid.UUID) -> list[tuple[datetime, int]]:
    """Count the memories' mentions of the entity by the month (UTC) of the events.

    Months without mentions are included unless there would be more than MAX_MONTHS.
    """
    found = queries.count_by_month(scope.namespace_id, entity_id)
    by_month = {month.replace(tzinfo=UTC): int(count) for month, count in found}
    if not by_month:
        return []
    numbers = [month.year * 12 + month.month - 1 for month in (min(by_month), max(by_month))]
    if numbers[1] - numbers[0] >= MAX_MONTHS:
        return sorted(by_month.items())
    between = (datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in range(numbers[0], numbers[1] + 1))
    return [(month, by_month.get(month, 0)) for month in between]


def mentions(
    scope: Scope, *, entity_id: uuid.UUID, month: datetime | None, cursor: Cursor | None, limit: int
) -> tuple[list[EntityMention], Cursor | None]:
    """Return a page of the mentions with their memories, of one month or of all, newest event first, and the next
    cursor."""
    aliases = EntityAlias.objects.in_scope(scope).filter(entity=entity_id).values_list("id", flat=True)
    rows = EntityMention.objects.in_scope(scope).filter(alias__in=list(aliases), active=True)
    if month is not None:
        rows = rows.filter(occurred_at__gte=month, occurred_at__lt=period(month, "month").end.replace(tzinfo=UTC))
    if cursor is not None:
        rows = rows.filter(Q(occurred_at__lt=cursor.occurred_at) | Q(occurred_at=cursor.occurred_at, id__lte=cursor.id))
    # The join is by the id alone: without this it reads every namespace's partition of a distributed table.
    rows = rows.filter(memory__namespace_id=scope.namespace_id).select_related("memory")
    page, following = page_of(rows.order_by("-occurred_at", "-id"), limit)
    return page, Cursor(following.occurred_at, following.id) if following else None


def sentences(scope: Scope, wanted: Iterable[tuple[uuid.UUID, str]]) -> dict[tuple[uuid.UUID, str], str]:
    """Return for each memory and name the sentence with that name, or else the memory's first sentence."""
    pairs = list(wanted)
    rows = Memory.objects.in_scope(scope).filter(pk__in={memory_id for memory_id, _ in pairs})
    texts = dict(rows.values_list("pk", "text"))
    return {pair: _sentence(texts[pair[0]], pair[1]) for pair in pairs if pair[0] in texts}


def _sentence(text: str, name: str) -> str:
    found = split_sentences(text)
    chosen = next((one for one in found if name.casefold() in one.casefold()), found[0] if found else text)
    return chosen if len(chosen) <= EVIDENCE_CHARS else chosen[: EVIDENCE_CHARS - 1].rstrip() + "…"


def changes(scope: Scope, *, entity_id: uuid.UUID) -> list[NameChange]:
    """Return people's changes of the entity's names, newest first."""
    rows = AuditLog.objects.in_scope(scope).filter(
        subject=str(entity_id), event_type__in=[AuditEvent.ENTITY_MERGE.value, AuditEvent.ENTITY_SPLIT.value]
    )
    return [_change(row) for row in rows.order_by("-id")[:SHOWN_CHANGES]]


def _change(row: AuditLog) -> NameChange:
    details: dict[str, Any] = row.details
    other = details.get("source") or details.get("into")
    return NameChange(
        row.event_type,
        uuid.UUID(other) if other else None,
        [uuid.UUID(one) for one in details.get("aliases", [])],
        details.get("reason", ""),
        row.actor,
        row.created_at,
    )
