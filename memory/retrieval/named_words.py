"""Searches by words, and for named entities and speakers, in one statement, while the question's vector is computed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from memory.models.sql import fetch
from memory.retrieval import entity_matches
from memory.retrieval.arms import WordHits, lexical
from memory.retrieval.entity_matches import EntityMatch
from memory.retrieval.question import Question
from memory.retrieval.size import is_large
from memory.text.names import speaker_key
from memory.types import Scope

_NO_WORDS = """
corpus AS (SELECT 0::float8 AS memories), held AS (SELECT ''::text AS term, 0::float8 AS holding WHERE false),
worded AS (SELECT NULL::uuid AS memory_id, 0::float8 AS score WHERE false)
"""

# Finds statements that have been retired but held at the time in question. They are no longer in the postings, so their
# terms get the weight that BM25 gives a term that occurs once in a text of mean length.
_RETIRED = """
, asked AS MATERIALIZED (
    SELECT t.term, coalesce(
        ln(1 + (c.memories - least(h.holding, c.memories) + 0.5) / (nullif(h.holding, 0) + 0.5::float8)),
        ln(1 + c.memories)
    ) AS idf
    FROM unnest(%(terms)s::text[]) AS t (term) LEFT JOIN held h ON h.term = t.term, corpus c
), retired AS MATERIALIZED (
    SELECT r.memory_id, max((SELECT sum(a.idf) FROM asked a WHERE a.term = ANY(r.terms))) AS score
    FROM memory_retiredstatement r
    WHERE r.namespace_id = %(namespace_id)s AND r.terms && %(terms)s::varchar[]
      AND (r.withdrawn_at IS NULL OR r.withdrawn_at > %(as_of)s::timestamptz)
      AND (r.retired_at > %(as_of)s::timestamptz
           OR r.valid_to > coalesce(%(valid_at)s::timestamptz, %(as_of)s::timestamptz))
    GROUP BY r.memory_id ORDER BY score DESC, r.memory_id DESC LIMIT %(retired)s
)
"""
_NOTHING_RETIRED = ", retired AS (SELECT NULL::uuid AS memory_id, 0::float8 AS score WHERE false)"

# A recently stored turn is not in the index of entities yet, but its speaker's name is one of its words.
_STATEMENT = f"""
WITH {{words}} {{retired}}, {entity_matches.MATCHES}, speakers AS MATERIALIZED (
    SELECT k.key, o.name FROM memory_entityalias k
    JOIN memory_entityalias o ON o.namespace_id = k.namespace_id AND o.entity = k.entity
    WHERE k.namespace_id = %(namespace_id)s AND k.key = ANY(%(keys)s::text[]) AND o.spoke
    UNION
    SELECT '', m.speaker FROM memory_memory m
    WHERE m.namespace_id = %(namespace_id)s AND m.speaker <> '' AND %(keys)s::text[] <> '{{{{}}}}'
      AND m.id = ANY((SELECT array_agg(memory_id) FROM worded)::uuid[])
)
SELECT w.*, c.memories, h.*, m.*, s.*, r.*
FROM (SELECT array_agg(memory_id::text), array_agg(score) FROM worded) AS w, corpus c,
     (SELECT array_agg(term::text), array_agg(holding::int) FROM held WHERE holding > 0) AS h,
     (SELECT json_agg(json_build_array(entity, key, memory_ids, well_known)) FROM matches) AS m,
     (SELECT array_agg(key::text), array_agg(name::text) FROM speakers) AS s,
     (SELECT array_agg(memory_id::text), array_agg(score) FROM retired) AS r
"""  # noqa: S608 - put together of constants


@dataclass(frozen=True, slots=True)
class NamedWords:
    """Holds the results for the words of a question.

    `by_words`: the hits of the search by words. `bm25`: scores by memory id, including memories whose retired
    statements match. `mentions`: the weight of the named entities (0..1) by memory id. `speakers`: the keys of the
    speakers that the question names.
    """

    by_words: WordHits = field(default_factory=lambda: WordHits([], 0.0, {}))
    bm25: dict[str, float] = field(default_factory=dict)
    mentions: dict[str, float] = field(default_factory=dict)
    speakers: frozenset[str] = frozenset()


def find_named_words(
    scope: Scope, question: Question, *, taking_part: Collection[str], limit: int, most_retired: int
) -> NamedWords:
    """Finds the `limit` best memories by words, and the entities and speakers that the question names.

    `taking_part` may leave out "lexical" or "entities"; speakers are always found. A question about a point in time
    also finds up to `most_retired` memories by statements that held then.
    """
    by_words = "lexical" in taking_part and bool(question.terms)
    then = by_words and (question.as_of is not None or question.valid_at is not None)
    if not by_words and not question.name_keys:
        return NamedWords()
    statement = _STATEMENT.format(
        words=lexical.with_words(scope, question) if by_words else _NO_WORDS,
        retired=_RETIRED if then else _NOTHING_RETIRED,
    )
    parameters = {
        **lexical.parameters_of(scope, question, limit=limit),
        "keys": list(question.name_keys),
        "as_of": question.as_of,
        "valid_at": question.valid_at,
        "retired": most_retired,
    }
    # One plan (look-ups by key) fits all but large namespaces, unless there is a filter.
    is_prepared = question.predicate is None and not is_large(scope)
    [row] = fetch(statement, parameters, prepared=is_prepared)
    *words, entities, keys, names, gone, worth = row
    found = lexical.make_hits(*words)
    bm25 = {hit.memory_id: hit.score for hit in found.hits}
    for memory_id, score in zip(gone or (), worth or (), strict=True):
        bm25[memory_id] = max(score, bm25.get(memory_id, 0.0))
    matches = [EntityMatch(*match) for match in entities or ()] if "entities" in taking_part else []
    speakers = _select_named(question, keys or (), names or ())
    return NamedWords(found, bm25, entity_matches.weigh(matches), speakers)


def _select_named(question: Question, keys: Collection[str], names: Collection[str]) -> frozenset[str]:
    """Returns the question's name keys that name a speaker under any of their names, and the keys of these speakers."""
    asked = set(question.name_keys)
    found: set[str] = set()
    for key, name in zip(keys, names, strict=True):
        speaker = speaker_key(name)
        if speaker and (key or speaker in asked):
            found.update((key or speaker, speaker))
    return frozenset(found)
