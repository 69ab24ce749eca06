"""Cuts the part of a long memory that answers the question. The whole text can still be read by the memory's id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memory.models.arrays import uuid_array
from memory.models.sql import fetch
from memory.retrieval.hits import Hit
from memory.retrieval.question import Question
from memory.text.excerpts import MAX_HIT_CHARS, Excerpt, make_excerpt
from memory.text.vectors import halfvec_literal
from memory.types import Scope

_SIMILARITIES = """
SELECT memory_id::text, passage, (1 - (embedding <=> %(vector)s::halfvec)) * %(length)s::float8
FROM memory_memoryvector
WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND memory_id = ANY(%(ids)s::uuid[])
"""


def excerpt_hits(scope: Scope, question: Question, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits, with an excerpt for turns longer than MAX_HIT_CHARS; chunks are parts of a document already."""
    excerpts = excerpt_texts(scope, question, {hit.id_text: hit.memory.text for hit in hits if hit.turn > 0})
    return [replace(hit, excerpt=excerpts[hit.id_text]) if hit.id_text in excerpts else hit for hit in hits]


def excerpt_texts(scope: Scope, question: Question, texts: Mapping[str, str]) -> dict[str, Excerpt]:
    """Makes excerpts of the texts of more than MAX_HIT_CHARS, and returns them by memory id."""
    long = {identity: text for identity, text in texts.items() if len(text) > MAX_HIT_CHARS}
    if not long:
        return {}
    near = _read_similarities(scope, question, long)
    return {
        identity: make_excerpt(text, asked=question.terms, similarities=near[identity])
        for identity, text in long.items()
    }


def _read_similarities(scope: Scope, question: Question, ids: Iterable[str]) -> Mapping[str, Mapping[int, float]]:
    parameters = {
        "vector": halfvec_literal(question.vector),
        "length": question.length,
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "ids": uuid_array(ids),
    }
    near: dict[str, dict[int, float]] = defaultdict(dict)
    for identity, passage, similarity in fetch(_SIMILARITIES, parameters, prepared=True):
        near[identity][passage] = similarity
    return near
