"""Lists the sessions of a namespace with their topics: the clusters of its map that the memories of each belong to."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists

from memory import audit
from memory.enums import AuditEvent
from memory.kinds import SESSION_PREFIX
from memory.models import Document, Memory, ProjectedMemory
from memory.models.queries.memories import list_topics
from memory.services.projection import fit
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Topic:
    """Represents a topic of a session. `words` are quoted from memories and tell it from the other topics."""

    number: int
    words: list[str]
    memories: int


@dataclass(frozen=True, slots=True)
class SessionTopics:
    """Represents a session with its topics, the largest first. `title` is that of a document, "" for other sessions."""

    session: str
    title: str
    memories: int
    topics: list[Topic]


@dataclass(frozen=True, slots=True)
class Tree:
    """Represents a page of sessions. `following` begins the next page.

    `placed_at` is when memories were last given topics: None before the map is first drawn. A tree that is not
    `complete` lacks active memories: later ones, or those beyond the `fit.SHOWN` that a map shows.
    """

    sessions: list[SessionTopics]
    following: uuid.UUID | None
    placed_at: datetime | None
    complete: bool


def list_sessions(
    scope: Scope, *, session: str | None = None, cursor: uuid.UUID | None = None, limit: int, now: datetime
) -> Tree:
    """List a page of the sessions on the map, those with the newest memories first, or only one of them."""
    chart = fit.chart(scope)
    if chart is None:
        return Tree([], None, None, complete=False)
    rows = list_topics(scope.namespace_id, session=session, cursor=cursor, limit=limit + 1, now=now)
    words = {cluster.number: cluster.words for cluster in chart.clusters}
    titles = _read_titles(scope, {row[0] for row in rows[:limit]})
    sessions = [
        SessionTopics(
            name,
            titles.get(name, ""),
            sum(sizes),
            [Topic(number, words.get(number, []), size) for number, size in zip(clusters, sizes, strict=True)],
        )
        for name, _newest, clusters, sizes in rows[:limit]
    ]
    following = rows[limit][1] if len(rows) > limit else None
    return Tree(sessions, following, chart.placed_at, complete=not _lacks_memories(scope))


def rebuild(scope: Scope, *, now: datetime) -> str:
    """Have the worker find the topics of the namespace anew; return the id of the job."""
    with transaction.atomic():
        audit.record(scope, AuditEvent.TREE_REBUILD, now=now)
        return fit.ask(scope, anew=True)


def _lacks_memories(scope: Scope) -> bool:
    """Tell whether an active memory with a vector has no place on the map."""
    rows = Memory.objects.in_scope(scope).active().filter(embedded=True)
    return rows.exclude(Exists(ProjectedMemory.objects.of_memory())).exists()


def _read_titles(scope: Scope, sessions: Collection[str]) -> dict[str, str]:
    """Return the titles of documents by the session that holds their chunks."""
    ids = {}
    for session in sessions:
        if session.startswith(SESSION_PREFIX):
            try:
                ids[uuid.UUID(session.removeprefix(SESSION_PREFIX))] = session
            except ValueError:
                continue
    rows = Document.objects.in_scope(scope).filter(id__in=ids).values_list("id", "title")
    return {ids[identity]: title for identity, title in rows}
