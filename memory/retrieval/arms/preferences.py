"""Finds the preferences that fit a request for advice, by meaning.

It also finds turns in which people speak of themselves without a rule having made a preference of them, among the
memories nearest to the request. Both ways of searching (SQL and columns) use these statements, so that they agree.
"""

from __future__ import annotations

import numpy as np

from memory.enums import LinkKind, MemoryState, Role
from memory.models.arrays import uuid_array
from memory.models.sql import fetch
from memory.retrieval.arms import dense
from memory.retrieval.predicate import narrowing
from memory.retrieval.question import Question
from memory.text.requests import take_generality
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# COMPARED preferences, the nearest, are compared; the best MOST of them and their source turns become candidates.
COMPARED = 300
MOST = 60
# The number of nearest memories that are searched for turns in which people speak of themselves.
SPOKEN = 120
# A preference below LEAST has nothing to do with the request (96 % of those about other kinds of things are below it);
# from FULL on, it fits fully. Both are cosines less the part that the preference has in common with all requests.
LEAST, FULL = 0.05, 0.45
# A clause loses this much against its whole turn, which tells more about its subject. It matters if the turn is mostly
# about other things.
CLAUSE = 0.05

_NEAREST = f"""
WITH near AS MATERIALIZED (
    SELECT v.memory_id, v.passage, v.embedding, v.embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memory m
    JOIN memory_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
    WHERE m.namespace_id = %(namespace_id)s AND m.is_preference AND m.state = %(state)s
      AND (m.valid_to IS NULL OR m.valid_to > coalesce(%(holding_at)s::timestamptz, '-infinity'))
      AND v.model_id = %(model_id)s AND v.searchable {{narrowing}}
    ORDER BY distance, v.memory_id LIMIT %(compared)s
), resting AS MATERIALIZED (
    SELECT l.memory_id, l.other_id FROM memory_memorylink l
    WHERE l.namespace_id = %(namespace_id)s AND l.memory_id IN (SELECT memory_id FROM near)
      AND l.kind = '{LinkKind.DERIVED_FROM.value}'
)
SELECT memory_id::text, memory_id::text, (1 - distance) * %(length)s::float8, embedding, {CLAUSE}::float8 FROM near
UNION ALL
SELECT r.memory_id::text, v.memory_id::text, (1 - (v.embedding <=> %(vector)s::halfvec)) * %(length)s::float8,
       v.embedding, 0
FROM resting r
JOIN memory_memoryvector v ON v.namespace_id = %(namespace_id)s AND v.memory_id = r.other_id
WHERE v.model_id = %(model_id)s AND v.searchable
"""  # noqa: S608 - put together of constants

_SPOKEN = f"""
SELECT v.memory_id::text, v.memory_id::text, (1 - (v.embedding <=> %(vector)s::halfvec)) * %(length)s::float8,
       v.embedding, 0::float8
FROM memory_memory m
JOIN memory_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(near)s::uuid[]) AND m.role = '{Role.USER.value}' AND m.turn > 0
  AND m.text ~* '\\m(i|me|my|myself)\\M|我' AND v.model_id = %(model_id)s AND v.searchable
"""  # noqa: S608 - put together of constants


def match(scope: Scope, question: Question) -> dict[str, float]:
    """Returns how well preferences, and turns in which people speak of themselves, fit the request, by memory id.

    The values are above 0 and at most 1. A preference and its source turns get the same value.
    """
    if question.requests is None:
        return {}
    parameters = {
        "vector": halfvec_literal(question.vector),
        "length": question.length,
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "state": MemoryState.ACTIVE.value,
        "holding_at": question.holding_at,
        "compared": COMPARED,
        **(question.predicate.parameters if question.predicate else {}),
    }
    statement = _NEAREST.format(narrowing=narrowing(question.predicate, "m.id"))
    rows = fetch(statement, parameters, prepared=question.predicate is None, binary=True)
    nearest = dense.search(scope, question, limit=SPOKEN)
    if nearest:
        near = uuid_array([hit.memory_id for hit in nearest])
        rows += fetch(_SPOKEN, {**parameters, "near": near}, prepared=False, binary=True)
    if not rows:
        return {}
    vectors = np.stack([np.frombuffer(row[3], ">f2", offset=4) for row in rows]).astype(np.float32)
    beyond = take_generality(np.array([row[2] for row in rows]), vectors, question.requests)
    best: dict[str, float] = {}
    members: dict[str, set[str]] = {}
    for (preference, memory_id, _, _, loses), value in zip(rows, beyond.tolist(), strict=True):
        best[preference] = max(value - loses, best.get(preference, -1.0))
        members.setdefault(preference, set()).add(memory_id)
    matched: dict[str, float] = {}
    for preference in sorted(best, key=lambda one: (-best[one], one))[:MOST]:
        worth = min(1.0, (best[preference] - LEAST) / (FULL - LEAST))
        if worth <= 0:
            break
        for memory_id in members[preference]:
            matched[memory_id] = max(worth, matched.get(memory_id, 0.0))
    return matched
