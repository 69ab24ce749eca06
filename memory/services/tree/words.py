"""Chooses the words and the summaries of topics: positions in the texts of their memories, see `TopicNode`."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, F

from memory.enums import TopicLevel
from memory.models import EntityMention, Posting, TopicNode, TopicTree
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.models.queries.tree import read_texts
from memory.services.index.entries import count_searchable
from memory.text.topic_words import (
    LABEL_WORDS,
    SUMMARY_SENTENCES,
    TextPlace,
    TopicText,
    TopicWords,
    choose_sentences,
)
from memory.types import Scope

# The number of nodes of one transaction.
BATCH = 20
# The most memories of a topic that are read, nearest to its mean.
READ_MEMORIES = 40


def choose_words(scope: Scope, *, version: uuid.UUID, now: datetime) -> int:
    """Choose the words of the next stale nodes, topics before sessions; return of how many.

    Returns 0 if the tree has another version by now.
    """
    with transaction.atomic():
        lock_in_transaction(Lock.TREE, scope.namespace_id)
        tree = TopicTree.objects.in_scope(scope).filter(version=version).first()
        if tree is None:
            return 0
        stale = TopicNode.objects.in_scope(scope).filter(stale=True).defer("centroid").order_by("id")
        nodes = list(stale.filter(level=TopicLevel.TOPIC)[:BATCH]) or list(stale[:BATCH])
        memories = count_searchable(scope.namespace_id)
        for node in nodes:
            chosen = (
                _of_session(node)
                if node.level == TopicLevel.SESSION
                else _of_topic(node, tree.model_id, memories, now=now)
            )
            node.label_places, node.summary_places = (_to_json(places) for places in chosen)
            node.stale, node.updated_at = False, now
            node.save(update_fields=["label_places", "summary_places", "stale", "updated_at"])
    return len(nodes)


def _of_topic(
    node: TopicNode, model_id: int, memories: int, *, now: datetime
) -> tuple[list[TextPlace], list[TextPlace]]:
    found = read_texts(node.namespace_id, node.id, model_id=model_id, now=now, limit=READ_MEMORIES)
    mentions = EntityMention.objects.filter(
        namespace_id=node.namespace_id, memory_id__in=[row[0] for row in found], active=True, end__gt=F("start")
    )
    names: dict[uuid.UUID, list[tuple[int, int]]] = defaultdict(list)
    for memory_id, start, end in mentions.values_list("memory_id", "start", "end"):
        names[memory_id].append((start, end))
    texts = [
        TopicText(str(memory_id), text, spans_of(retired), names[memory_id], closeness or 0.0)
        for memory_id, text, retired, closeness in found
    ]
    words = TopicWords(texts)
    postings = Posting.objects.filter(namespace_id=node.namespace_id, term__in=words.list_terms())
    holding = dict(postings.values_list("term").annotate(memories=Count("*")))
    return words.choose(holding, memories=max(memories, len(texts))), choose_sentences(texts)


def _of_session(node: TopicNode) -> tuple[list[TextPlace], list[TextPlace]]:
    """Return the first word and the first sentence of each of the session's largest topics."""
    rows = TopicNode.objects.filter(namespace_id=node.namespace_id, parent=node.id).order_by("-size", "id")
    largest = list(rows.values_list("label_places", "summary_places")[: max(LABEL_WORDS, SUMMARY_SENTENCES)])
    labels = [TextPlace(*places[0]) for places, _ in largest if places]
    sums = [TextPlace(*places[0]) for _, places in largest if places]
    return labels[:LABEL_WORDS], sums[:SUMMARY_SENTENCES]


def _to_json(places: Sequence[TextPlace]) -> list[list[str | int]]:
    return [list(place) for place in places]
