"""SQL that finds and deletes what each table holds of erased memories.

Statements take the parameters of `services/erasure/holder.execute`. Constants that select rows begin with the table and
its alias, as after FROM; `count_rows` and `delete_rows` turn them into statements.
"""

from __future__ import annotations

from memory.enums import AdapterState

ERASED = "memory_erasedmemory e WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s"


def is_erased(memory_id: str) -> str:
    """Returns SQL that tests whether the erasure names the memory, by a look-up of its key.

    PostgreSQL might plan EXISTS as a join with all erased memories instead.
    """
    return f"coalesce((SELECT true FROM {ERASED} AND e.memory_id = {memory_id}), false)"


def count_rows(rows: str) -> str:
    """Returns SQL that counts the rows."""
    return f"SELECT count(*) FROM {rows}"


def delete_rows(rows: str) -> str:
    """Returns SQL that deletes the rows."""
    return f"DELETE FROM {rows}"


def delete_rows_in_order(table: str, alias: str, rows: str) -> str:
    """Returns SQL that deletes the rows in the order of their ids, so that concurrent erasures cannot deadlock."""
    return (
        f"WITH gone AS (SELECT {alias}.id FROM {rows} ORDER BY {alias}.id FOR UPDATE OF {alias}) "
        f"DELETE FROM {table} t USING gone "
        f"WHERE t.namespace_id = %(namespace_id)s AND t.id = gone.id"
    )


def rows_of_memories(table: str, column: str) -> str:
    """Returns SQL that selects the rows of a batch of memories."""
    return f"{table} t WHERE t.namespace_id = %(namespace_id)s AND t.{column} = ANY(%(memory_ids)s::uuid[])"


def rows_of_pairs(table: str, columns: tuple[str, str], *, batch: bool) -> str:
    """Returns SQL that selects the rows that name, in either column, one of a batch of memories or any erased one."""
    named = [f"t.{column} = ANY(%(memory_ids)s::uuid[])" if batch else is_erased(f"t.{column}") for column in columns]
    return f"{table} t WHERE t.namespace_id = %(namespace_id)s AND ({' OR '.join(named)})"


POSTINGS = f"""
SELECT count(*) FROM memory_posting t
WHERE t.namespace_id = %(namespace_id)s AND t.memory_id IN (SELECT e.memory_id FROM {ERASED})
"""

# A question is often a turn of the session as well, so the question of a pack may be the text of an erased memory.
CLEAR_ASKED = """
DELETE FROM memory_contextpack p USING memory_memory m
WHERE p.namespace_id = %(namespace_id)s AND m.namespace_id = p.namespace_id AND m.id = ANY(%(memory_ids)s::uuid[])
  AND p.session = m.session AND p.query_text = m.text
"""

# The memories of a pack are read from the column and not from its JSON. If the summary of a pack is gone, it was
# erased.
PACKS = f"""
memory_contextpack p WHERE p.namespace_id = %(namespace_id)s AND (
    EXISTS (SELECT FROM unnest(p.memory_ids) AS held (id) WHERE {is_erased("held.id")})
    OR (p.session = %(session)s AND %(session)s <> '' OR %(whole)s) AND p.created_at <= %(asked_at)s
    OR p.session_summary_id IS NOT NULL
       AND p.session IN (SELECT s.session FROM memory_erasedsession s
                         WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s)
       AND NOT EXISTS (SELECT FROM memory_condensation c JOIN memory_erasedsession s
                           ON s.namespace_id = c.namespace_id AND s.session = c.session
                           AND s.erasure_id = %(erasure_id)s
                       WHERE c.namespace_id = p.namespace_id AND c.id = p.session_summary_id
                         AND NOT (s.state = 'open' AND c.covers_to_turn >= s.first_turn))
)
"""
PACKS_OR_ASKED = (
    PACKS.rstrip().removesuffix(")")
    + f"""
    OR EXISTS (SELECT FROM memory_memory m
               WHERE m.namespace_id = p.namespace_id AND m.session = p.session AND m.text = p.query_text
                 AND {is_erased("m.id")})
)
"""
)

# Summaries made from an erased turn, or (while the session has not been processed) from a summary of such a turn.
SUMMARIES = f"""
memory_condensation c JOIN memory_erasedsession s ON s.namespace_id = c.namespace_id AND s.session = c.session
WHERE c.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND (
    s.state = 'open' AND c.covers_to_turn >= s.first_turn
    OR EXISTS (SELECT FROM unnest(c.source_memory_ids) AS source (id) WHERE {is_erased("source.id")})
    OR EXISTS (SELECT FROM jsonb_path_query(c.item_sources, '$.*[*][*]') AS source (id)
               WHERE {is_erased("(source.id #>> '{}')::uuid")})
)
"""

# Sessions in which all remaining memories are erased ones.
EMPTY_SESSIONS = f"""
memory_session n JOIN memory_erasedsession s ON s.namespace_id = n.namespace_id AND s.session = n.name
WHERE n.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND n.audit_hidden_before IS NULL
  AND (SELECT true FROM memory_memory m
       WHERE m.namespace_id = n.namespace_id AND m.session = n.name AND m.turn > 0 AND NOT {is_erased("m.id")}
       LIMIT 1) IS NULL
"""

# Documents without a remaining chunk. A document that was sent again in the meantime has new chunks.
DOCUMENTS = f"""
memory_document d WHERE d.namespace_id = %(namespace_id)s
  AND 'document:' || d.id IN (SELECT s.session FROM memory_erasedsession s
                              WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s
                                AND s.first_turn < 0)
  AND (SELECT true FROM memory_documentchunk c
       WHERE c.namespace_id = d.namespace_id AND c.document_key = d.id AND NOT {is_erased("c.memory_id")}
       LIMIT 1) IS NULL
"""

# Stored answers belong to callers and not to tenants; the ids of their memories identify the tenant.
KEPT_ANSWERS = """
memory_idempotencyrecord r WHERE r.body_hash <> '' AND EXISTS (
    SELECT FROM jsonb_array_elements_text(r.memory_ids) AS held (id)
    WHERE EXISTS (SELECT FROM memory_erasedmemory e
                  WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
                    AND e.memory_id = held.id::uuid)
       -- The body of a bulk change had a filter, which may say what an erased memory says.
       OR EXISTS (SELECT FROM memory_bulkchange b
                  WHERE b.namespace_id = %(namespace_id)s AND b.id = held.id::uuid)
       OR EXISTS (SELECT FROM memory_erasedsession s
                  WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s
                    AND s.session = 'document:' || held.id AND s.first_turn < 0)
)
"""
# The key stays, so that a repeated write does not store an erased memory again.
CLEAR_KEPT_ANSWERS = f"UPDATE memory_idempotencyrecord SET body_hash = '' WHERE id IN (SELECT r.id FROM {KEPT_ANSWERS})"

# Names that no remaining memory mentions, and entities without such a name.
_SAID = f"""
EXISTS (SELECT FROM memory_entitymention m
        WHERE m.namespace_id = a.namespace_id AND m.alias = a.id AND NOT {is_erased("m.memory_id")})
"""
UNMENTIONED_NAMES = f"memory_entityalias a WHERE a.namespace_id = %(namespace_id)s AND NOT {_SAID}"
NAMELESS_ENTITIES = f"""
memory_entity n WHERE n.namespace_id = %(namespace_id)s AND n.id NOT IN (
    SELECT unnest(ARRAY[a.entity, a.home]) FROM memory_entityalias a
    WHERE a.namespace_id = %(namespace_id)s AND {_SAID})
"""

# A job names its session. If the session stays, only the job's error may reveal more.
SESSION_JOBS = f"""
memory_job j WHERE j.namespace_id = %(namespace_id)s AND j.kind = ANY(%(session_kinds)s) AND j.state <> 'running'
  AND j.arguments ->> 1 IN (SELECT s.session FROM memory_erasedsession s
                            WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s)
  AND (j.error <> ''
       OR NOT EXISTS (SELECT FROM memory_session n
                      WHERE n.namespace_id = j.namespace_id AND n.name = j.arguments ->> 1)
       OR j.arguments ->> 1 IN (SELECT n.name FROM {EMPTY_SESSIONS}))
"""

# The axes of a map are computed from vectors, and its clusters are named by words of memories. A map that was begun
# after the erasure was requested leaves the erased memories out.
PROJECTIONS = "memory_projection p WHERE p.namespace_id = %(namespace_id)s AND p.read_at <= %(asked_at)s"

# People typed these words into audit events about the memories, their sessions or the erasure itself.
AUDIT_WORDS = f"""
memory_auditwords w WHERE w.namespace_id = %(namespace_id)s AND (
    %(whole)s OR w.session = %(session)s AND %(session)s <> '' OR %(erasure_id)s = ANY(w.memory_ids)
    OR EXISTS (SELECT FROM unnest(w.memory_ids) AS held (id) WHERE {is_erased("held.id")})
)
"""

# Calls of models and their costs belong to the namespace and to no memory of it.
MODEL_CALLS = "memory_modelcall c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.at <= %(asked_at)s"
USAGE_DAYS = (
    "memory_usageday d WHERE d.namespace_id = %(namespace_id)s AND %(whole)s "
    "AND d.day <= (%(asked_at)s AT TIME ZONE 'UTC')::date"
)

# The stored beginning of a receiver's answer may repeat what was sent to it.
_ANSWERED = f"""
d.namespace_id = %(namespace_id)s AND d.answer <> ''
  AND (%(whole)s OR EXISTS (SELECT FROM unnest(d.memory_ids) AS held (id) WHERE {is_erased("held.id")}))
"""
WEBHOOK_ANSWERS = f"memory_webhookdelivery d WHERE {_ANSWERED}"
CLEAR_WEBHOOK_ANSWERS = f"UPDATE memory_webhookdelivery d SET answer = '' WHERE {_ANSWERED}"

# A bulk change holds the values that it writes into memories. It needs them while it runs, and deletes them at its end.
_LEFT_TO_CHANGE = """
EXISTS (SELECT FROM memory_bulkchangememory r
        WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND r.outcome = 'waiting')
"""
_UNDER_WAY = f"""
EXISTS (SELECT FROM memory_job j
        WHERE j.namespace_id = b.namespace_id AND j.kind = %(change_kind)s
          AND j.arguments ->> 1 = b.id::text AND j.state IN ('queued', 'running')) AND {_LEFT_TO_CHANGE}
"""
BULK_CHANGES = f"""
memory_bulkchange b
WHERE b.namespace_id = %(namespace_id)s AND b.wanted <> '{{}}'::jsonb AND NOT ({_UNDER_WAY})
"""
ERASED_BULK_CHANGES = f"""
{BULK_CHANGES} AND (%(whole)s OR NOT {_LEFT_TO_CHANGE} OR EXISTS (
    SELECT FROM memory_bulkchangememory r
    WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND {is_erased("r.memory_id")}))
"""
CLEAR_BULK_CHANGES = f"""
UPDATE memory_bulkchange SET wanted = '{{}}' WHERE namespace_id = %(namespace_id)s AND id IN (
    SELECT b.id FROM {BULK_CHANGES} AND EXISTS (
        SELECT FROM memory_bulkchangememory r
        WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND r.memory_id = ANY(%(memory_ids)s::uuid[])))
"""
SWEEP_BULK_CHANGES = f"""
UPDATE memory_bulkchange SET wanted = '{{}}' WHERE namespace_id = %(namespace_id)s AND id IN (
    SELECT b.id FROM {ERASED_BULK_CHANGES})
"""

# An imported file has the texts of its memories. A running import needs it, and deletes it at its end.
IMPORT_PARTS = """
memory_importpart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = %(import_kind)s
          AND j.arguments ->> 1 = p.import_id::text AND j.state IN ('queued', 'running')))
"""

# The row of an import names the speaker and the file.
IMPORTS = "memory_memoryimport i WHERE i.namespace_id = %(namespace_id)s AND %(whole)s AND i.created_at <= %(asked_at)s"

# Files that became a document without remaining chunks, that are in an erased quarantined item, or that the erasure's
# whole namespace or session had when it was requested.
DOCUMENT_FILES = f"""
memory_documentfile f WHERE f.namespace_id = %(namespace_id)s AND (
    %(whole)s AND f.created_at <= %(asked_at)s
    OR f.session = %(session)s AND %(session)s <> '' AND f.created_at <= %(asked_at)s
    OR f.quarantine_id IS NOT NULL AND {is_erased("f.quarantine_id")}
    OR f.document_key IN (SELECT d.id FROM {DOCUMENTS}))
"""

# The original of a document contains all of its chunks, so it is deleted with the first of them.
ORIGINALS = f"""
memory_documentfilepart p WHERE p.namespace_id = %(namespace_id)s AND p.file_id IN (
    SELECT f.id FROM {DOCUMENT_FILES}
    UNION SELECT f.id FROM memory_documentfile f JOIN memory_erasedsession s
        ON s.namespace_id = f.namespace_id AND s.session = 'document:' || f.document_key AND s.first_turn < 0
    WHERE f.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND f.asked_at <= %(asked_at)s)
"""

# Data sets and adapters that have learnt an erased memory stay stale, even after their sources are gone. An adapter
# holds what it has learnt until `unlearn` has deleted its files and no server has it loaded.
_LEARNT = """
EXISTS (SELECT FROM memory_trainingsource s
        WHERE s.namespace_id = d.namespace_id AND s.dataset_id = d.{column} AND {erased})
"""
_LEARNT_NOW = "s.memory_id = ANY(%(memory_ids)s::uuid[])"
DATASETS = f"""
memory_trainingdataset d WHERE d.namespace_id = %(namespace_id)s
  AND {_LEARNT.format(column="id", erased=is_erased("s.memory_id"))}
"""
ADAPTERS = f"""
memory_adapter d WHERE d.namespace_id = %(namespace_id)s
  AND (d.erasures @> ARRAY[%(erasure_id)s::uuid] AND (d.files <> '{{}}'::jsonb OR d.served_by <> '[]'::jsonb)
       OR {_LEARNT.format(column="dataset_id", erased=is_erased("s.memory_id"))})
"""

# Each erasure marks a data set or adapter once, with all its memories.
_UNMARKED = "NOT d.erasures @> ARRAY[%(erasure_id)s::uuid]"
MARK_DATASETS = f"""
UPDATE memory_trainingdataset d
SET erasures = d.erasures || %(erasure_id)s::uuid, stale_at = coalesce(d.stale_at, %(now)s),
    stale = d.stale || jsonb_build_object('erased', coalesce((d.stale ->> 'erased')::int, 0) + (
        SELECT count(*) FROM memory_trainingsource s
        WHERE s.namespace_id = d.namespace_id AND s.dataset_id = d.id
          AND ({_LEARNT_NOW} OR {is_erased("s.memory_id")})))
WHERE d.namespace_id = %(namespace_id)s AND {_UNMARKED} AND {_LEARNT.format(column="id", erased=_LEARNT_NOW)}
"""
MARK_ADAPTERS = f"""
UPDATE memory_adapter d
SET erasures = d.erasures || %(erasure_id)s::uuid,
    rebuild = d.rebuild OR d.state = '{AdapterState.ACTIVE.value}',
    state = '{AdapterState.STALE.value}', ended_at = coalesce(d.ended_at, %(now)s),
    problem = 'A memory that it has learnt was erased.'
WHERE d.namespace_id = %(namespace_id)s AND {_UNMARKED} AND {_LEARNT.format(column="dataset_id", erased=_LEARNT_NOW)}
"""
TRAINING_PARTS = f"""
memory_trainingpart p WHERE p.namespace_id = %(namespace_id)s AND p.dataset_id IN (
    SELECT d.id FROM memory_trainingdataset d
    WHERE d.namespace_id = %(namespace_id)s AND (d.erasures @> ARRAY[%(erasure_id)s::uuid]
          OR {_LEARNT.format(column="id", erased=is_erased("s.memory_id"))}))
"""
CLEAR_TRAINING_PARTS = """
DELETE FROM memory_trainingpart p WHERE p.namespace_id = %(namespace_id)s AND p.dataset_id IN (
    SELECT s.dataset_id FROM memory_trainingsource s
    WHERE s.namespace_id = %(namespace_id)s AND s.memory_id = ANY(%(memory_ids)s::uuid[]))
"""

# A dump has the texts of its memories. A load checks for each memory whether it was erased, and deletes the file at its
# end.
CUBE_FILE_PARTS = """
memory_cubefilepart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = %(load_kind)s
          AND j.arguments ->> 1 = p.file_id::text AND j.state IN ('queued', 'running')))
"""

# The row of a cube's file lists sessions, and its manifest describes the cube.
CUBE_FILE_ROWS = (
    "memory_cubefile c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.created_at <= %(asked_at)s"
)

# Uploaded files that no running import or load uses; one that is used is deleted at the end of that.
UPLOADS = """
memory_upload u WHERE u.namespace_id = %(namespace_id)s AND u.created_at <= %(asked_at)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = u.namespace_id AND j.kind IN (%(import_kind)s, %(load_kind)s)
          AND j.arguments ->> 1 = u.used_by::text AND j.state IN ('queued', 'running')))
"""
# Parts whose upload is gone are included: its row is deleted first, which waits for a part that is being stored.
UPLOAD_PARTS = f"""
memory_uploadpart p WHERE p.namespace_id = %(namespace_id)s AND (
    p.upload_id IN (SELECT u.id FROM {UPLOADS}) OR NOT EXISTS (
        SELECT FROM memory_upload own WHERE own.namespace_id = p.namespace_id AND own.id = p.upload_id))
"""
