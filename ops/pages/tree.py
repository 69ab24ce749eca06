"""Prepares the page Topics: the sessions of a namespace, and the topics of each as links to their memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.services.projection.tree import SessionTopics, Topic
from memory.types import Scope
from ops import picked
from ops.pages.rows import mask_text


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of a session. `link` leads to the admin's list of its memories."""

    title: str
    counts: str
    link: str


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A session with its topics. `session` is its name, `title` what the page calls it."""

    session: str
    title: str
    counts: str
    topics: Sequence[TopicRow]


def session_row(scope: Scope, found: SessionTopics, *, readable: bool) -> TreeRow:
    """Prepare a session. Without `readable` the words of memories are masked."""
    return TreeRow(
        found.session,
        mask_text(found.title, readable=readable) if found.title else found.session,
        _count(found.memories),
        [_topic_row(scope, found.session, topic, readable=readable) for topic in found.topics],
    )


def _topic_row(scope: Scope, session: str, topic: Topic, *, readable: bool) -> TopicRow:
    words = ", ".join(topic.words)
    title = mask_text(words, readable=readable) if words else _("Topic %(number)s") % {"number": topic.number + 1}
    query = {
        "namespace": scope.namespace,
        "session": session,
        picked.PARAMETER: picked.cluster(topic.number),
    }
    return TopicRow(title, _count(topic.memories), f"{reverse('admin:memory_memory_changelist')}?{urlencode(query)}")


def _count(memories: int) -> str:
    return ngettext("%(count)s memory", "%(count)s memories", memories) % {"count": f"{memories:,}"}
