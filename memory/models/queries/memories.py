"""SQL of memories after ingest: settling, uses, replacements, review, bulk changes, documents, summaries, the map."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, BulkOutcome, MemoryState
from memory.models.arrays import number_array
from memory.models.document import Document
from memory.models.life import HOLDS_ON
from memory.models.memory import Memory
from memory.models.queries.tenancy import KEEP_NAMESPACES
from memory.models.sql import change_rows, fetch, read_rows

# Rows that others have locked are left to the next run.
_TAKE_UP = """
WITH waiting AS MATERIALIZED (
    SELECT namespace_id, name FROM memory_session
    WHERE namespace_id = %(namespace_id)s AND skipped_turn IS NOT NULL
    ORDER BY name COLLATE "default" FOR UPDATE SKIP LOCKED
)
UPDATE memory_session s SET settled_turn = least(s.settled_turn, s.skipped_turn), skipped_turn = NULL
FROM waiting w WHERE s.namespace_id = w.namespace_id AND s.name = w.name
"""


def take_up_skipped(namespace_id: int) -> None:
    """Sets the sessions of the namespace back to the turn at which settling was turned off, except locked ones."""
    change_rows(_TAKE_UP, {"namespace_id": namespace_id})


_NOTE_RESTORED = """
INSERT INTO memory_memoryupkeep AS u (namespace_id, memory_id, restored_at)
SELECT namespace_id, memory_id, %s FROM unnest(%s::bigint[], %s::uuid[]) AS r (namespace_id, memory_id)
ON CONFLICT (namespace_id, memory_id) DO UPDATE SET
    restored_at = EXCLUDED.restored_at,
    expires_at = CASE WHEN u.expires_at > EXCLUDED.restored_at THEN u.expires_at END
"""
_NOTE_MARKED = """
INSERT INTO memory_memoryupkeep (namespace_id, memory_id, stale)
SELECT %s, memory_id, true FROM unnest(%s::uuid[]) AS r (memory_id)
ON CONFLICT (namespace_id, memory_id) DO UPDATE SET stale = true
"""
# Uses are counted from audit events, which list the memories of each answer, so that no query waits for a count.
# Memories are locked, so that they are not deleted before they are counted; deleted ones are left out.
_COUNT_USES = """
WITH events AS MATERIALIZED (
    SELECT id, namespace_id, session, event_type, created_at,
           CASE WHEN event_type = ANY(%(types)s) AND jsonb_typeof(details -> 'memory_ids') = 'array'
                THEN details -> 'memory_ids' END AS ids
    FROM memory_auditlog WHERE id > %(after)s AND id < %(before)s ORDER BY id LIMIT %(limit)s
), used AS (
    SELECT e.namespace_id, i.memory_id::uuid AS memory_id, count(*)::int AS uses, max(e.created_at) AS last_used_at
    FROM events e, jsonb_array_elements_text(e.ids) AS i (memory_id) GROUP BY 1, 2
), present AS (
    SELECT d.* FROM used d JOIN memory_memory m ON m.namespace_id = d.namespace_id AND m.id = d.memory_id
    ORDER BY d.namespace_id, d.memory_id FOR KEY SHARE OF m
), counted AS (
    INSERT INTO memory_memoryupkeep AS u (namespace_id, memory_id, uses, last_used_at, stale)
    SELECT namespace_id, memory_id, uses, last_used_at, true FROM present
    ON CONFLICT (namespace_id, memory_id) DO UPDATE SET
        uses = least(u.uses::bigint + EXCLUDED.uses, 2147483647), stale = true,
        last_used_at = greatest(u.last_used_at, EXCLUDED.last_used_at)
    RETURNING 1
), asked AS (
    SELECT e.namespace_id, e.session, i.memory_id::uuid AS memory_id, count(*)::int AS times, max(e.created_at) AS at
    FROM events e, jsonb_array_elements_text(e.ids) WITH ORDINALITY AS i (memory_id, place)
    WHERE e.event_type = %(pack)s AND e.session <> '' AND i.place <= %(foremost)s
      AND (e.namespace_id, i.memory_id::uuid) IN (SELECT namespace_id, memory_id FROM present)
    GROUP BY 1, 2, 3
)
SELECT count(*), (SELECT id FROM events ORDER BY id DESC LIMIT 1), (SELECT coalesce(sum(uses), 0) FROM present),
       (SELECT count(*) FROM counted),
       (SELECT jsonb_agg(jsonb_build_array(namespace_id, session, memory_id, times, extract(epoch FROM at)::float8)
                         ORDER BY namespace_id, memory_id, session)::text FROM asked)
FROM events
"""


def note_restored(memories: Iterable[tuple[int, uuid.UUID]], *, now: datetime) -> None:
    """Restarts the age of memories, given as (namespace id, id), and removes an expiry in the past."""
    namespace_ids, ids = zip(*sorted(memories), strict=True)
    change_rows(_NOTE_RESTORED, [now, list(namespace_ids), list(ids)])


def note_marked(namespace_id: int, memory_ids: Iterable[uuid.UUID]) -> None:
    """Marks memories, so that their importance is computed again."""
    change_rows(_NOTE_MARKED, [namespace_id, sorted(memory_ids)])


def count_uses(
    *, after: uuid.UUID, before: uuid.UUID, limit: int, foremost: int
) -> tuple[int, uuid.UUID | None, int, str | None]:
    """Counts the uses of memories in the next `limit` audit events between two ids, and locks these memories.

    Returns the number of events, the last of them, the number of uses, and as JSON how often sessions asked for
    memories, counted for the first `foremost` memories of each pack.
    """
    parameters = {
        "types": [AuditEvent.QUERY.value, AuditEvent.CONTEXT_PACK.value],
        "after": after,
        "before": before,
        "limit": limit,
        "pack": AuditEvent.CONTEXT_PACK.value,
        "foremost": foremost,
    }
    [(events, last, uses, _, asked)] = read_rows(_COUNT_USES, parameters)
    return events, last, int(uses), asked


# An announcement ("I no longer …") is retired and reinstated together with what it took back, so it makes no pair.
_PAIRS = """
SELECT * FROM (
    (SELECT r.id, r.memory_id, r.start, r."end", false AS whole, r.by, r.by_start, r.by_end, r.reason, r.confidence,
            r.retired_at AS at
     FROM memory_retiredstatement r
     WHERE r.withdrawn_at IS NULL AND r.by <> r.memory_id AND r.retired_at >= %(since)s
       AND r.valid_to < %(holds_on)s
       AND (%(everywhere)s::bool OR r.namespace_id = ANY(%(namespaces)s::bigint[]))
       AND (%(before)s::timestamptz IS NULL OR (r.retired_at, r.id) < (%(before)s::timestamptz, %(below)s::uuid))
     ORDER BY r.retired_at DESC, r.id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT m.id, m.id, 0, length(m.text), true, m.superseded_by, 0, NULL, l.reason, l.confidence, m.superseded_at
     FROM memory_memory m
     JOIN memory_memorylink l ON l.namespace_id = m.namespace_id AND l.other_id = m.id AND l.kind = 'supersedes'
                              AND l.memory_id = m.superseded_by AND l.actor = %(machine)s
     WHERE m.superseded_by IS NOT NULL AND m.superseded_at >= %(since)s
       AND (%(everywhere)s::bool OR m.namespace_id = ANY(%(namespaces)s::bigint[]))
       AND (%(before)s::timestamptz IS NULL OR (m.superseded_at, m.id) < (%(before)s::timestamptz, %(below)s::uuid))
     ORDER BY m.superseded_at DESC, m.id DESC LIMIT %(limit)s)
) AS pairs ORDER BY at DESC, id DESC LIMIT %(limit)s
"""


def list_replaced(
    namespaces: Collection[int] | None,
    *,
    since: datetime,
    actor: str,
    before: tuple[datetime, uuid.UUID] | None,
    limit: int,
) -> list[tuple[Any, ...]]:
    """Lists statements that were retired and memories that `actor` superseded since `since`, newest first.

    `namespaces`: None for all. `before`: the (time, id) before which the page begins. Returns (id, memory id, start,
    end, whether it is the whole memory, newer memory, start and end there, reason, confidence, time).
    """
    return fetch(_PAIRS, _name_pairs(namespaces, since, actor, before, limit), prepared=False)


def count_replaced(namespaces: Collection[int] | None, *, since: datetime, actor: str, most: int) -> int:
    """Counts what `list_replaced` lists, up to `most`."""
    statement = f"SELECT count(*) FROM ({_PAIRS}) AS counted"
    [(count,)] = fetch(statement, _name_pairs(namespaces, since, actor, None, most), prepared=False)
    return int(count)


def _name_pairs(
    namespaces: Collection[int] | None,
    since: datetime,
    actor: str,
    before: tuple[datetime, uuid.UUID] | None,
    limit: int,
) -> dict[str, Any]:
    moment, identity = before or (None, None)
    return {
        "since": since,
        "holds_on": HOLDS_ON,
        "machine": actor,
        "everywhere": namespaces is None,
        "namespaces": sorted(namespaces or ()),
        "before": moment,
        "below": identity,
        "limit": limit,
    }


# The query is recursive because a chain of corrections may be long; UNION ends it even if the chain is a ring.
_SUCCESSORS = """
WITH RECURSIVE chain (id) AS (
    SELECT superseded_by FROM memory_memory WHERE namespace_id = %(namespace_id)s AND id = %(id)s
    UNION
    SELECT m.superseded_by FROM memory_memory m JOIN chain c ON m.namespace_id = %(namespace_id)s AND m.id = c.id
)
SELECT id FROM chain WHERE id IS NOT NULL
"""
_SUPERSEDED = """
WITH RECURSIVE chain (id) AS (
    SELECT id FROM memory_memory WHERE namespace_id = %(namespace_id)s AND superseded_by = %(id)s
    UNION
    SELECT m.id FROM memory_memory m JOIN chain c ON m.namespace_id = %(namespace_id)s AND m.superseded_by = c.id
)
SELECT id FROM chain
"""


def list_superseded(namespace_id: int, memory_id: uuid.UUID) -> list[uuid.UUID]:
    """Lists the memories that the memory superseded, directly or through others."""
    return [identity for (identity,) in read_rows(_SUPERSEDED, {"namespace_id": namespace_id, "id": memory_id})]


def list_successors(namespace_id: int, memory_id: uuid.UUID) -> list[uuid.UUID]:
    """Lists the memories that superseded the memory, directly or through others."""
    return [identity for (identity,) in read_rows(_SUCCESSORS, {"namespace_id": namespace_id, "id": memory_id})]


_QUARANTINED = """
SELECT n.name, q.rule, width_bucket(extract(epoch FROM %(now)s - q.created_at), %(ages)s::float8[]), count(*),
       min(q.created_at)
FROM memory_quarantineditem q JOIN memory_namespace n ON n.id = q.namespace_id
WHERE q.state = 'pending' AND (%(everywhere)s::bool OR q.namespace_id = ANY(%(namespaces)s::bigint[]))
GROUP BY 1, 2, 3
"""
_OWNERS = """
SELECT owner.type, owner.name, count(*), min(m.created_at), max(m.created_at), count(*) OVER ()
FROM memory_memory m CROSS JOIN LATERAL (
    VALUES ('user', m.metadata -> 'user_id'), ('agent', m.metadata -> 'agent_id'), ('app', m.metadata -> 'app_id'),
           ('run', m.metadata -> 'run_id')
) AS named (type, value) CROSS JOIN LATERAL (
    SELECT named.type, named.value #>> '{}' AS name WHERE jsonb_typeof(named.value) = 'string'
) AS owner
WHERE m.namespace_id = %(namespace_id)s AND m.state = 'active'
GROUP BY owner.type, owner.name ORDER BY owner.type, owner.name LIMIT %(limit)s OFFSET %(offset)s
"""


def count_quarantined(
    namespaces: Collection[int] | None, *, ages: Sequence[float], now: datetime
) -> list[tuple[str, str, int, int, datetime]]:
    """Counts items in quarantine (None: of all namespaces), in buckets of age with the bounds `ages` in seconds.

    Returns (namespace, rule, number of the bucket, items, time of the first).
    """
    parameters = {
        "now": now,
        "ages": list(ages),
        "everywhere": namespaces is None,
        "namespaces": sorted(namespaces or ()),
    }
    return fetch(_QUARANTINED, parameters, prepared=False)


def count_by_owner(
    namespace_id: int, *, offset: int, limit: int
) -> list[tuple[str, str, int, datetime, datetime, int]]:
    """Counts active memories by owner: (type, name, memories, times of the first and last, number of all owners)."""
    parameters = {"namespace_id": namespace_id, "limit": limit, "offset": offset}
    return fetch(_OWNERS, parameters, prepared=False)


_CHOOSE = """
INSERT INTO memory_bulkchangememory (namespace_id, change_id, memory_id, outcome)
SELECT %(namespace_id)s, %(change_id)s, {column}, %(waiting)s FROM {rows} AND m.namespace_id = %(namespace_id)s
"""


def choose_matching(namespace_id: int, change_id: uuid.UUID, condition: str, parameters: Mapping[str, Any]) -> int:
    """Stores the active memories `m` that meet the condition as those of a bulk change; returns their number."""
    rows = f"memory_memory m WHERE m.state = %(active)s AND ({condition})"
    return _choose(namespace_id, change_id, "m.id", rows, {"active": MemoryState.ACTIVE.value, **parameters})


def choose_changed(namespace_id: int, change_id: uuid.UUID, former: uuid.UUID) -> int:
    """Stores the memories that an earlier bulk change has changed as those of another; returns their number."""
    rows = "memory_bulkchangememory m WHERE m.change_id = %(former)s AND m.outcome = %(changed)s"
    parameters = {"former": former, "changed": BulkOutcome.CHANGED.value}
    return _choose(namespace_id, change_id, "m.memory_id", rows, parameters)


def _choose(namespace_id: int, change_id: uuid.UUID, column: str, rows: str, parameters: Mapping[str, Any]) -> int:
    own = {"namespace_id": namespace_id, "change_id": change_id, "waiting": BulkOutcome.WAITING.value}
    return change_rows(_CHOOSE.format(column=column, rows=rows), {**own, **parameters})


# This is one statement, so that if two first versions are stored concurrently, one becomes the second version.
_PUT_DOCUMENT = f"""
WITH living AS MATERIALIZED (
    {KEEP_NAMESPACES}
)
INSERT INTO memory_document AS d (namespace_id, id, document_id, session, version, title, source, format, metadata,
                                  characters, occurred_at, created_at, updated_at)
SELECT %(namespace_id)s::bigint, %(id)s::uuid, %(document_id)s::text, %(session)s::text, 1, %(title)s::text,
       %(source)s::text, %(format)s::text, %(metadata)s::jsonb, %(characters)s::int, %(occurred_at)s::timestamptz,
       %(now)s::timestamptz, %(now)s::timestamptz
FROM living
ON CONFLICT (namespace_id, document_id) DO UPDATE SET
    session = EXCLUDED.session, version = d.version + 1, title = EXCLUDED.title, source = EXCLUDED.source,
    format = EXCLUDED.format, metadata = EXCLUDED.metadata, characters = EXCLUDED.characters,
    occurred_at = EXCLUDED.occurred_at, updated_at = EXCLUDED.updated_at
RETURNING id, version
"""
_CLAIM_SUMMARIES = """
UPDATE memory_session SET summary_requested_at = %(now)s
WHERE namespace_id = %(namespace_id)s AND name = ANY(%(names)s)
  AND message_count > summarised_turn AND message_count >= summarised_turn + %(messages)s
  AND (summary_requested_at IS NULL OR summary_requested_at < %(earliest)s)
RETURNING name
"""
# The clock's time is stored and not the transaction's, to recognise a mark that was set again while a summary was
# written.
_MARK_STALE = """
INSERT INTO memory_stalesource (namespace_id, session, memory_id, created_at)
SELECT namespace_id, session, memory_id, clock_timestamp()
FROM unnest(%(namespace_ids)s::bigint[], %(sessions)s::text[], %(memory_ids)s::uuid[])
    AS turn (namespace_id, session, memory_id)
ORDER BY namespace_id, session, memory_id
ON CONFLICT (namespace_id, session, memory_id) DO UPDATE SET created_at = clock_timestamp()
"""


def put_document(row: Document, *, metadata: str, now: datetime) -> tuple[uuid.UUID, int] | None:
    """Inserts a document or its next version; returns its id and version, or None if the namespace is gone.

    `metadata` is JSON. The row is locked until the transaction ends.
    """
    names = ("namespace_id", "id", "document_id", "session", "title", "source", "format", "characters", "occurred_at")
    values = {name: getattr(row, name) for name in names}
    own = {"metadata": metadata, "now": now, "namespace_ids": number_array([row.namespace_id])}
    stored = fetch(_PUT_DOCUMENT, {**values, **own}, prepared=True)
    return (stored[0][0], stored[0][1]) if stored else None


def claim_summaries(
    namespace_id: int, sessions: Collection[str], *, messages: int, claimed_before: datetime, now: datetime
) -> list[str]:
    """Claims the summaries of sessions with at least `messages` new ones, unless claimed since `claimed_before`."""
    parameters = {
        "namespace_id": namespace_id,
        "names": list(sessions),
        "messages": messages,
        "now": now,
        "earliest": claimed_before,
    }
    return [name for (name,) in fetch(_CLAIM_SUMMARIES, parameters, prepared=True, by_key=True)]


def mark_stale_sources(turns: Sequence[Memory]) -> None:
    """Marks memories of sessions as sources that summaries may no longer repeat."""
    parameters = {
        "namespace_ids": [turn.namespace_id for turn in turns],
        "sessions": [turn.session for turn in turns],
        "memory_ids": [turn.pk for turn in turns],
    }
    change_rows(_MARK_STALE, parameters)


# This is a stratified sample, whose strata are the months of sessions. The memories of a stratum have a fixed order (a
# hash of the id), and the k-th of n gets the key (k − u) / n, with u from 0 to 1 by the stratum's hash. Taking the
# smallest keys takes from each stratum in proportion to its size, and from many small ones in proportion to their sum.
_SAMPLE_MAP = """
WITH vectors AS (
    SELECT m.id, m.session, date_trunc('month', m.occurred_at) AS month
    FROM memory_memory m
    JOIN memory_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
    WHERE m.namespace_id = %(namespace_id)s AND v.model_id = %(model_id)s AND v.passage = 0
      AND NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
), ranked AS (
    SELECT id, (row_number() OVER stratum - (abs(hashtextextended(session || month::text, 0)::numeric) / 2^63))
               / count(*) OVER (PARTITION BY session, month) AS key
    FROM vectors WINDOW stratum AS (PARTITION BY session, month ORDER BY hashtextextended(id::text, 0), id)
), chosen AS (SELECT id FROM ranked ORDER BY key, id LIMIT %(limit)s)
SELECT m.id, m.terms, halfvec_send(v.embedding), (SELECT count(*) FROM vectors)
FROM chosen c
JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.id = c.id
JOIN memory_memoryvector v ON v.namespace_id = m.namespace_id AND v.model_id = %(model_id)s AND v.memory_id = m.id
                          AND v.passage = 0
ORDER BY m.id
"""
_PLACE_ON_MAP = """
INSERT INTO memory_projectedmemory (namespace_id, model_id, memory_id, x, y, z, cluster)
SELECT m.namespace_id, %(model_id)s, m.id, p.x, p.y, p.z, p.cluster
FROM unnest(%(ids)s::uuid[], %(x)s::float8[], %(y)s::float8[], %(z)s::float8[], %(clusters)s::smallint[])
     AS p (id, x, y, z, cluster)
JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.id = p.id
WHERE NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
ORDER BY m.id
FOR KEY SHARE OF m
"""


def sample_for_map(namespace_id: int, model_id: int, *, limit: int) -> list[tuple[uuid.UUID, list[str], bytes, int]]:
    """Samples memories by session and month: (id, terms, vector as of `halfvec_send`, number of memories with one)."""
    return read_rows(_SAMPLE_MAP, {"namespace_id": namespace_id, "model_id": model_id, "limit": limit})


def place_on_map(
    namespace_id: int,
    model_id: int,
    memory_ids: Sequence[uuid.UUID],
    *,
    axes: Mapping[str, Sequence[float]],
    clusters: Sequence[int],
) -> int:
    """Stores the coordinates x, y and z of memories, and their clusters; returns the number that still existed."""
    parameters = {
        "namespace_id": namespace_id,
        "model_id": model_id,
        "ids": list(memory_ids),
        **axes,
        "clusters": list(clusters),
    }
    return change_rows(_PLACE_ON_MAP, parameters)


# Counts memories that are active and hold. A session comes where its newest memory does.
_TOPICS_OF_SESSIONS = """
WITH placed AS (
    SELECT m.session, p.cluster, count(*) AS memories, (array_agg(m.id ORDER BY m.id DESC))[1] AS newest
    FROM memory_projectedmemory p
    JOIN memory_embeddingmodel e ON e.id = p.model_id AND e.state = 'active'
    JOIN memory_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
    WHERE p.namespace_id = %(namespace_id)s AND (%(session)s::text IS NULL OR m.session = %(session)s)
      AND m.state = 'active' AND m.superseded_by IS NULL AND (m.valid_to IS NULL OR m.valid_to > %(now)s)
    GROUP BY m.session, p.cluster
), sessions AS (
    SELECT session, (array_agg(newest ORDER BY newest DESC))[1] AS newest,
           array_agg(cluster ORDER BY memories DESC, cluster) AS clusters,
           array_agg(memories ORDER BY memories DESC, cluster) AS sizes
    FROM placed GROUP BY session
)
SELECT session, newest, clusters, sizes FROM sessions
WHERE %(cursor)s::uuid IS NULL OR newest <= %(cursor)s::uuid
ORDER BY newest DESC LIMIT %(limit)s
"""


def list_topics(
    namespace_id: int, *, session: str | None, cursor: uuid.UUID | None, limit: int, now: datetime
) -> list[tuple[str, uuid.UUID, list[int], list[int]]]:
    """List sessions by their newest memory on the map, from `cursor` on.

    Returns (session, its newest memory, numbers of its topics, memories in each).
    """
    parameters = {"namespace_id": namespace_id, "session": session, "cursor": cursor, "limit": limit, "now": now}
    return read_rows(_TOPICS_OF_SESSIONS, parameters)
