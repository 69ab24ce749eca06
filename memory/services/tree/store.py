"""Writes the tree: the membership of memories in topics, and the data that follow from it.

Every function must be called in a transaction that has locked the namespace's tree (`Lock.TREE`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory.enums import TopicLevel
from memory.models import TopicMember, TopicNode, TopicTree
from memory.models.keys import new_id
from memory.models.queries import tree as queries


def measure(namespace_id: int, *, model_id: int, topics: Sequence[uuid.UUID], now: datetime) -> None:
    """Recompute the sizes and means of the topics from their present members, and delete topics without any."""
    if not topics:
        return
    rows = TopicNode.objects.filter(namespace_id=namespace_id, id__in=topics)
    parents = rows.exclude(parent=None).order_by().values_list("parent", flat=True).distinct()
    sessions = [parent for parent in parents if parent is not None]
    queries.measure(namespace_id, model_id=model_id, topics=topics, sessions=sessions, now=now)


def put_members(namespace_id: int, placed: Mapping[uuid.UUID, tuple[uuid.UUID, bytes]]) -> None:
    """Assign each memory, by its id, to a topic, with the hash of the text by which it was placed."""
    TopicMember.objects.bulk_create(
        TopicMember(namespace_id=namespace_id, memory_id=memory_id, topic=topic, content_hash=said)
        for memory_id, (topic, said) in placed.items()
    )


def move_members(namespace_id: int, memory_ids: Sequence[uuid.UUID], *, topic: uuid.UUID) -> None:
    """Move memories of other topics to this one."""
    TopicMember.objects.filter(namespace_id=namespace_id, memory_id__in=memory_ids).update(topic=topic)


def move_all(namespace_id: int, former: uuid.UUID, *, topic: uuid.UUID) -> None:
    """Move all memories of a topic to another."""
    TopicMember.objects.filter(namespace_id=namespace_id, topic=former).update(topic=topic)


def find_session_node(namespace_id: int, session: str, *, now: datetime) -> uuid.UUID:
    """Return the node of the session, which is created if it does not exist."""
    rows = TopicNode.objects.filter(namespace_id=namespace_id, level=TopicLevel.SESSION, session=session)
    found = rows.values_list("id", flat=True).first()
    return found or _make_node(namespace_id, session, parent=None, now=now)


def make_topic(namespace_id: int, session: str, *, parent: uuid.UUID, now: datetime) -> uuid.UUID:
    """Create a topic of the session; return its id."""
    return _make_node(namespace_id, session, parent=parent, now=now)


def _make_node(namespace_id: int, session: str, *, parent: uuid.UUID | None, now: datetime) -> uuid.UUID:
    node = TopicNode(
        namespace_id=namespace_id,
        id=new_id(),
        parent=parent,
        level=TopicLevel.TOPIC if parent else TopicLevel.SESSION,
        session=session,
        created_at=now,
        updated_at=now,
    )
    node.save(force_insert=True)
    return node.id


def clear(namespace_id: int) -> None:
    """Delete the whole tree."""
    TopicMember.objects.filter(namespace_id=namespace_id).delete()
    TopicNode.objects.filter(namespace_id=namespace_id).delete()
    TopicTree.objects.filter(namespace_id=namespace_id).delete()
