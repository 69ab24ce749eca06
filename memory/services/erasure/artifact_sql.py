"""SQL: files, bulk changes and what has learnt of memories, as far as they hold something of what is erased.

The statements take the parameters of `holder.execute`.
"""

from __future__ import annotations

from memory.enums import AdapterState
from memory.services.erasure.holder import is_erased
from memory.services.erasure.text_sql import DOCUMENTS
from memory.services.jobs import queue

# What a bulk change puts on memories. One that is under way needs it for those that stay, and empties it at its end.
_LEFT_TO_CHANGE = """
EXISTS (SELECT FROM memory_bulkchangememory r
        WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND r.outcome = 'waiting')
"""
_UNDER_WAY = f"""
EXISTS (SELECT FROM memory_job j
        WHERE j.namespace_id = b.namespace_id AND j.kind = '{queue.CHANGE_MEMORIES.name}'
          AND j.arguments ->> 1 = b.id::text AND j.state IN ('queued', 'running')) AND {_LEFT_TO_CHANGE}
"""
BULK_CHANGES = f"""
memory_bulkchange b
WHERE b.namespace_id = %(namespace_id)s AND b.wanted <> '{{}}'::jsonb AND NOT ({_UNDER_WAY})
"""
CHANGES_ERASED = f"""
(%(whole)s OR NOT {_LEFT_TO_CHANGE} OR EXISTS (
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
    SELECT b.id FROM {BULK_CHANGES} AND {CHANGES_ERASED})
"""

# A file that is taken in has what its memories say. One that is under way needs it, and its end deletes it.
IMPORT_PARTS = f"""
memory_importpart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = '{queue.IMPORT.name}'
          AND j.arguments ->> 1 = p.import_id::text AND j.state IN ('queued', 'running')))
"""

# Who said it, and what the file is called.
IMPORTS = "memory_memoryimport i WHERE i.namespace_id = %(namespace_id)s AND %(whole)s AND i.created_at <= %(asked_at)s"

# Files that became a document that is erased whole, or wait to be read, or what the quarantine keeps of them.
DOCUMENT_FILES = f"""
memory_documentfile f WHERE f.namespace_id = %(namespace_id)s AND (
    %(whole)s AND f.created_at <= %(asked_at)s
    OR f.session = %(session)s AND %(session)s <> '' AND f.created_at <= %(asked_at)s
    OR f.quarantine_id IS NOT NULL AND {is_erased("f.quarantine_id")}
    OR f.document_key IN (SELECT d.id FROM {DOCUMENTS}))
"""

# The original of a document has what each of its chunks says: it goes with the first of them.
ORIGINALS = f"""
memory_documentfilepart p WHERE p.namespace_id = %(namespace_id)s AND p.file_id IN (
    SELECT f.id FROM {DOCUMENT_FILES}
    UNION SELECT f.id FROM memory_documentfile f JOIN memory_erasedsession s
        ON s.namespace_id = f.namespace_id AND s.session = 'document:' || f.document_key AND s.first_turn < 0
    WHERE f.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND f.asked_at <= %(asked_at)s)
"""

# What has learnt of an erased memory: from then on it is known to be stale, also when its sources are gone. An adapter
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

# Once for each erasure, with all that it names.
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

# A dump has what its memories say; a load asks for every memory whether it was erased, and its end deletes the file.
CUBE_FILE_PARTS = f"""
memory_cubefilepart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = '{queue.LOAD_CUBE.name}'
          AND j.arguments ->> 1 = p.file_id::text AND j.state IN ('queued', 'running')))
"""

# What a dry run listed names sessions; a manifest tells of the cube.
CUBE_FILE_ROWS = (
    "memory_cubefile c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.created_at <= %(asked_at)s"
)

# A file that arrived in parts, and is not used or no longer. One that an import or a load is at goes with its end.
UPLOADS = f"""
memory_upload u WHERE u.namespace_id = %(namespace_id)s AND u.created_at <= %(asked_at)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = u.namespace_id AND j.kind IN ('{queue.IMPORT.name}', '{queue.LOAD_CUBE.name}')
          AND j.arguments ->> 1 = u.used_by::text AND j.state IN ('queued', 'running')))
"""
# Also those whose upload is gone: its row goes first, which waits for a part that is being stored.
UPLOAD_PARTS = f"""
memory_uploadpart p WHERE p.namespace_id = %(namespace_id)s AND (
    p.upload_id IN (SELECT u.id FROM {UPLOADS}) OR NOT EXISTS (
        SELECT FROM memory_upload own WHERE own.namespace_id = p.namespace_id AND own.id = p.upload_id))
"""
