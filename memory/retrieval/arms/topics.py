"""From coarse to fine: the topics of the tree that are nearest to the question in meaning, and then their memories.

One statement for both ways of searching, so that they agree; it reads the means of topics, of which there is one for
several memories.
"""

from __future__ import annotations

from memory.models.sql import fetch
from memory.retrieval.question import Question
from memory.retrieval.signals import LEAST_COSINE
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# So many topics, those nearest to the question, have their memories looked at.
NEAREST = 20
# Of each at most so many of them, those that were recorded last: a topic that does not fall apart may be of any size.
MEMBERS = 100

_NEAREST = """
WITH near AS MATERIALIZED (
    SELECT n.id, n.centroid <=> %(vector)s::halfvec AS distance
    FROM memory_topictree w
    JOIN memory_topicnode n ON n.namespace_id = w.namespace_id
    WHERE w.namespace_id = %(namespace_id)s AND w.model_id = %(model_id)s AND n.centroid IS NOT NULL
    ORDER BY distance, n.id LIMIT %(nearest)s
)
SELECT t.memory_id::text, (1 - near.distance) * %(length)s::float8 FROM near
CROSS JOIN LATERAL (
    SELECT m.memory_id FROM memory_topicmember m
    WHERE m.namespace_id = %(namespace_id)s AND m.topic = near.id ORDER BY m.memory_id DESC LIMIT %(members)s
) t
"""


def match(scope: Scope, question: Question) -> dict[str, float]:
    """How near the topic of a memory is, 0..1 by memory id: the cosine over that of the nearest topic. Of the memories
    of the NEAREST topics; none while the namespace has no tree."""
    parameters = {
        "vector": halfvec_literal(question.vector),
        "length": question.length,
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "nearest": NEAREST,
        "members": MEMBERS,
    }
    rows = fetch(_NEAREST, parameters, prepared=True)
    best = max((cosine for _, cosine in rows), default=0.0)
    return {memory_id: cosine / max(best, LEAST_COSINE) for memory_id, cosine in rows if cosine > 0}
