"""SQL of an erasure: its memories, the facts that rest on them, their sessions, and traces in the audit log."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from memory.enums import ErasureTarget
from memory.kinds import SESSION_PREFIX
from memory.models.audit import MARK
from memory.models.sql import change_rows, fetch, read_rows

# A single statement sees one snapshot: memories committed before it are erased, those committed later stay.
_TAKE_DOWN = """
WITH RECURSIVE named AS (
    SELECT m.id, m.session, m.turn FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND {condition}
), documents AS (
    SELECT c.document_key FROM named n
    JOIN memory_documentchunk c ON c.namespace_id = %(namespace_id)s AND c.memory_id = n.id
    UNION
    SELECT d.id FROM memory_document d
    WHERE d.namespace_id = %(namespace_id)s AND d.session = %(session)s AND %(session)s <> ''
), said AS (
    SELECT id, session, turn FROM named
    UNION
    SELECT m.id, m.session, m.turn FROM documents d
    JOIN memory_documentchunk c ON c.namespace_id = %(namespace_id)s AND c.document_key = d.document_key
    JOIN memory_memory m ON m.namespace_id = c.namespace_id AND m.id = c.memory_id
), resting (memory_id) AS (
    -- Facts and replies that rest on what is said there, and what rests on those.
    SELECT l.memory_id FROM said n
    JOIN memory_memorylink l ON l.namespace_id = %(namespace_id)s AND l.other_id = n.id AND l.kind = 'derived_from'
    UNION
    SELECT l.memory_id FROM resting r
    JOIN memory_memorylink l
        ON l.namespace_id = %(namespace_id)s AND l.other_id = r.memory_id AND l.kind = 'derived_from'
), supported AS (
    -- Those of them that another memory says by itself.
    SELECT k.memory_id FROM resting r
    JOIN memory_memorylink k ON k.namespace_id = %(namespace_id)s AND k.memory_id = r.memory_id
    WHERE k.kind = 'derived_from' AND k.confidence >= 1
      AND k.other_id NOT IN (SELECT id FROM said UNION ALL SELECT memory_id FROM resting)
), found AS (
    SELECT id, session, turn FROM said
    UNION
    SELECT m.id, m.session, m.turn FROM resting r
    JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.id = r.memory_id
    WHERE r.memory_id NOT IN (SELECT memory_id FROM supported)
), quarantined AS (
    -- Its id is that of the memory that it would become.
    SELECT m.id, m.session, m.document <> '{{}}'::jsonb AS whole, {quarantined} AS own FROM memory_quarantineditem m
    WHERE m.namespace_id = %(namespace_id)s AND ({quarantined}
        -- A reply that the gate kept apart quotes what it names.
        OR m.metadata #> '{{answer,memory_ids}}' ?| ARRAY(SELECT id::text FROM said)
        OR m.document ->> 'document_id' IN (
            SELECT d.document_id FROM memory_document d JOIN documents o ON d.id = o.document_key
            WHERE d.namespace_id = %(namespace_id)s))
), memories AS (
    INSERT INTO memory_erasedmemory (namespace_id, erasure_id, memory_id)
    SELECT %(namespace_id)s, %(erasure_id)s, id FROM (SELECT id FROM found UNION SELECT id FROM quarantined) AS erased
), sessions AS (
    INSERT INTO memory_erasedsession (namespace_id, erasure_id, session, first_turn, state)
    SELECT %(namespace_id)s, %(erasure_id)s, session, min(turn), 'open'
    FROM (
        SELECT session, turn FROM found WHERE turn >= 0 OR starts_with(session, '{chunks}')
        UNION ALL
        -- A fact alone takes no summary with it.
        SELECT f.session, coalesce(n.message_count, 0) + 1
        FROM found f LEFT JOIN memory_session n ON n.namespace_id = %(namespace_id)s AND n.name = f.session
        WHERE f.turn < 0 AND NOT starts_with(f.session, '{chunks}')
        UNION ALL
        -- Released meanwhile, it would be the session's next turn.
        SELECT q.session, coalesce(n.message_count, 0) + 1
        FROM quarantined q LEFT JOIN memory_session n ON n.namespace_id = %(namespace_id)s AND n.name = q.session
        WHERE q.session <> '' AND NOT q.whole
        UNION ALL
        -- A session or namespace is forgotten with the summaries and packs of sessions that have no memory.
        SELECT %(session)s, 0 WHERE %(session)s <> ''
        UNION ALL
        SELECT name, 0 FROM memory_session WHERE namespace_id = %(namespace_id)s AND %(whole)s
    ) AS touched
    GROUP BY session
)
SELECT (SELECT count(*) FROM (SELECT id FROM named UNION SELECT id FROM quarantined WHERE own) AS a),
       (SELECT count(*) FROM (SELECT id FROM found UNION SELECT id FROM quarantined) AS b),
       (SELECT count(*) FROM documents)
"""
_CONDITIONS = {
    ErasureTarget.MEMORIES: "m.id = ANY(%(memory_ids)s::uuid[])",
    ErasureTarget.SESSION: "m.session = %(session)s",
    # The speaker of a chunk is its document's title.
    ErasureTarget.SPEAKER: "m.speaker = %(speaker)s AND m.turn > 0",
    ErasureTarget.NAMESPACE: "true",
}
# A repeated erasure covers the memories that it named, and memories of its target that existed when it was requested.
_AGAIN_ALL = """
m.id = ANY(%(memory_ids)s::uuid[]) OR m.created_at <= %(asked_at)s AND (
    %(whole)s OR m.session = %(session)s AND %(session)s <> ''
    OR m.speaker = %(speaker)s AND %(speaker)s <> '' AND {own}
"""
_AGAIN_CHUNKS = """m.id IN (
    SELECT c.memory_id FROM memory_documentchunk c
    WHERE c.namespace_id = %(namespace_id)s AND c.document_key = ANY(%(documents)s::uuid[]))"""
_AGAIN = f"({_AGAIN_ALL.format(own='m.turn > 0')} OR {_AGAIN_CHUNKS}))"
_AGAIN_QUARANTINED = "(" + _AGAIN_ALL.format(own="m.document = '{}'::jsonb") + "))"
_QUARANTINED = {**_CONDITIONS, ErasureTarget.SPEAKER: "m.speaker = %(speaker)s AND m.document = '{}'::jsonb"}


def name_target(
    namespace_id: int,
    erasure_id: uuid.UUID,
    kind: ErasureTarget,
    *,
    memory_ids: Sequence[uuid.UUID],
    session: str,
    speaker: str,
) -> tuple[int, int, int]:
    """Stores the ids and sessions of an erasure; returns the numbers (named and present, to be erased, documents)."""
    return _write_down(
        namespace_id,
        erasure_id,
        condition=_CONDITIONS[kind],
        quarantined=_QUARANTINED[kind],
        memory_ids=list(memory_ids),
        session=session,
        speaker=speaker,
        whole=kind == ErasureTarget.NAMESPACE,
    )


def name_target_again(namespace_id: int, erasure_id: uuid.UUID, **target: Any) -> tuple[int, int, int]:
    """Does the same for an erasure of the ledger: for the ids that it named, and its target as of `asked_at`."""
    return _write_down(namespace_id, erasure_id, condition=_AGAIN, quarantined=_AGAIN_QUARANTINED, **target)


def _write_down(
    namespace_id: int, erasure_id: uuid.UUID, *, condition: str, quarantined: str, **parameters: Any
) -> tuple[int, int, int]:
    statement = _TAKE_DOWN.format(condition=condition, quarantined=quarantined, chunks=SESSION_PREFIX)
    [(present, found, documents)] = read_rows(
        statement, {"namespace_id": namespace_id, "erasure_id": erasure_id, **parameters}
    )
    return present, found, documents


_LOCK_RESTING = """
SELECT m.id FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id IN (
    SELECT l.memory_id FROM memory_memorylink l
    WHERE l.namespace_id = %(namespace_id)s AND l.other_id = ANY(%(memory_ids)s::uuid[]) AND l.kind = 'derived_from')
ORDER BY m.id FOR UPDATE
"""
# This is a separate statement, so that it sees which links an earlier holder of the locks has deleted.
_LIST_UNSUPPORTED = """
SELECT f.id FROM unnest(%(facts)s::uuid[]) AS f (id)
WHERE NOT EXISTS (
    SELECT FROM memory_memorylink k
    WHERE k.namespace_id = %(namespace_id)s AND k.memory_id = f.id AND k.kind = 'derived_from' AND k.confidence >= 1
      AND NOT EXISTS (SELECT FROM memory_erasedmemory e
                      WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
                        AND e.memory_id = k.other_id))
  AND NOT EXISTS (SELECT FROM memory_erasedmemory n
                  WHERE n.namespace_id = %(namespace_id)s AND n.erasure_id = %(erasure_id)s AND n.memory_id = f.id)
"""
# The window and the summaries of a session may repeat the words of a reply.
_TAKE_DOWN_SESSIONS = """
INSERT INTO memory_erasedsession AS s (namespace_id, erasure_id, session, first_turn, state)
SELECT m.namespace_id, %(erasure_id)s, m.session, min(m.turn), 'open'
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(found)s::uuid[]) AND m.turn > 0
GROUP BY m.namespace_id, m.session
ON CONFLICT (namespace_id, erasure_id, session) DO UPDATE
    SET first_turn = least(s.first_turn, EXCLUDED.first_turn), state = 'open'
"""
# Finds preferences that are erased although remaining turns state them as well. A namespace has few preferences, so
# they are read first, and each is looked up among the erased rows.
_READ_AGAIN = """
WITH gone AS MATERIALIZED (
    SELECT p.id FROM memory_memory p
    WHERE p.namespace_id = %(namespace_id)s AND p.is_preference AND p.state = 'active' AND p.superseded_by IS NULL
      AND (SELECT true FROM memory_erasedmemory e
           WHERE e.namespace_id = p.namespace_id AND e.erasure_id = %(erasure_id)s AND e.memory_id = p.id)
)
UPDATE memory_session s SET preference_turn = least(s.preference_turn, told.turn - 1)
FROM (
    SELECT o.session, min(o.turn) AS turn
    FROM gone p
    JOIN memory_memorylink l ON l.namespace_id = %(namespace_id)s AND l.memory_id = p.id AND l.kind = 'derived_from'
    JOIN memory_memory o ON o.namespace_id = l.namespace_id AND o.id = l.other_id
    WHERE o.turn > 0 AND (SELECT true FROM memory_erasedmemory x
                          WHERE x.namespace_id = o.namespace_id AND x.memory_id = o.id LIMIT 1) IS NULL
    GROUP BY o.session
) AS told
WHERE s.namespace_id = %(namespace_id)s AND s.name = told.session AND s.preference_turn >= told.turn
"""


def lock_resting(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Locks the facts and replies that rest on the memories, and returns their ids."""
    rows = read_rows(_LOCK_RESTING, {"namespace_id": namespace_id, "memory_ids": list(memory_ids)})
    return [identity for (identity,) in rows]


def list_unsupported(namespace_id: int, erasure_id: uuid.UUID, facts: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """Lists the facts that no remaining memory supports, and that the erasure does not name yet."""
    parameters = {"namespace_id": namespace_id, "erasure_id": erasure_id, "facts": list(facts)}
    return [identity for (identity,) in read_rows(_LIST_UNSUPPORTED, parameters)]


def name_sessions(namespace_id: int, erasure_id: uuid.UUID, memory_ids: Sequence[uuid.UUID]) -> None:
    """Adds the sessions of the memories to the erasure, from the memories' turns on."""
    parameters = {"namespace_id": namespace_id, "erasure_id": erasure_id, "found": list(memory_ids)}
    change_rows(_TAKE_DOWN_SESSIONS, parameters)


def read_preferences_again(namespace_id: int, erasure_id: uuid.UUID) -> None:
    """Sets sessions back to the first remaining turn that states an erased preference, so that it is read again."""
    change_rows(_READ_AGAIN, {"namespace_id": namespace_id, "erasure_id": erasure_id})


# The rows are locked in the same order as by the statement that ingests: by the database's collation, not by bytes.
_LOCK_SESSIONS = """
SELECT name FROM memory_session WHERE namespace_id = %(namespace_id)s AND name = ANY(%(sessions)s)
ORDER BY name COLLATE "default" FOR UPDATE
"""
_DELETE_SUMMARIES = """
DELETE FROM memory_condensation c USING memory_erasedsession s
WHERE c.namespace_id = %(namespace_id)s AND s.namespace_id = c.namespace_id AND s.erasure_id = %(erasure_id)s
  AND s.session = c.session AND s.session = ANY(%(sessions)s)
  AND (c.covers_to_turn >= s.first_turn
       OR (SELECT true FROM memory_memory m
           WHERE m.namespace_id = c.namespace_id AND m.session = c.session AND m.turn > 0 LIMIT 1) IS NULL)
RETURNING c.session
"""
_DELETE_EMPTY = """
DELETE FROM memory_session n
WHERE n.namespace_id = %(namespace_id)s AND n.name = ANY(%(sessions)s) AND n.audit_hidden_before IS NULL
  AND (SELECT true FROM memory_memory m
       WHERE m.namespace_id = n.namespace_id AND m.session = n.name AND m.turn > 0 LIMIT 1) IS NULL
"""
# `message_count` stays, because new turns are numbered from it. Turns that no summary covers now are summarised again.
_UNCOVER = """
UPDATE memory_session n SET summary_requested_at = NULL, summarised_turn = coalesce(
    (SELECT max(c.covers_to_turn) FROM memory_condensation c
     WHERE c.namespace_id = n.namespace_id AND c.session = n.name), 0)
WHERE n.namespace_id = %(namespace_id)s AND n.name = ANY(%(sessions)s)
RETURNING n.name
"""


def clear_sessions(namespace_id: int, erasure_id: uuid.UUID, sessions: Sequence[str]) -> tuple[int, int, list[str]]:
    """Locks the sessions, and deletes summaries of erased turns and sessions without turns.

    Returns the numbers of deleted summaries and sessions, and the remaining sessions that lost a summary.
    """
    parameters: dict[str, Any] = {"namespace_id": namespace_id, "erasure_id": erasure_id, "sessions": list(sessions)}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_SESSIONS, parameters)
        cursor.execute(_DELETE_SUMMARIES, parameters)
        summarised = [name for (name,) in cursor.fetchall()]
        cursor.execute(_DELETE_EMPTY, parameters)
        emptied = cursor.rowcount
        cursor.execute(_UNCOVER, {**parameters, "sessions": list(set(summarised))})
        left = [name for (name,) in cursor.fetchall()]
    return len(summarised), emptied, left


_IN_AUDIT = """
SELECT count(*), count(*) FILTER (WHERE coalesce(a.details ->> 'reason', a.details ->> 'note', %(mark)s)
                                        NOT LIKE %(mark)s || '%%')
FROM memory_auditlog a
WHERE a.namespace_id = %(namespace_id)s AND (
    %(whole)s OR a.session = %(session)s AND %(session)s <> ''
    OR a.subject IN (SELECT e.memory_id::text FROM memory_erasedmemory e
                     WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s))
"""


def count_audit_events(
    namespace_id: int, erasure_id: uuid.UUID, *, session: str, whole_namespace: bool
) -> tuple[int, int]:
    """Counts the audit events about the erased memories, and those among them that contain words a person typed."""
    parameters = {
        "namespace_id": namespace_id,
        "erasure_id": erasure_id,
        "session": session,
        "whole": whole_namespace,
        "mark": MARK,
    }
    [(events, typed)] = read_rows(_IN_AUDIT, parameters)
    return events, typed


_HELD_CACHES = """
SELECT c.id FROM memory_activationcache c
WHERE c.namespace_id = %(namespace_id)s AND (
    %(whole)s AND c.created_at <= %(asked_at)s
    OR EXISTS (SELECT FROM unnest(c.memory_ids) AS held (id)
               WHERE (SELECT true FROM memory_erasedmemory e
                      WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
                        AND e.memory_id = held.id)))
"""


def list_held_caches(
    namespace_id: int, erasure_id: uuid.UUID, *, whole_namespace: bool, asked_at: datetime
) -> list[uuid.UUID]:
    """Lists the activation caches that hold an erased memory; for a whole namespace, those made up to `asked_at`."""
    parameters = {
        "namespace_id": namespace_id,
        "erasure_id": erasure_id,
        "whole": whole_namespace,
        "asked_at": asked_at,
    }
    return [identity for (identity,) in fetch(_HELD_CACHES, parameters, prepared=False)]
