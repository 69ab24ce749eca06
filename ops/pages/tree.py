"""Builds Tree: the sessions of a namespace, their topics, and the contents of one of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import TopicLevel
from memory.kinds import SESSION_PREFIX
from memory.models import Memory
from memory.services.tree.browse import NodeShown, QuotedPart
from ops.pages.rows import Staff, mask_text, row_link


@dataclass(frozen=True, slots=True)
class SentenceShown:
    """A sentence of a summary, and the admin's page of its memory, or "" if the user may not see it."""

    text: str
    link: str


@dataclass(frozen=True, slots=True)
class BranchShown:
    """A node with the topics below it. `more` is the number of topics that are not among `children`."""

    id: uuid.UUID
    title: str
    session: str
    is_session: bool
    counts: str
    summary: Sequence[SentenceShown]
    stale: bool
    updated_at: datetime
    children: Sequence[BranchShown] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class MemoryShown:
    memory: Memory
    link: str


def branch_shown(node: NodeShown, children: Sequence[NodeShown] = (), *, user: Staff, readable: bool) -> BranchShown:
    """Return a node as the pages show it. Without `readable`, memory text is masked."""
    return BranchShown(
        id=node.id,
        title=_title(node, readable=readable),
        session=node.session,
        is_session=node.level == TopicLevel.SESSION,
        counts=_counts(node),
        summary=[_sentence(told, user) for told in node.summary],
        stale=node.stale,
        updated_at=node.updated_at,
        children=[branch_shown(child, user=user, readable=readable) for child in children],
        more=max(0, node.topics - len(children)),
    )


def memories_shown(memories: Sequence[Memory], *, user: Staff) -> list[MemoryShown]:
    """Return memories with the admin's pages of them."""
    return [MemoryShown(memory, row_link(user, "memory", memory.pk)) for memory in memories]


def _title(node: NodeShown, *, readable: bool) -> str:
    """Return the title of a node: a session's name, a document's title, or a topic's words."""
    is_document = node.session.startswith(SESSION_PREFIX)
    if node.level == TopicLevel.SESSION and not is_document:
        return node.session
    return mask_text(node.label, readable=readable) if node.label else _("Not named yet")


def _counts(node: NodeShown) -> str:
    memories = ngettext("%(count)s memory", "%(count)s memories", node.memories) % {"count": f"{node.memories:,}"}
    if node.level == TopicLevel.TOPIC:
        return memories
    topics = ngettext("%(count)s topic", "%(count)s topics", node.topics) % {"count": f"{node.topics:,}"}
    return f"{topics} · {memories}"


def _sentence(told: QuotedPart, user: Staff) -> SentenceShown:
    return SentenceShown(told.text, row_link(user, "memory", told.memory_id))
