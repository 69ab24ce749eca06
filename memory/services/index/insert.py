"""Stores memories with their index entries, counts and audit events, in one statement."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from memory import deadline
from memory.audit import APPEND_EVENTS
from memory.enums import AuditEvent, EmbeddingState, MemoryState, Review, Tier
from memory.governance.importance import importance
from memory.models import NamespaceStat
from memory.models.arrays import halfvecs, number_array, text_array, uuid_array
from memory.models.keys import new_id
from memory.models.memory import content_hash
from memory.models.queries.tenancy import KEEP_NAMESPACES
from memory.models.sql import fetch
from memory.services.index.embedding import Embedded, Expected, text_to_embed
from memory.services.tenancy.namespaces import miss_namespaces
from memory.services.tenancy.policy import in_force
from memory.text.analysis import terms
from memory.text.json_values import encode
from memory.text.tokens import count_tokens
from memory.types import NewMemory, Scope

# The limit of the column for frequencies.
MAX_FREQUENCY = 32_767


@dataclass(frozen=True, slots=True)
class LetIn:
    """Holds the gate's results for a turn that it lets in.

    `working_hours`: how long working memory shows it (0: not at all). `noted`: details for its audit event.
    `suspected`: it may try to steer its readers, gets less importance and waits for review.
    """

    small_talk: bool = False
    working_hours: int = 0
    noted: dict[str, Any] = field(default_factory=dict)
    suspected: bool = False


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Holds a memory that is ready to be written, with its terms and tokens."""

    id: uuid.UUID
    scope: Scope
    memory: NewMemory
    frequencies: Counter[str]
    length: int
    tokens: int
    let_in: LetIn


@dataclass(frozen=True, slots=True)
class SessionState:
    """Holds the state of a session after the write.

    `summary_due`: it has enough new messages for a summary, and none has been requested.
    """

    namespace_id: int
    name: str
    message_count: int
    summary_due: bool


def prepare(items: Sequence[tuple[Scope, NewMemory]], *, let_in: LetIn | None = None) -> list[MemoryRow]:
    """Makes a row of each item, with an id (in order) and its index terms. No I/O."""
    return [prepare_row(scope, memory, identity=new_id(), let_in=let_in or LetIn()) for scope, memory in items]


def prepare_row(scope: Scope, memory: NewMemory, *, identity: uuid.UUID, let_in: LetIn) -> MemoryRow:
    """Makes the row of a memory, with its index terms and the count of its tokens. No I/O."""
    deadline.check()
    found = terms(text_to_embed(memory.text, memory.speaker))
    tokens = count_tokens(memory.text, settings.MEMOS_TOKENIZER)
    return MemoryRow(identity, scope, memory, Counter(found), len(found), tokens, let_in)


_INSERT_VECTORS = """
    INSERT INTO memory_memoryvector (namespace_id, model_id, memory_id, passage, embedding, searchable)
    SELECT namespace_id, %(model_id)s::smallint, id, passage, embedding, true
    FROM unnest(%(vector_id)s::uuid[], %(vector_namespace_id)s::bigint[], %(passage)s::smallint[],
                %(vector)b::halfvec[]) AS v (id, namespace_id, passage, embedding)
"""

# Data-modifying CTEs replace seven statements by one round trip with one snapshot. Sessions come first: their row lock
# orders the writers of a session, so that turns are numbered without gaps, in commit order. Rows that several writers
# update (sessions, stats) are visited in the order of keys, so that writers cannot deadlock.
_WRITE = f"""
WITH living AS MATERIALIZED (
    {KEEP_NAMESPACES}
), input AS (
    SELECT * FROM unnest(
        %(id)s::uuid[], %(namespace_id)s::bigint[], %(session)s::text[], %(from_end)s::int[], %(role)s::text[],
        %(speaker)s::text[], %(text)s::text[], %(metadata)s::text[], %(occurred_at)s::timestamptz[],
        %(content_hash)s::bytea[], %(terms)s::text[], %(frequencies)s::text[], %(length)s::int[], %(tokens)s::int[],
        %(importance)s::float8[], %(review)s::text[], %(refresh)s::int[]
    ) AS i (id, namespace_id, session, from_end, role, speaker, text, metadata, occurred_at, content_hash, terms,
            frequencies, length, tokens, importance, review, refresh)
    WHERE (SELECT count(*) FROM living) = cardinality(%(namespace_ids)s::bigint[])
), sessions AS (
    INSERT INTO memory_session AS s (namespace_id, name, message_count, summarised_turn, first_message_at,
                                     last_message_at)
    SELECT namespace_id, session, count(*), 0, %(now)s::timestamptz, %(now)s::timestamptz
    FROM input GROUP BY namespace_id, session ORDER BY namespace_id, session
    ON CONFLICT (namespace_id, name) DO UPDATE SET
        message_count = s.message_count + EXCLUDED.message_count,
        last_message_at = greatest(s.last_message_at, EXCLUDED.last_message_at)
    RETURNING namespace_id, name, message_count,
              message_count - summarised_turn >= (
                  SELECT i.refresh FROM input i WHERE i.namespace_id = s.namespace_id LIMIT 1)
              AND (summary_requested_at IS NULL OR summary_requested_at < %(request_expired)s::timestamptz)
              AS summary_due
), memories AS (
    INSERT INTO memory_memory (id, namespace_id, session, turn, role, speaker, text, metadata, importance, tier, state,
                               occurred_at, created_at, content_hash, terms, length, tokens, review, embedded)
    SELECT i.id, i.namespace_id, i.session, s.message_count - i.from_end, i.role, i.speaker, i.text,
           i.metadata::jsonb, i.importance, %(tier)s::text, %(state)s::text, i.occurred_at,
           %(now)s::timestamptz, i.content_hash,
           coalesce(string_to_array(nullif(i.terms, ''), ' '), '{{}}'), i.length, i.tokens, i.review,
           i.id = ANY(%(embedded_id)s::uuid[])
           AND EXISTS (SELECT FROM memory_embeddingmodel WHERE id = %(model_id)s::smallint AND state = %(in_use)s::text)
    FROM input i JOIN sessions s ON s.namespace_id = i.namespace_id AND s.name = i.session
), vectors AS (
    {_INSERT_VECTORS}
    WHERE EXISTS (SELECT FROM input)
), postings AS (
    INSERT INTO memory_posting (namespace_id, term, memory_id, frequency, length)
    SELECT i.namespace_id, p.term, i.id, p.frequency, i.length
    FROM input i
    CROSS JOIN LATERAL unnest(string_to_array(nullif(i.terms, ''), ' '), string_to_array(i.frequencies, ' ')::int[])
         AS p (term, frequency)
    WHERE i.terms <> ''
), stats AS (
    INSERT INTO memory_namespacestat AS n (namespace_id, shard, memories, terms)
    SELECT namespace_id, pg_backend_pid() %% %(shards)s::int, count(*), sum(length)
    FROM input GROUP BY namespace_id ORDER BY namespace_id
    ON CONFLICT (namespace_id, shard) DO UPDATE
        SET memories = n.memories + EXCLUDED.memories, terms = n.terms + EXCLUDED.terms
), audited AS (
    {APPEND_EVENTS}
    SELECT a.id, i.namespace_id, a.namespace, i.session, %(event)s::text, %(actor)s::text, i.id::text,
           a.details::jsonb, %(request_id)s::text, %(now)s::timestamptz
    FROM unnest(%(audit_id)s::uuid[], %(id)s::uuid[], %(namespace)s::text[], %(details)s::text[])
         AS a (id, memory_id, namespace, details)
    JOIN input i ON i.id = a.memory_id
)
SELECT namespace_id, name, message_count, summary_due FROM sessions
"""  # noqa: S608 - the head of the audit


# The embedding model may have been replaced since the memories were written; they are then not marked as embedded.
_WRITE_VECTORS = f"""
WITH vectors AS (
    {_INSERT_VECTORS}
)
UPDATE memory_memory m SET embedded = false
FROM unnest(%(vector_id)s::uuid[], %(vector_namespace_id)s::bigint[]) AS v (id, namespace_id)
WHERE m.namespace_id = v.namespace_id AND m.id = v.id
  AND NOT EXISTS (SELECT FROM memory_embeddingmodel WHERE id = %(model_id)s::smallint AND state = %(in_use)s::text)
RETURNING m.id
"""  # noqa: S608 - what is put in is above


def write(rows: Sequence[MemoryRow], embedded: Embedded | Expected | None, *, now: datetime) -> list[SessionState]:
    """Stores memories, their vectors (None: the worker makes them later), postings, counts and audit events.

    It is one statement, and therefore atomic even outside a transaction. Vectors that are only expected must be stored
    by `write_vectors` in the same transaction. Raises NamespaceGone.
    """
    sessions = [SessionState(*state) for state in fetch(_WRITE, _parameters(rows, embedded, now=now), prepared=True)]
    if not sessions:
        raise miss_namespaces([row.scope for row in rows])
    return sessions


def write_vectors(rows: Sequence[MemoryRow], embedded: Embedded) -> None:
    """Stores the vectors that were expected when `rows` were written."""
    fetch(_WRITE_VECTORS, _vector_parameters(rows, embedded), prepared=False, by_key=True)


def _vector_parameters(rows: Sequence[MemoryRow], embedded: Embedded | Expected | None) -> dict[str, Any]:
    made = embedded if isinstance(embedded, Embedded) else None
    places = made.places if made else []
    return {
        "vector_id": uuid_array([str(rows[memory].id) for memory, _ in places]),
        "vector_namespace_id": number_array([rows[memory].scope.namespace_id for memory, _ in places]),
        "passage": number_array([passage for _, passage in places]),
        "vector": halfvecs(made.vectors) if made else [],
        "model_id": embedded.model_id if embedded else None,
        "in_use": EmbeddingState.ACTIVE.value,
    }


def _parameters(rows: Sequence[MemoryRow], embedded: Embedded | Expected | None, *, now: datetime) -> dict[str, Any]:
    with_vectors = embedded.memories if embedded else set()
    namespace_ids = sorted({row.scope.namespace_id for row in rows})
    # Queries request a summary earlier. Ingest requests it before a message that no summary covers leaves the window.
    refresh = {one: max(in_force(one).policy.summary_messages, settings.MEMOS_WINDOW_MESSAGES) for one in namespace_ids}
    columns = {
        "id": uuid_array([str(row.id) for row in rows]),
        "namespace_ids": number_array(namespace_ids),
        "namespace_id": number_array([row.scope.namespace_id for row in rows]),
        "session": text_array([row.memory.session for row in rows]),
        "from_end": number_array(_distances_from_end(rows)),
        "role": text_array([row.memory.role for row in rows]),
        "speaker": text_array([row.memory.speaker for row in rows]),
        "text": text_array([row.memory.text for row in rows]),
        "metadata": text_array([encode(row.memory.metadata).decode() for row in rows]),
        "occurred_at": [row.memory.occurred_at or now for row in rows],
        "content_hash": [content_hash(row.memory.text) for row in rows],
        # Terms have no white space, so joined strings replace the array of arrays, which unnest does not support.
        "terms": text_array([" ".join(row.frequencies) for row in rows]),
        "frequencies": text_array(
            [" ".join(str(min(count, MAX_FREQUENCY)) for count in row.frequencies.values()) for row in rows]
        ),
        "length": number_array([row.length for row in rows]),
        "tokens": number_array([row.tokens for row in rows]),
        "importance": number_array([_importance(row) for row in rows]),
        "review": text_array([Review.SUSPECTED.value if row.let_in.suspected else "" for row in rows]),
        "refresh": number_array([refresh[row.scope.namespace_id] for row in rows]),
        "namespace": text_array([row.scope.namespace for row in rows]),
        "audit_id": uuid_array([str(new_id()) for _ in rows]),
        "details": text_array([_audit_details(row, embedded=place in with_vectors) for place, row in enumerate(rows)]),
    }
    return {
        **columns,
        **_vector_parameters(rows, embedded),
        "embedded_id": uuid_array([str(rows[place].id) for place in with_vectors]),
        "now": now,
        "request_expired": now - timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS),
        "tier": Tier.L2.value,
        "state": MemoryState.ACTIVE.value,
        "shards": NamespaceStat.SHARDS,
        "event": AuditEvent.INGEST.value,
        "actor": rows[0].scope.actor,
        "request_id": rows[0].scope.request_id,
    }


def _importance(row: MemoryRow) -> float:
    let_in = row.let_in
    return importance(
        row.memory.text, row.memory.role, row.frequencies, small_talk=let_in.small_talk, suspected=let_in.suspected
    ).value


def _distances_from_end(rows: Sequence[MemoryRow]) -> list[int]:
    """Returns for each row the number of later rows of the batch in the same session."""
    later: Counter[tuple[int, str]] = Counter()
    distances = []
    for row in reversed(rows):
        place = (row.scope.namespace_id, row.memory.session)
        distances.append(later[place])
        later[place] += 1
    return distances[::-1]


def _audit_details(row: MemoryRow, *, embedded: bool) -> str:
    return encode(
        {
            "memory_id": str(row.id),
            "role": row.memory.role,
            "characters": len(row.memory.text),
            "tokens": row.tokens,
            "embedded": embedded,
            **row.let_in.noted,
        }
    ).decode()
