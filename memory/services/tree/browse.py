"""Browses the tree: sessions, their topics, the words of each, and its memories."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.enums import TopicLevel, TreeUse
from memory.errors import InvalidInput, NotFound
from memory.kinds import SESSION_PREFIX
from memory.models import Document, Memory, TopicMember, TopicNode, TopicTree
from memory.models.memory import spans_of
from memory.models.paging import page_of
from memory.models.queries import tree as queries
from memory.services.tree.due import use_of
from memory.types import Scope

# The most topics of a session that are listed with it; the others have pages of their own.
CHILDREN = 20


@dataclass(frozen=True, slots=True)
class TreeState:
    """The policy's use of the tree, and whether it follows all memories, which it does not while it is built."""

    use: TreeUse
    complete: bool


@dataclass(frozen=True, slots=True)
class QuotedPart:
    """A part of a memory's text."""

    memory_id: uuid.UUID
    text: str


@dataclass(frozen=True, slots=True)
class NodeShown:
    """A node for display. `label`: the words that distinguish it from others, or a document's title; `memories`: the
    number of memories below it; `topics`: the number of a session's topics. `stale`: its words will be chosen again
    soon."""

    id: uuid.UUID
    parent: uuid.UUID | None
    level: TopicLevel
    session: str
    label: str
    summary: list[QuotedPart]
    sources: list[uuid.UUID]
    memories: int
    topics: int
    stale: bool
    updated_at: datetime


def read_state(scope: Scope) -> TreeState:
    """Return the state of the namespace's tree."""
    tree = TopicTree.objects.in_scope(scope).first()
    stale = TopicNode.objects.in_scope(scope).filter(stale=True)
    return TreeState(use_of(scope.namespace_id), tree is not None and bool(tree.seen) and not stale.exists())


def list_nodes(
    scope: Scope,
    *,
    parent: uuid.UUID | None = None,
    session: str | None = None,
    cursor: uuid.UUID | None = None,
    limit: int,
    now: datetime,
) -> tuple[list[NodeShown], uuid.UUID | None]:
    """Return a page of sessions, newest first, or of a session's topics, oldest first, and where the next page begins.

    Nodes without a memory that holds are left out. Raises NotFound for a missing parent, InvalidInput for one that is a
    topic.
    """
    rows = TopicNode.objects.in_scope(scope).defer("centroid")
    if parent is not None:
        if _find(scope, parent, field="parent").level != TopicLevel.SESSION:
            raise InvalidInput(
                "A topic has memories and no nodes below it: GET /v1/tree/{id} lists them.", detail={"field": "parent"}
            )
        rows = rows.filter(parent=parent).order_by("id")
        rows = rows.filter(id__gte=cursor) if cursor else rows
    else:
        rows = rows.filter(level=TopicLevel.SESSION).order_by("-id")
        rows = rows.filter(id__lte=cursor) if cursor else rows
    if session is not None:
        rows = rows.filter(session=session)
    page, following = page_of(rows, limit)
    return _show(scope, page, now=now), following.id if following else None


def list_children(
    scope: Scope, nodes: Sequence[NodeShown], *, now: datetime
) -> dict[uuid.UUID, tuple[list[NodeShown], uuid.UUID | None]]:
    """Return the first CHILDREN topics of each session, and where its next ones begin."""
    sessions = [node.id for node in nodes if node.level == TopicLevel.SESSION]
    found = queries.list_first_topics(scope.namespace_id, sessions, most=CHILDREN + 1)
    shown = [row[0] for row in found if row[2] <= CHILDREN]
    rows = TopicNode.objects.in_scope(scope).filter(id__in=shown).defer("centroid").order_by("id")
    children: dict[uuid.UUID, list[NodeShown]] = defaultdict(list)
    for node in _show(scope, list(rows), now=now):
        assert node.parent is not None
        children[node.parent].append(node)
    following = {row[1]: row[0] for row in found if row[2] > CHILDREN}
    return {one: (children[one], following.get(one)) for one in sessions}


def find_node(scope: Scope, *, node_id: uuid.UUID, now: datetime) -> tuple[NodeShown, list[NodeShown]]:
    """Return a node, and the nodes above it, outermost first. Raises NotFound."""
    node = _find(scope, node_id, field="node_id")
    above = list(TopicNode.objects.in_scope(scope).filter(id=node.parent).defer("centroid")) if node.parent else []
    *path, shown = _show(scope, [*above, node], now=now, empty=True)
    return shown, path


def list_memory_ids(
    scope: Scope, *, node: NodeShown, cursor: uuid.UUID | None, limit: int, now: datetime
) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Return a page of the memories of a topic, or of all topics of a session, in the order of recording, and where the
    next page begins."""
    members = TopicMember.objects.in_scope(scope).below(node.id).values("memory_id")
    rows = Memory.objects.in_scope(scope).active().filter(pk__in=members, superseded_by=None).exclude(valid_to__lte=now)
    if cursor is not None:
        rows = rows.filter(pk__gte=cursor)
    return page_of(rows.order_by("pk").values_list("pk", flat=True), limit)


def _find(scope: Scope, node_id: uuid.UUID, *, field: str) -> TopicNode:
    node = TopicNode.objects.in_scope(scope).filter(id=node_id).defer("centroid").first()
    if node is None:
        raise NotFound(
            f"There is no node {node_id} in the tree of {scope.namespace!r}. GET /v1/tree lists those that there are; "
            "a topic that is split, joined to another or left by its last memory goes.",
            detail={"field": field},
        )
    return node


def _show(scope: Scope, nodes: Sequence[TopicNode], *, now: datetime, empty: bool = False) -> list[NodeShown]:
    """Return the nodes with the present words of their memories; `empty` includes nodes without a memory that holds."""
    counts, topics = _count(scope, nodes, now=now)
    told = _read_places(scope, nodes, now=now)
    titles = _read_titles(scope, {node.session for node in nodes if node.level == TopicLevel.SESSION})
    shown = []
    for node in nodes:
        if not counts[node.id] and not empty:
            continue
        label, summary = told[node.id, "label"], told[node.id, "summary"]
        words = ", ".join(dict.fromkeys(one.text for one in label))
        title = titles.get(node.session, "") if node.level == TopicLevel.SESSION else ""
        shown.append(
            NodeShown(
                id=node.id,
                parent=node.parent,
                level=TopicLevel(node.level),
                session=node.session,
                label=title or words,
                summary=summary,
                sources=list(dict.fromkeys(one.memory_id for one in [*summary, *label])),
                memories=counts[node.id],
                topics=topics[node.id],
                stale=node.stale,
                updated_at=node.updated_at,
            )
        )
    return shown


def _count(
    scope: Scope, nodes: Sequence[TopicNode], *, now: datetime
) -> tuple[defaultdict[uuid.UUID, int], defaultdict[uuid.UUID, int]]:
    """Count the memories below each node, and the topics below each session that have any."""
    of_level: dict[str, list[uuid.UUID]] = {TopicLevel.TOPIC: [], TopicLevel.SESSION: []}
    for node in nodes:
        of_level[node.level].append(node.id)
    counted = queries.count_members(
        scope.namespace_id, topics=of_level[TopicLevel.TOPIC], sessions=of_level[TopicLevel.SESSION], now=now
    )
    memories: defaultdict[uuid.UUID, int] = defaultdict(int)
    topics: defaultdict[uuid.UUID, int] = defaultdict(int)
    for identity, below, filled in counted:
        memories[identity], topics[identity] = below, filled
    return memories, topics


def _read_places(
    scope: Scope, nodes: Sequence[TopicNode], *, now: datetime
) -> defaultdict[tuple[uuid.UUID, str], list[QuotedPart]]:
    places = [
        (node.id, kind, *place)
        for node in nodes
        for kind, chosen in (("label", node.label_places), ("summary", node.summary_places))
        for place in chosen
    ]
    told: defaultdict[tuple[uuid.UUID, str], list[QuotedPart]] = defaultdict(list)
    if not places:
        return told
    for node, kind, memory_id, start, end, text, retired in queries.read_places(scope.namespace_id, places, now=now):
        if not any(first < end and start < last for first, last in spans_of(retired)):
            told[node, kind].append(QuotedPart(memory_id, text))
    return told


def _read_titles(scope: Scope, sessions: Collection[str]) -> dict[str, str]:
    """Return the titles of documents, by the session of their chunks."""
    ids = {}
    for session in sessions:
        if session.startswith(SESSION_PREFIX):
            try:
                ids[uuid.UUID(session.removeprefix(SESSION_PREFIX))] = session
            except ValueError:
                continue
    rows = Document.objects.in_scope(scope).filter(id__in=ids).values_list("id", "title")
    return {ids[identity]: title for identity, title in rows}
