"""Lists entities, and reads one with its names, neighbours and timeline, or the graph around it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q

from memory.enums import Predicate
from memory.models import Entity, EntityAlias, EntityMention
from memory.models.paging import page_of
from memory.models.queries import entities as queries
from memory.services.entities.curate import find
from memory.text.names import name_key
from memory.types import Scope

NEIGHBOURS = 50
# The most mentions of an entity, newest first, that are searched for its companions.
_COMPANIONS_OF = 500
MENTIONED_WITH = "mentioned_with"


class Cursor(NamedTuple):
    """The position at which the next page of a timeline begins."""

    occurred_at: datetime
    id: uuid.UUID


class Edge(NamedTuple):
    """The statements about the same two entities, aggregated; `evidence` are memory ids, newest first."""

    source: uuid.UUID
    predicate: str
    target: uuid.UUID
    detail: str
    statements: int
    evidence: list[uuid.UUID]
    valid_from: datetime | None
    valid_to: datetime | None


def entities(
    scope: Scope, *, search: str, kind: str | None, cursor: uuid.UUID | None, limit: int, begins: str = ""
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return a page of the entities that memories mention, newest first, and where the next page begins.

    `search`: a part of one of their names, in any spelling. `begins`: the beginning of one of their names, which an
    index finds.
    """
    mentioned = EntityMention.objects.in_scope(scope).filter(alias=OuterRef("id"), active=True)
    aliases = EntityAlias.objects.in_scope(scope).filter(Exists(mentioned), entity=OuterRef("id"))
    if search:
        aliases = aliases.filter(key__contains=name_key(search) or search)
    if begins:
        aliases = aliases.filter(key__startswith=name_key(begins) or begins)
    rows = Entity.objects.in_scope(scope).filter(Exists(aliases), merged_into=None)
    if kind:
        rows = rows.filter(kind=kind)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows.order_by("-id"), limit)
    return to_dicts(scope, page), following.id if following else None


def entity(scope: Scope, *, entity_id: uuid.UUID, cursor: Cursor | None, limit: int) -> dict[str, Any]:
    """Return `{entity, aliases, edges, neighbours, timeline, next_cursor}` of an entity, or of the one that it was
    merged into.

    Raises NotFound.
    """
    row = _find_whole(scope, find(scope, entity_id, field="entity_id"))
    aliases = list(EntityAlias.objects.in_scope(scope).filter(entity=row.id).order_by("id"))
    counts = mention_counts(scope, [alias.id for alias in aliases])
    edges = [*relations(scope, {row.id}, limit=NEIGHBOURS), *companions(scope, {row.id}, limit=NEIGHBOURS)]
    neighbours = {side for edge in edges for side in (edge.source, edge.target)} - {row.id}
    timeline, next_cursor = _timeline(scope, aliases, cursor=cursor, limit=limit)
    return {
        "entity": to_dicts(scope, [row])[0],
        "aliases": [
            {
                "id": str(alias.id),
                "name": alias.name,
                "kind": alias.kind,
                "link": alias.link,
                "mentions": counts.get(alias.id, 0),
            }
            for alias in aliases
        ],
        "edges": [edge_to_dict(edge) for edge in edges],
        "neighbours": to_dicts(scope, list(Entity.objects.in_scope(scope).filter(id__in=neighbours).order_by("id"))),
        "timeline": timeline,
        "next_cursor": f"{next_cursor.occurred_at.isoformat()}_{next_cursor.id}" if next_cursor else None,
    }


def _find_whole(scope: Scope, row: Entity) -> Entity:
    """Return the entity at the end of the chain of merges; a cycle, which a file may bring, ends where it began."""
    seen = set()
    while row.merged_into is not None and row.id not in seen:
        seen.add(row.id)
        row = find(scope, row.merged_into, field="entity_id")
    return row


def graph(scope: Scope, *, around: uuid.UUID | None, depth: int, limit: int) -> dict[str, Any]:
    """Return `{nodes, edges}` up to `depth` steps around an entity, limited to the `limit` entities with most evidence.

    Without an entity, return the namespace's relations with most evidence. Raises NotFound.
    """
    if around is None:
        edges = relations(scope, None, limit=limit)
        nodes = {side for edge in edges for side in (edge.source, edge.target)}
    else:
        centre = find(scope, around, field="around")
        nodes, edges = _around(scope, centre.merged_into or centre.id, depth=depth, limit=limit)
    rows = Entity.objects.in_scope(scope).filter(id__in=nodes).order_by("id")
    return {"nodes": to_dicts(scope, list(rows)), "edges": [edge_to_dict(edge) for edge in edges]}


def _around(scope: Scope, centre: uuid.UUID, *, depth: int, limit: int) -> tuple[set[uuid.UUID], list[Edge]]:
    nodes = frontier = {centre}
    known: dict[tuple[uuid.UUID, str, uuid.UUID], Edge] = {}
    for _ in range(depth):
        found = [*relations(scope, frontier, limit=limit * 4), *companions(scope, frontier, limit=limit * 4)]
        reached: set[uuid.UUID] = set()
        for edge in found:
            known.setdefault(edge[:3], edge)
            for side in (edge.source, edge.target):
                if side not in nodes and len(nodes) + len(reached) < limit:
                    reached.add(side)
        nodes, frontier = nodes | reached, reached
        if not frontier:
            break
    return nodes, [edge for edge in known.values() if edge.source in nodes and edge.target in nodes]


def relations(scope: Scope, around: Collection[uuid.UUID] | None, *, limit: int) -> list[Edge]:
    """Return memories' statements about the entities (None: about all), most statements first.

    A home ends when its resident lives somewhere else later.
    """
    rows = queries.list_relations(scope.namespace_id, around, limit=limit)
    edges = [Edge(*row)._replace(evidence=sorted(row[5], reverse=True)) for row in rows]
    movers = {edge.source for edge in edges if edge.predicate == Predicate.LIVES_IN}
    if not movers:
        return edges
    homes: dict[uuid.UUID, list[tuple[uuid.UUID, datetime]]] = defaultdict(list)
    for row in queries.list_relations(scope.namespace_id, movers, limit=1_000):
        if row[1] == Predicate.LIVES_IN and row[6] is not None:
            homes[row[0]].append((row[2], row[6]))
    return [_end_when_moved(edge, homes) for edge in edges]


def _end_when_moved(edge: Edge, homes: Mapping[uuid.UUID, Sequence[tuple[uuid.UUID, datetime]]]) -> Edge:
    if edge.predicate != Predicate.LIVES_IN or edge.valid_to is not None or edge.valid_from is None:
        return edge
    later = [since for home, since in homes[edge.source] if home != edge.target and since > edge.valid_from]
    return edge._replace(valid_to=min(later)) if later else edge


def companions(scope: Scope, around: Collection[uuid.UUID], *, limit: int) -> list[Edge]:
    """Return pairs of entities that are named in the same memories, most memories first; speaking does not count as
    naming."""
    rows = queries.list_companions(scope.namespace_id, around, mentions=_COMPANIONS_OF, limit=limit)
    edges: dict[tuple[uuid.UUID, uuid.UUID], Edge] = {}
    for one, other, count, evidence, since in rows:
        pair = (min(one, other), max(one, other))
        edges.setdefault(
            pair, Edge(pair[0], MENTIONED_WITH, pair[1], "", count, sorted(evidence, reverse=True), since, None)
        )
    return list(edges.values())


def edge_to_dict(edge: Edge) -> dict[str, Any]:
    return {
        "source": str(edge.source),
        "predicate": edge.predicate,
        "target": str(edge.target),
        "detail": edge.detail,
        "count": edge.statements,
        "evidence": [str(memory_id) for memory_id in edge.evidence],
        "valid_from": edge.valid_from.isoformat() if edge.valid_from else None,
        "valid_to": edge.valid_to.isoformat() if edge.valid_to else None,
    }


def _timeline(
    scope: Scope, aliases: Sequence[EntityAlias], *, cursor: Cursor | None, limit: int
) -> tuple[list[dict[str, Any]], Cursor | None]:
    """Return a page of the mentions of an entity, newest event first, and the next page's cursor."""
    rows = EntityMention.objects.in_scope(scope).filter(alias__in=[alias.id for alias in aliases], active=True)
    if cursor is not None:
        rows = rows.filter(Q(occurred_at__lt=cursor.occurred_at) | Q(occurred_at=cursor.occurred_at, id__lte=cursor.id))
    # The join is by the id alone: without this it reads every namespace's partition of a distributed table.
    rows = rows.filter(memory__namespace_id=scope.namespace_id).select_related("memory")
    page, following = page_of(rows.order_by("-occurred_at", "-id"), limit)
    shown = [
        {
            "id": str(mention.id),
            "memory_id": str(mention.memory_id),
            "alias_id": str(mention.alias),
            "session_id": mention.memory.session,
            "speaker": mention.memory.speaker,
            "spoke": mention.end == 0,
            "start": mention.start,
            "end": mention.end,
            "text": mention.memory.text,
            "occurred_at": mention.occurred_at.isoformat(),
            "pinned": mention.pinned,
        }
        for mention in page
    ]
    return shown, Cursor(following.occurred_at, following.id) if following else None


def mention_counts(scope: Scope, alias_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Count each name's mentions in memories that retrieval uses; names without any are left out."""
    rows = EntityMention.objects.in_scope(scope).filter(alias__in=alias_ids, active=True)
    return dict(rows.values_list("alias").annotate(mentions=Count("*")))


def to_dicts(scope: Scope, rows: Sequence[Entity]) -> list[dict[str, Any]]:
    """Return the entities as clients see them."""
    totals = queries.sum_mentions(scope.namespace_id, [row.id for row in rows])
    return [
        {
            "id": str(row.id),
            "name": row.name,
            "kind": row.kind,
            "mentions": totals[row.id][0] if row.id in totals else 0,
            "first_at": totals[row.id][1].isoformat() if row.id in totals else None,
            "last_at": totals[row.id][2].isoformat() if row.id in totals else None,
        }
        for row in rows
    ]
