"""Searches from coarse to fine: finds the topics of the tree nearest to the question, and then their memories.

Both ways of searching (SQL and columns) use this statement, so that they agree. It reads the means of topics, which are
far fewer than the memories.
"""

from __future__ import annotations

from memory.models.sql import fetch
from memory.retrieval.question import Question
from memory.retrieval.signals import LEAST_COSINE
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# The number of nearest topics whose memories are read.
NEAREST = 20
# The limit on memories read of each topic, latest first: a topic that cannot be split may have any size.
MEMBERS = 100

_NEAREST = """
WITH near AS MATERIALIZED (
    SELECT n.id, n.centroid <=> %(vector)s::halfvec AS distance
    FROM memory_topictree w
    JOIN memory_topicnode n ON n.namespace_id = w.namespace_id
    WHERE w.namespace_id = %(namespace_id)s AND w.model_id = %(model_id)s AND n.centroid IS NOT NULL
    ORDER BY distance, n.id LIMIT %(nearest)s
)
SELECT t.memory_id::text, 1 - near.distance FROM near
CROSS JOIN LATERAL (
    SELECT m.memory_id FROM memory_topicmember m
    WHERE m.namespace_id = %(namespace_id)s AND m.topic = near.id ORDER BY m.memory_id DESC LIMIT %(members)s
) t
"""


def match(scope: Scope, question: Question) -> dict[str, float]:
    """Returns the nearness (0..1) of their topic for the memories of the NEAREST topics, by memory id.

    It is the topic's cosine relative to that of the nearest topic. The result is empty while the namespace has no tree.
    """
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "nearest": NEAREST,
        "members": MEMBERS,
    }
    rows = fetch(_NEAREST, parameters, prepared=True)
    best = max((cosine for _, cosine in rows), default=0.0)
    return {memory_id: cosine / max(best, LEAST_COSINE) for memory_id, cosine in rows if cosine > 0}
