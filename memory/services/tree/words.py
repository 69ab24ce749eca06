"""Chooses what topics are called and what sums them up: places in the texts of their memories, see `TopicNode`."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from memory.enums import Review, TopicLevel
from memory.models import TopicNode, TopicTree
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.services.tree.store import IN_TREE
from memory.text.topic_words import (
    LABEL_WORDS,
    SUMMARY_SENTENCES,
    TextPlace,
    TopicText,
    TopicWords,
    choose_sentences,
)
from memory.types import Scope

# Nodes of one transaction.
BATCH = 20
# Of a topic so many memories are read, those nearest to its middle.
READ_MEMORIES = 40

_TEXTS = f"""
SELECT m.id, m.text, m.retired_spans, 1 - (v.mean <=> n.centroid)
FROM memory_topicnode n
JOIN memory_topicmember t ON t.namespace_id = n.namespace_id AND t.topic = n.id
JOIN memory_memory m ON m.namespace_id = t.namespace_id AND m.id = t.memory_id AND m.content_hash = t.content_hash
CROSS JOIN LATERAL (
    SELECT avg(e.embedding) AS mean FROM memory_memoryvector e
    WHERE e.namespace_id = m.namespace_id AND e.model_id = %(model_id)s AND e.memory_id = m.id
) v
WHERE n.namespace_id = %(namespace_id)s AND n.id = %(node)s AND {IN_TREE} AND m.review <> %(suspected)s
ORDER BY 4 DESC NULLS LAST, m.id LIMIT %(limit)s
"""  # noqa: S608 - put together of constants
_NAMES = """
SELECT memory_id, start, "end" FROM memory_entitymention
WHERE namespace_id = %(namespace_id)s AND memory_id = ANY(%(ids)s::uuid[]) AND active AND "end" > start
"""
_HOLDING = """
SELECT term, count(*) FROM memory_posting
WHERE namespace_id = %(namespace_id)s AND term = ANY(%(terms)s::text[]) GROUP BY term
"""
_MEMORIES = "SELECT coalesce(sum(memories), 0) FROM memory_namespacestat WHERE namespace_id = %(namespace_id)s"


def choose_words(scope: Scope, *, version: uuid.UUID, now: datetime) -> int:
    """Chooses the words of the next stale nodes, topics before sessions; returns of how many. None of a tree that is of
    another version by now."""
    with transaction.atomic():
        lock_in_transaction(Lock.TREE, scope.namespace_id)
        tree = TopicTree.objects.in_scope(scope).filter(version=version).first()
        if tree is None:
            return 0
        stale = TopicNode.objects.in_scope(scope).filter(stale=True).defer("centroid").order_by("id")
        nodes = list(stale.filter(level=TopicLevel.TOPIC)[:BATCH]) or list(stale[:BATCH])
        place = {"namespace_id": scope.namespace_id, "model_id": tree.model_id, "now": now}
        memories = int(_rows(_MEMORIES, place)[0][0])
        for node in nodes:
            chosen = _of_session(node) if node.level == TopicLevel.SESSION else _of_topic(node, place, memories)
            node.label_places, node.summary_places = (_to_json(places) for places in chosen)
            node.stale, node.updated_at = False, now
            node.save(update_fields=["label_places", "summary_places", "stale", "updated_at"])
    return len(nodes)


def _of_topic(node: TopicNode, place: Mapping[str, Any], memories: int) -> tuple[list[TextPlace], list[TextPlace]]:
    found = _rows(_TEXTS, {**place, "node": node.id, "suspected": Review.SUSPECTED.value, "limit": READ_MEMORIES})
    names: dict[uuid.UUID, list[tuple[int, int]]] = defaultdict(list)
    for memory_id, start, end in _rows(_NAMES, {**place, "ids": [row[0] for row in found]}):
        names[memory_id].append((start, end))
    texts = [
        TopicText(str(memory_id), text, spans_of(retired), names[memory_id], closeness or 0.0)
        for memory_id, text, retired, closeness in found
    ]
    words = TopicWords(texts)
    holding = dict(_rows(_HOLDING, {**place, "terms": words.list_terms()}))
    return words.choose(holding, memories=max(memories, len(texts))), choose_sentences(texts)


def _of_session(node: TopicNode) -> tuple[list[TextPlace], list[TextPlace]]:
    """The first word and the first sentence of each of its largest topics."""
    rows = TopicNode.objects.filter(namespace_id=node.namespace_id, parent=node.id).order_by("-size", "id")
    largest = list(rows.values_list("label_places", "summary_places")[: max(LABEL_WORDS, SUMMARY_SENTENCES)])
    labels = [TextPlace(*places[0]) for places, _ in largest if places]
    sums = [TextPlace(*places[0]) for _, places in largest if places]
    return labels[:LABEL_WORDS], sums[:SUMMARY_SENTENCES]


def _to_json(places: Sequence[TextPlace]) -> list[list[str | int]]:
    return [list(place) for place in places]


def _rows(statement: str, parameters: Mapping[str, Any]) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()
