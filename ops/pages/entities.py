"""Builds the pages of entities: the list of a namespace, and an entity with its names, neighbours and mentions."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import AliasLink, AuditEvent, EntityKind, Predicate
from memory.models import Entity, EntityAlias, Memory
from memory.services.entities import browse
from memory.services.entities import listing as entity_listing
from memory.services.entities.browse import COUNTED_AT_MOST, Rank
from memory.services.entities.listing import MENTIONED_WITH, Cursor, Edge
from memory.services.memories.retired import count_parts
from memory.types import Access, Scope
from ops.charts import Histogram, histogram
from ops.pages.entity_graph import Drawing, Neighbour, draw
from ops.pages.rows import Staff, mask_text, row_link
from ops.words import Words

PAGE = 50
MENTIONS = 12
NAMESPACES = 100
NEIGHBOURS = 24
MONTHS = 36
LEAST_MONTHS = 12
CANDIDATES = 8

KINDS: dict[str, Words] = {
    EntityKind.PERSON: gettext_lazy("Person"),
    EntityKind.PLACE: gettext_lazy("Place"),
    EntityKind.ORGANISATION: gettext_lazy("Organisation"),
    EntityKind.PROJECT: gettext_lazy("Project"),
    EntityKind.THING: gettext_lazy("Thing"),
}
LINKS: dict[str, Words] = {
    AliasLink.OWN: gettext_lazy("The entity was made for it"),
    AliasLink.RULE: gettext_lazy("First or last name of one full name only"),
    AliasLink.STATED: gettext_lazy("A memory says so"),
    AliasLink.APART: gettext_lazy("Memories disagree: it stays apart"),
    AliasLink.STAFF: gettext_lazy("A person merged or split it"),
}
PREDICATES: dict[str, Words] = {
    Predicate.WORKS_AT: gettext_lazy("works at"),
    Predicate.STUDIES_AT: gettext_lazy("studies at"),
    Predicate.LIVES_IN: gettext_lazy("lives in"),
    Predicate.COMES_FROM: gettext_lazy("comes from"),
    Predicate.MEMBER_OF: gettext_lazy("member of"),
    Predicate.WORKS_ON: gettext_lazy("works on"),
    Predicate.FAMILY: gettext_lazy("family"),
    Predicate.FRIEND_OF: gettext_lazy("friend of"),
    Predicate.COLLEAGUE_OF: gettext_lazy("colleague of"),
    Predicate.OWNS: gettext_lazy("owns"),
    Predicate.PART_OF: gettext_lazy("part of"),
    Predicate.LIKES: gettext_lazy("likes"),
    MENTIONED_WITH: gettext_lazy("mentioned with"),
}


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity in the list."""

    id: str
    name: str
    kind: str
    kind_word: Words
    mentions: int
    first_at: datetime | None
    last_at: datetime | None
    link: str


@dataclass(frozen=True, slots=True)
class EntityList:
    rows: list[EntityRow]
    next: str


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A row of the table behind the graph. `evidence` is a sentence that shows it, `memories` link to more."""

    number: int
    words: Words
    outward: bool
    name: str
    link: str
    detail: str
    count: int
    evidence: str
    evidence_link: str
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class OtherName:
    """A name of the entity. If it is `merged`, it belonged to another entity before a person merged the two."""

    id: str
    name: str
    kind_word: Words
    reason: Words
    mentions: int
    stated_link: str
    merged: bool


@dataclass(frozen=True, slots=True)
class UndoableMerge:
    """A merge or split that can be undone. `undo` are its names that still belong to this entity."""

    words: Words
    reason: str
    actor: str
    at: datetime
    undo: list[str]
    other_link: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A memory that mentions the entity. `retired` is the number of its parts that no longer hold."""

    memory: Memory
    speaker: str
    spoke: bool
    session: str
    occurred_at: datetime
    link: str
    retired: int


@dataclass(frozen=True, slots=True)
class EntityPage:
    """The page of an entity."""

    id: uuid.UUID
    namespace: str
    name: str
    kind_word: Words
    mentions: int
    aliases: list[OtherName]
    drawings: list[tuple[str, Drawing]]
    relations: list[RelationRow]
    timeline: Histogram | None
    earlier_months: int
    listed: list[Mention]
    next: str
    month: str
    changes: list[UndoableMerge]


def namespaces(access: Access) -> list[tuple[str, str]]:
    """Return every namespace with its number of entities as text."""
    return [
        (name, f"{COUNTED_AT_MOST:,}+" if count > COUNTED_AT_MOST else f"{count:,}")
        for name, count in browse.counts(access, limit=NAMESPACES)
    ]


def listing(
    scope: Scope,
    *,
    kind: str | None,
    begins: str,
    by_mentions: bool = False,
    cursor: uuid.UUID | Rank | None,
    readable: bool,
    limit: int = PAGE,
) -> EntityList:
    """Return a page of the namespace's entities: the newest, or the most mentioned, first. `cursor` has that order."""
    following: uuid.UUID | Rank | None
    if by_mentions:
        rank = cursor if isinstance(cursor, Rank) else None
        found, following = browse.list_most_mentioned(scope, kind=kind, begins=begins, cursor=rank, limit=limit)
    else:
        newest = cursor if isinstance(cursor, uuid.UUID) else None
        found, following = entity_listing.entities(
            scope, search="", begins=begins, kind=kind, cursor=newest, limit=limit
        )
    rows = [
        EntityRow(
            one["id"],
            mask_text(one["name"], readable=readable),
            one["kind"],
            KINDS[one["kind"]],
            one["mentions"],
            _moment(one["first_at"]),
            _moment(one["last_at"]),
            entity_url(one["id"], scope.namespace),
        )
        for one in found
    ]
    if isinstance(following, Rank):
        return EntityList(rows, f"{following.mentions}_{following.id}")
    return EntityList(rows, str(following) if following else "")


def entity_url(entity_id: uuid.UUID | str, namespace: str) -> str:
    return f"{reverse('ops:entity', args=[entity_id])}?{urlencode({'ns': namespace})}"


def build_entity(
    scope: Scope, entity: Entity, *, user: Staff, readable: bool, month: datetime | None, cursor: Cursor | None
) -> EntityPage:
    """Return the page of an entity that is not merged into another."""
    edges = [
        *entity_listing.relations(scope, {entity.id}, limit=entity_listing.NEIGHBOURS),
        *entity_listing.companions(scope, {entity.id}, limit=entity_listing.NEIGHBOURS),
    ]
    others = {_other(edge, entity.id) for edge in edges}
    found = {one.id: one for one in Entity.objects.in_scope(scope).filter(id__in=others)}
    edges = [edge for edge in edges if _other(edge, entity.id) in found]
    numbered = list(enumerate(edges, start=1))
    relations = _relations(scope, entity, numbered, found, user=user, readable=readable)
    months = browse.months(scope, entity_id=entity.id)
    aliases = list(EntityAlias.objects.in_scope(scope).filter(entity=entity.id).order_by("id"))
    listed, following = browse.mentions(scope, entity_id=entity.id, month=month, cursor=cursor, limit=MENTIONS)
    name = mask_text(entity.name, readable=readable)
    neighbours = _neighbours(scope, entity, numbered, found, readable=readable)
    middle = mask_text(entity.name, readable=readable, brief=True)
    return EntityPage(
        id=entity.id,
        namespace=scope.namespace,
        name=name,
        kind_word=KINDS[entity.kind],
        mentions=sum(count for _month, count in months),
        aliases=_aliases(scope, aliases, entity, user=user, readable=readable),
        drawings=[
            ("graph-wide", draw(middle, neighbours, width=1000, height=560, most=NEIGHBOURS, label_chars=20)),
            ("graph-narrow", draw(middle, neighbours, width=360, height=420, most=8, label_chars=12)),
        ]
        if neighbours
        else [],
        relations=relations,
        timeline=_timeline(months[-MONTHS:], entity_url(entity.id, scope.namespace)),
        earlier_months=max(0, len(months) - MONTHS),
        listed=[
            Mention(
                one.memory,
                one.memory.speaker,
                one.end == 0,
                one.memory.session,
                one.occurred_at,
                row_link(user, "memory", one.memory_id),
                count_parts(one.memory),
            )
            for one in listed
        ],
        next=f"{following.occurred_at.isoformat()}_{following.id}" if following else "",
        month=month.isoformat()[:7] if month else "",
        changes=_changes(scope, entity, {str(alias.id) for alias in aliases}, whole=len(aliases)),
    )


def candidates(scope: Scope, *, entity: Entity, begins: str) -> list[EntityRow]:
    """Return entities, by the beginning of their names, into which this one could be merged."""
    found = listing(scope, kind=None, begins=begins, cursor=None, readable=True, limit=CANDIDATES + 1)
    return [row for row in found.rows if row.id != str(entity.id)][:CANDIDATES]


def _other(edge: Edge, entity_id: uuid.UUID) -> uuid.UUID:
    return edge.target if edge.source == entity_id else edge.source


def _relations(
    scope: Scope,
    entity: Entity,
    numbered: Iterable[tuple[int, Edge]],
    found: Mapping[uuid.UUID, Entity],
    *,
    user: Staff,
    readable: bool,
) -> list[RelationRow]:
    numbered = list(numbered)
    wanted = [(edge.evidence[0], found[_other(edge, entity.id)].name) for _number, edge in numbered if edge.evidence]
    sentences = browse.sentences(scope, wanted) if readable else {}
    rows = []
    for number, edge in numbered:
        other = found[_other(edge, entity.id)]
        first = edge.evidence[0] if edge.evidence else None
        rows.append(
            RelationRow(
                number=number,
                words=PREDICATES.get(edge.predicate, edge.predicate),
                outward=edge.source == entity.id,
                name=mask_text(other.name, readable=readable),
                link=entity_url(other.id, scope.namespace),
                detail=edge.detail if readable else "",
                count=edge.statements,
                evidence=sentences.get((first, other.name), "") if first else "",
                evidence_link=row_link(user, "memory", first) if first else "",
                valid_from=edge.valid_from,
                valid_to=edge.valid_to,
            )
        )
    return rows


def _neighbours(
    scope: Scope,
    entity: Entity,
    numbered: Iterable[tuple[int, Edge]],
    found: Mapping[uuid.UUID, Entity],
    *,
    readable: bool,
) -> list[Neighbour]:
    """Return the neighbours: first those with stated relations, then those with most memories in common."""
    by_other: dict[uuid.UUID, list[tuple[int, Edge]]] = defaultdict(list)
    for number, edge in numbered:
        by_other[_other(edge, entity.id)].append((number, edge))
    neighbours = []
    for identity, edges in by_other.items():
        stated = [edge for _number, edge in edges if edge.predicate != MENTIONED_WITH]
        words = ", ".join(dict.fromkeys(_add_arrow(edge, entity.id) for edge in stated[:2]))
        neighbours.append(
            Neighbour(
                entity_id=identity,
                number=edges[0][0],
                name=mask_text(found[identity].name, readable=readable, brief=True),
                kind=found[identity].kind,
                words=words or f"×{edges[0][1].statements}",
                strength=sum(edge.statements for _number, edge in edges),
                stated=bool(stated),
                link=entity_url(identity, scope.namespace),
            )
        )
    return sorted(neighbours, key=lambda one: (not one.stated, -one.strength, one.name))


def _add_arrow(edge: Edge, entity_id: uuid.UUID) -> str:
    word = str(PREDICATES.get(edge.predicate, edge.predicate))
    return f"{word} →" if edge.source == entity_id else f"← {word}"


def _aliases(
    scope: Scope, aliases: list[EntityAlias], entity: Entity, *, user: Staff, readable: bool
) -> list[OtherName]:
    counts = entity_listing.mention_counts(scope, [alias.id for alias in aliases])
    return [
        OtherName(
            id=str(alias.id),
            name=mask_text(alias.name, readable=readable),
            kind_word=KINDS[alias.kind],
            reason=LINKS[alias.link],
            mentions=counts.get(alias.id, 0),
            stated_link=row_link(user, "memory", alias.stated_in) if alias.stated_in else "",
            merged=alias.home != entity.id and alias.link == AliasLink.STAFF,
        )
        for alias in aliases
    ]


def _timeline(months: list[tuple[datetime, int]], url: str) -> Histogram | None:
    if not months:
        return None
    while len(months) < LEAST_MONTHS:
        number = months[0][0].year * 12 + months[0][0].month - 2
        if number < 12:
            # No month comes before January of the year 1.
            break
        months = [(datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC), 0), *months]
    names = [month.isoformat()[:7] for month, _count in months]
    return histogram(
        _("Mentions by month"),
        description=_("By when what the memories tell happened"),
        labels=names,
        values=[count for _month, count in months],
        header=_("Mentions"),
        links=[f"{url}&month={name}#mentions" for name in names],
        csv=f"{url}&csv=mentions",
    )


def _changes(scope: Scope, entity: Entity, present: set[str], *, whole: int) -> list[UndoableMerge]:
    rows = []
    for one in browse.changes(scope, entity_id=entity.id):
        merged = one.event == AuditEvent.ENTITY_MERGE
        movable = [str(alias) for alias in one.aliases if str(alias) in present] if merged else []
        rows.append(
            UndoableMerge(
                words=_("Merged another into this one") if merged else _("Split names off into another"),
                reason=one.reason,
                actor=one.actor,
                at=one.at,
                undo=movable if len(movable) < whole else [],
                other_link=entity_url(one.other, scope.namespace) if one.other and not merged else "",
            )
        )
    return rows


def _moment(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
