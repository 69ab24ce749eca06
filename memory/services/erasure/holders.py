"""Every place that may hold something of an erased memory: how to count it there and how to clear it.

A table of the application is in HOLDERS or in HOLD_NOTHING; a test fails for one that is in neither. Most new tables
name a memory and need one line, `_of_a_memory`.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Self

from django.db import connection
from django.db.models import Q
from django_q.models import Failure, OrmQ

from memory.enums import AdapterState, ErasureTarget
from memory.models import ErasedMemory, ErasedSession, Erasure, IVFIndex, Memory, RelevanceJudgement
from memory.models.evaluation import query_hash
from memory.services.activation.erased import list_held
from memory.services.entities import extract
from memory.services.index import entries, ivf_lists
from memory.services.index import erased as index_rows
from memory.services.jobs import queue
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure is about. `session` is empty unless a session is forgotten."""

    scope: Scope
    id: uuid.UUID
    session: str
    whole_namespace: bool
    asked_at: datetime

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        scope = Scope(erasure.namespace_id, erasure.namespace, erasure.actor, erasure.request_id)
        whole = erasure.target == ErasureTarget.NAMESPACE
        return cls(scope, erasure.id, erasure.session, whole, erasure.created_at)

    def sessions(self) -> set[str]:
        """The sessions that it touches."""
        rows = ErasedSession.objects.in_scope(self.scope).filter(erasure_id=self.id)
        return set(rows.values_list("session", flat=True))

    def ids(self) -> set[bytes]:
        """The 16 bytes of each memory's id."""
        return {identity.bytes for batch in self.batches() for identity in batch}

    def batches(self) -> Iterator[list[uuid.UUID]]:
        """The memories' ids in their order, _IDS at a time.

        A statement that joins the list of ids may be planned as a loop of every memory in every id, where the
        statistics are older than the list. One that is given ids looks each of them up.
        """
        rows = ErasedMemory.objects.in_scope(self.scope).filter(erasure_id=self.id).order_by("memory_id")
        ids = rows.values_list("memory_id", flat=True)
        batch = list(ids[:_IDS])
        while batch:
            yield batch
            batch = list(ids.filter(memory_id__gt=batch[-1])[:_IDS]) if len(batch) == _IDS else []


_IDS = 2_000
# The table of activation caches.
CACHES = "memory_activationcache"

Count = Callable[[Erased], int]
# A sweep that clears more than its own table says how much of each.
Sweep = Callable[[Erased], "int | Counter[str]"]
ClearBatch = Callable[[Erased, Sequence[uuid.UUID], datetime], int]


@dataclass(frozen=True, slots=True)
class Holder:
    """`name`: the table. `count`: how much it holds of what is erased; 0 when it is done.

    `clear` removes what it holds of some memories, inside the transaction that deletes these; the memories' own rows
    are there until their holder's turn. `sweep` removes all of an erasure, once, after the last memory is gone, and
    the rest of what `clear` may have missed. Both say how much that was. One that has neither is cleared by `run`,
    with the sessions.
    """

    name: str
    count: Count
    clear: ClearBatch | None = None
    sweep: Sweep | None = None


def _run(statement: str, erased: Erased, **more: Any) -> Any:
    parameters = {
        "namespace_id": erased.scope.namespace_id,
        "erasure_id": erased.id,
        "session": erased.session,
        "whole": erased.whole_namespace,
        "asked_at": erased.asked_at,
        **more,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0] if cursor.description else cursor.rowcount


_ERASED = "memory_erasedmemory e WHERE e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s"


def _is_erased(memory_id: str) -> str:
    """SQL: whether the erasure names the memory, by a look-up of its key. (EXISTS may be planned as a join of all.)"""
    return f"coalesce((SELECT true FROM {_ERASED} AND e.memory_id = {memory_id}), false)"


def _count_with(statement: str) -> Count:
    return partial(_run, statement)


def _count_by_ids(statement: str) -> Count:
    """Adds up what the statement says of all memories; it names some of them as `memory_ids`."""
    return lambda erased: sum(int(_run(statement, erased, memory_ids=ids)) for ids in erased.batches())


def _clear_with(statement: str) -> ClearBatch:
    def clear(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
        return int(_run(statement, erased, memory_ids=list(memory_ids), now=now))

    return clear


def _of_a_memory(table: str, column: str = "memory_id") -> Holder:
    """A table of a tenant whose rows belong to the memory in `column`."""
    rows = f"FROM {table} t WHERE t.namespace_id = %(namespace_id)s AND t.{column} = ANY(%(memory_ids)s::uuid[])"
    delete = f"DELETE {rows}"
    return Holder(table, _count_by_ids(f"SELECT count(*) {rows}"), _clear_with(delete), _count_by_ids(delete))


_POSTINGS = f"""
SELECT count(*) FROM memory_posting t
WHERE t.namespace_id = %(namespace_id)s AND t.memory_id IN (SELECT e.memory_id FROM {_ERASED})
"""


def _count_postings(erased: Erased) -> int:
    with index_rows.reading_once():
        return int(_run(_POSTINGS, erased))


def _clear_judgements(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    """Marks of the memories, and marks of other memories for a question that says what one of these said."""
    marks = RelevanceJudgement.objects.in_scope(erased.scope)
    if not marks.exists():
        return 0
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=memory_ids).values_list("text", flat=True)
    asked = marks.filter(query_hash__in=[query_hash(text) for text in texts])
    return int(asked.delete()[0] + marks.filter(memory_id__in=memory_ids).delete()[0])


def _count_judgements(erased: Erased) -> int:
    """The same marks, before they are cleared."""
    marks = RelevanceJudgement.objects.in_scope(erased.scope)
    if not marks.exists():
        return 0
    named = ErasedMemory.objects.in_scope(erased.scope).filter(erasure_id=erased.id).values("memory_id")
    texts = Memory.objects.in_scope(erased.scope).filter(pk__in=named).values_list("text", flat=True)
    hashes = {query_hash(text) for text in texts.iterator()} & set(
        marks.order_by().values_list("query_hash", flat=True).distinct()
    )
    return marks.filter(Q(query_hash__in=hashes) | Q(memory_id__in=named)).count()


# A question is often said in the session, too: then the pack's question is a memory's text.
_CLEAR_ASKED = """
DELETE FROM memory_contextpack p USING memory_memory m
WHERE p.namespace_id = %(namespace_id)s AND m.namespace_id = p.namespace_id AND m.id = ANY(%(memory_ids)s::uuid[])
  AND p.session = m.session AND p.query_text = m.text
"""

# A pack is read by the column and not by its JSON. Of one whose summary is gone, the summary was erased.
_PACKS = f"""
memory_contextpack p WHERE p.namespace_id = %(namespace_id)s AND (
    EXISTS (SELECT FROM unnest(p.memory_ids) AS held (id) WHERE {_is_erased("held.id")})
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

_PACKS_OR_ASKED = (
    _PACKS.rstrip().removesuffix(")")
    + f"""
    OR EXISTS (SELECT FROM memory_memory m
               WHERE m.namespace_id = p.namespace_id AND m.session = p.session AND m.text = p.query_text
                 AND {_is_erased("m.id")})
)
"""
)

# Made from an erased turn, or (while the session has not been dealt with) rolled on from such a summary.
_SUMMARIES = f"""
memory_condensation c JOIN memory_erasedsession s ON s.namespace_id = c.namespace_id AND s.session = c.session
WHERE c.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND (
    s.state = 'open' AND c.covers_to_turn >= s.first_turn
    OR EXISTS (SELECT FROM unnest(c.source_memory_ids) AS source (id) WHERE {_is_erased("source.id")})
    OR EXISTS (SELECT FROM jsonb_path_query(c.item_sources, '$.*[*][*]') AS source (id)
               WHERE {_is_erased("(source.id #>> '{}')::uuid")})
)
"""

# Rows of sessions in which nothing is left but what is erased.
_EMPTY_SESSIONS = f"""
memory_session n JOIN memory_erasedsession s ON s.namespace_id = n.namespace_id AND s.session = n.name
WHERE n.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND n.audit_hidden_before IS NULL
  AND (SELECT true FROM memory_memory m
       WHERE m.namespace_id = n.namespace_id AND m.session = n.name AND m.turn > 0 AND NOT {_is_erased("m.id")}
       LIMIT 1) IS NULL
"""

# Documents without a chunk that stays. One that was given again meanwhile has new chunks.
_DOCUMENTS = f"""
memory_document d WHERE d.namespace_id = %(namespace_id)s
  AND 'document:' || d.id IN (SELECT s.session FROM memory_erasedsession s
                              WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s
                                AND s.first_turn < 0)
  AND (SELECT true FROM memory_documentchunk c
       WHERE c.namespace_id = d.namespace_id AND c.document_key = d.id AND NOT {_is_erased("c.memory_id")}
       LIMIT 1) IS NULL
"""

# The answers belong to callers, not to tenants: the ids say whose they are.
_ANSWERS = """
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


def _delete_in_order(table: str, alias: str, rows: str) -> Count:
    """Deletes `rows` of `table`, locked in the order of their ids: two erasures at once do not wait for each other."""
    return _count_with(
        f"WITH gone AS (SELECT {alias}.id FROM {rows} ORDER BY {alias}.id FOR UPDATE OF {alias}) "
        f"DELETE FROM {table} t USING gone "
        f"WHERE t.namespace_id = %(namespace_id)s AND t.id = gone.id"
    )


def _clear_memories(erased: Erased, memory_ids: Sequence[uuid.UUID], now: datetime) -> int:
    return entries.remove_memories(erased.scope, memory_ids=memory_ids, now=now)


def _count_codes(erased: Erased) -> int:
    if not IVFIndex.objects.in_scope(erased.scope).exists():
        return 0
    return ivf_lists.count_codes(erased.scope, erased.ids())


_GONE_SESSIONS = f"""
SELECT s.session FROM memory_erasedsession s
WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s
  AND NOT EXISTS (SELECT FROM memory_session n WHERE n.namespace_id = s.namespace_id AND n.name = s.session)
UNION SELECT n.name FROM {_EMPTY_SESSIONS}
"""


def _list_gone_sessions(erased: Erased) -> set[str]:
    """The sessions that it touches and that have no row (any more), or will lose it."""
    with connection.cursor() as cursor:
        cursor.execute(_GONE_SESSIONS, {"namespace_id": erased.scope.namespace_id, "erasure_id": erased.id})
        return {name for (name,) in cursor.fetchall()}


def _list_queued_jobs(erased: Erased) -> list[int]:
    return queue.waiting_for_sessions(erased.scope.namespace_id, _list_gone_sessions(erased))


def _list_failed_jobs(erased: Erased) -> list[str]:
    return queue.list_failed_for_sessions(erased.scope.namespace_id, erased.sessions())


def _forget_names(erased: Erased) -> Counter[str]:
    names, nameless = extract.forget_names(erased.scope)
    return Counter({"memory_entityalias": names, "memory_entity": nameless})


def list_held_caches(erased: Erased) -> list[uuid.UUID]:
    """The activation caches that hold something of it."""
    return list_held(
        erased.scope, erasure_id=erased.id, whole=erased.whole_namespace, asked_at=erased.asked_at
    )  # fmt: skip


def _of_two_memories(table: str, columns: tuple[str, str]) -> Holder:
    """A table whose rows name two memories, and whose reasons may tell of both."""
    erased = " OR ".join(_is_erased(f"t.{column}") for column in columns)
    named = " OR ".join(f"t.{column} = ANY(%(memory_ids)s::uuid[])" for column in columns)
    rows = f"FROM {table} t WHERE t.namespace_id = %(namespace_id)s AND"
    return Holder(
        table,
        _count_with(f"SELECT count(*) {rows} ({erased})"),
        _clear_with(f"DELETE {rows} ({named})"),
        _count_with(f"DELETE {rows} ({erased})"),
    )


# Names that only erased memories mention, or none, and entities that are left without a name.
_SAID = f"""
EXISTS (SELECT FROM memory_entitymention m
        WHERE m.namespace_id = a.namespace_id AND m.alias = a.id AND NOT {_is_erased("m.memory_id")})
"""
_UNMENTIONED = f"memory_entityalias a WHERE a.namespace_id = %(namespace_id)s AND NOT {_SAID}"
_NAMELESS = f"""
memory_entity n WHERE n.namespace_id = %(namespace_id)s AND n.id NOT IN (
    SELECT unnest(ARRAY[a.entity, a.home]) FROM memory_entityalias a
    WHERE a.namespace_id = %(namespace_id)s AND {_SAID})
"""

# A job names its session; that of a session that is there says more only in its error.
_KINDS = ", ".join(f"'{kind.name}'" for kind in queue.OF_SESSION)
_JOBS = f"""
memory_job j WHERE j.namespace_id = %(namespace_id)s AND j.kind IN ({_KINDS}) AND j.state <> 'running'
  AND j.arguments ->> 1 IN (SELECT s.session FROM memory_erasedsession s
                            WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s)
  AND (j.error <> ''
       OR NOT EXISTS (SELECT FROM memory_session n
                      WHERE n.namespace_id = j.namespace_id AND n.name = j.arguments ->> 1)
       OR j.arguments ->> 1 IN (SELECT n.name FROM {_EMPTY_SESSIONS}))
"""

# The axes of a map are made of the vectors that were there, its clusters are named by their words. One that was begun
# after the erasure was asked for leaves out what that names.
_AXES = "memory_projection p WHERE p.namespace_id = %(namespace_id)s AND p.read_at <= %(asked_at)s"

# What people typed into audit events about the memories, their sessions or the erasure itself.
_WORDS = f"""
memory_auditwords w WHERE w.namespace_id = %(namespace_id)s AND (
    %(whole)s OR w.session = %(session)s AND %(session)s <> '' OR %(erasure_id)s = ANY(w.memory_ids)
    OR EXISTS (SELECT FROM unnest(w.memory_ids) AS held (id) WHERE {_is_erased("held.id")})
)
"""

# What models were called for, and what it cost, belongs to the namespace and to no memory of it.
_CALLS = "memory_modelcall c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.at <= %(asked_at)s"
_USAGE = (
    "memory_usageday d WHERE d.namespace_id = %(namespace_id)s AND %(whole)s "
    "AND d.day <= (%(asked_at)s AT TIME ZONE 'UTC')::date"
)

# The beginning of what a receiver answered may say again what it was sent.
_ECHOES = f"""
d.namespace_id = %(namespace_id)s AND d.answer <> ''
  AND (%(whole)s OR EXISTS (SELECT FROM unnest(d.memory_ids) AS held (id) WHERE {_is_erased("held.id")}))
"""

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
_WANTED = f"""
memory_bulkchange b
WHERE b.namespace_id = %(namespace_id)s AND b.wanted <> '{{}}'::jsonb AND NOT ({_UNDER_WAY})
"""
_OF_ERASED = f"""
(%(whole)s OR NOT {_LEFT_TO_CHANGE} OR EXISTS (
    SELECT FROM memory_bulkchangememory r
    WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND {_is_erased("r.memory_id")}))
"""
_CLEAR_WANTED = f"""
UPDATE memory_bulkchange SET wanted = '{{}}' WHERE namespace_id = %(namespace_id)s AND id IN (
    SELECT b.id FROM {_WANTED} AND EXISTS (
        SELECT FROM memory_bulkchangememory r
        WHERE r.namespace_id = b.namespace_id AND r.change_id = b.id AND r.memory_id = ANY(%(memory_ids)s::uuid[])))
"""
_SWEEP_WANTED = f"""
UPDATE memory_bulkchange SET wanted = '{{}}' WHERE namespace_id = %(namespace_id)s AND id IN (
    SELECT b.id FROM {_WANTED} AND {_OF_ERASED})
"""

# A file that is taken in has what its memories say. One that is under way needs it, and its end deletes it.
_FILES = f"""
memory_importpart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = '{queue.IMPORT.name}'
          AND j.arguments ->> 1 = p.import_id::text AND j.state IN ('queued', 'running')))
"""
# Who said it, and what the file is called.
_IMPORTS = (
    "memory_memoryimport i WHERE i.namespace_id = %(namespace_id)s AND %(whole)s AND i.created_at <= %(asked_at)s"
)

# Files that became a document that is erased whole, or wait to be read, or what the quarantine keeps of them.
_DOCUMENT_FILES = f"""
memory_documentfile f WHERE f.namespace_id = %(namespace_id)s AND (
    %(whole)s AND f.created_at <= %(asked_at)s
    OR f.session = %(session)s AND %(session)s <> '' AND f.created_at <= %(asked_at)s
    OR f.quarantine_id IS NOT NULL AND {_is_erased("f.quarantine_id")}
    OR f.document_key IN (SELECT d.id FROM {_DOCUMENTS}))
"""
# The original of a document has what each of its chunks says: it goes with the first of them.
_ORIGINALS = f"""
memory_documentfilepart p WHERE p.namespace_id = %(namespace_id)s AND p.file_id IN (
    SELECT f.id FROM {_DOCUMENT_FILES}
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
_DATASETS = f"""
memory_trainingdataset d WHERE d.namespace_id = %(namespace_id)s
  AND {_LEARNT.format(column="id", erased=_is_erased("s.memory_id"))}
"""
_ADAPTERS = f"""
memory_adapter d WHERE d.namespace_id = %(namespace_id)s
  AND (d.erasures @> ARRAY[%(erasure_id)s::uuid] AND (d.files <> '{{}}'::jsonb OR d.served_by <> '[]'::jsonb)
       OR {_LEARNT.format(column="dataset_id", erased=_is_erased("s.memory_id"))})
"""
# Once for each erasure, with all that it names.
_UNMARKED = "NOT d.erasures @> ARRAY[%(erasure_id)s::uuid]"
_MARK_DATASETS = f"""
UPDATE memory_trainingdataset d
SET erasures = d.erasures || %(erasure_id)s::uuid, stale_at = coalesce(d.stale_at, %(now)s),
    stale = d.stale || jsonb_build_object('erased', coalesce((d.stale ->> 'erased')::int, 0) + (
        SELECT count(*) FROM memory_trainingsource s
        WHERE s.namespace_id = d.namespace_id AND s.dataset_id = d.id
          AND ({_LEARNT_NOW} OR {_is_erased("s.memory_id")})))
WHERE d.namespace_id = %(namespace_id)s AND {_UNMARKED} AND {_LEARNT.format(column="id", erased=_LEARNT_NOW)}
"""
_MARK_ADAPTERS = f"""
UPDATE memory_adapter d
SET erasures = d.erasures || %(erasure_id)s::uuid,
    rebuild = d.rebuild OR d.state = '{AdapterState.ACTIVE.value}',
    state = '{AdapterState.STALE.value}', ended_at = coalesce(d.ended_at, %(now)s),
    problem = 'A memory that it has learnt was erased.'
WHERE d.namespace_id = %(namespace_id)s AND {_UNMARKED} AND {_LEARNT.format(column="dataset_id", erased=_LEARNT_NOW)}
"""
_PARTS = f"""
memory_trainingpart p WHERE p.namespace_id = %(namespace_id)s AND p.dataset_id IN (
    SELECT d.id FROM memory_trainingdataset d
    WHERE d.namespace_id = %(namespace_id)s AND (d.erasures @> ARRAY[%(erasure_id)s::uuid]
          OR {_LEARNT.format(column="id", erased=_is_erased("s.memory_id"))}))
"""
_CLEAR_PARTS = """
DELETE FROM memory_trainingpart p WHERE p.namespace_id = %(namespace_id)s AND p.dataset_id IN (
    SELECT s.dataset_id FROM memory_trainingsource s
    WHERE s.namespace_id = %(namespace_id)s AND s.memory_id = ANY(%(memory_ids)s::uuid[]))
"""
# A dump has what its memories say; a load asks for every memory whether it was erased, and its end deletes the file.
_CUBE_FILES = f"""
memory_cubefilepart p WHERE p.namespace_id = %(namespace_id)s AND (
    %(whole)s OR NOT EXISTS (
        SELECT FROM memory_job j
        WHERE j.namespace_id = p.namespace_id AND j.kind = '{queue.LOAD_CUBE.name}'
          AND j.arguments ->> 1 = p.file_id::text AND j.state IN ('queued', 'running')))
"""
# What a dry run listed names sessions; a manifest tells of the cube.
_CUBE_FILE_ROWS = (
    "memory_cubefile c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.created_at <= %(asked_at)s"
)

drop_dumps = _count_with(f"DELETE FROM {_CUBE_FILES}")

# In the order in which they are cleared: what is found by the memories' own rows first, then these.
HOLDERS: tuple[Holder, ...] = (
    Holder(
        "memory_auditwords", _count_with(f"SELECT count(*) FROM {_WORDS}"), sweep=_count_with(f"DELETE FROM {_WORDS}")
    ),
    _of_a_memory("memory_memoryversion"),
    # Before the rows that say what they have learnt.
    Holder("memory_adapter", _count_with(f"SELECT count(*) FROM {_ADAPTERS}"), _clear_with(_MARK_ADAPTERS)),
    Holder("memory_trainingdataset", _count_with(f"SELECT count(*) FROM {_DATASETS}"), _clear_with(_MARK_DATASETS)),
    Holder(
        "memory_trainingpart",
        _count_with(f"SELECT count(*) FROM {_PARTS}"),
        _clear_with(_CLEAR_PARTS),
        _count_with(f"DELETE FROM {_PARTS}"),
    ),
    _of_a_memory("memory_trainingsource"),
    # Before the rows that say whose they are.
    Holder(
        "memory_bulkchange",
        _count_with(f"SELECT count(*) FROM {_WANTED} AND {_OF_ERASED}"),
        _clear_with(_CLEAR_WANTED),
        _count_with(_SWEEP_WANTED),
    ),
    _of_a_memory("memory_bulkchangememory"),
    _of_a_memory("memory_retiredstatement"),
    _of_a_memory("memory_stalesource"),
    Holder(
        "memory_memoryvector",
        _of_a_memory("memory_memoryvector").count,
        lambda erased, memory_ids, now: index_rows.clear_vectors(erased.scope, memory_ids=memory_ids),
        lambda erased: sum(index_rows.clear_vectors(erased.scope, memory_ids=ids) for ids in erased.batches()),
    ),
    _of_a_memory("memory_memoryupkeep"),
    _of_a_memory("memory_projectedmemory"),
    _of_a_memory("memory_memoryfeedback"),
    _of_two_memories("memory_memorylink", ("memory_id", "other_id")),
    _of_two_memories("memory_unsurepair", ("newer_id", "older_id")),
    _of_a_memory("memory_entityrelation"),
    _of_a_memory("memory_entitymention"),
    _of_a_memory("memory_entitypending"),
    # An item has the id of the memory that it would become.
    _of_a_memory("memory_quarantineditem", "id"),
    Holder(
        "memory_relevancejudgement",
        _count_judgements,
        _clear_judgements,
        _of_a_memory("memory_relevancejudgement").sweep,
    ),
    Holder(
        "memory_contextpack",
        _count_with(f"SELECT count(*) FROM {_PACKS_OR_ASKED}"),
        _clear_with(_CLEAR_ASKED),
        _delete_in_order("memory_contextpack", "p", _PACKS),
    ),
    _of_a_memory("memory_documentchunk"),
    Holder(
        "memory_posting",
        _count_postings,
        lambda erased, memory_ids, now: index_rows.clear_postings(erased.scope, memory_ids=memory_ids),
        lambda erased: index_rows.sweep_postings(erased.scope, erasure_id=erased.id),
    ),
    Holder(
        "memory_memory",
        _of_a_memory("memory_memory", "id").count,
        _clear_memories,
    ),
    Holder(
        "memory_documentfilepart",
        _count_with(f"SELECT count(*) FROM {_ORIGINALS}"),
        sweep=_count_with(f"DELETE FROM {_ORIGINALS}"),
    ),
    Holder(
        "memory_documentfile",
        _count_with(f"SELECT count(*) FROM {_DOCUMENT_FILES}"),
        sweep=_delete_in_order("memory_documentfile", "f", _DOCUMENT_FILES),
    ),
    Holder(
        "memory_document",
        _count_with(f"SELECT count(*) FROM {_DOCUMENTS}"),
        sweep=_delete_in_order("memory_document", "d", _DOCUMENTS),
    ),
    # The sweep deletes aliases and entities, and names entities anew that lose the name they went by.
    Holder(
        "memory_entityalias",
        _count_with(f"SELECT count(*) FROM {_UNMENTIONED}"),
        sweep=_forget_names,
    ),
    Holder("memory_entity", _count_with(f"SELECT count(*) FROM {_NAMELESS}")),
    Holder("memory_condensation", _count_with(f"SELECT count(*) FROM {_SUMMARIES}")),
    Holder("memory_session", _count_with(f"SELECT count(*) FROM {_EMPTY_SESSIONS}")),
    Holder(
        "memory_idempotencyrecord",
        _count_with(f"SELECT count(*) FROM {_ANSWERS}"),
        # The key stays, so that a repeat of the write does not bring back what was erased.
        sweep=_count_with(
            f"UPDATE memory_idempotencyrecord SET body_hash = '' WHERE id IN (SELECT r.id FROM {_ANSWERS})"
        ),
    ),
    Holder("memory_ivflist", _count_codes),
    Holder(
        "memory_projection",
        _count_with(f"SELECT count(*) FROM {_AXES}"),
        sweep=_count_with(f"DELETE FROM {_AXES}"),
    ),
    Holder(
        "memory_commonterm",
        _count_with(f"SELECT count(*) FROM {index_rows.UNSAID}"),
        sweep=lambda erased: index_rows.sweep_common_terms(erased.scope),
    ),
    Holder(
        "memory_job",
        _count_with(f"SELECT count(*) FROM {_JOBS}"),
        sweep=_delete_in_order("memory_job", "j", _JOBS),
    ),
    Holder(
        "memory_modelcall",
        _count_with(f"SELECT count(*) FROM {_CALLS}"),
        sweep=_delete_in_order("memory_modelcall", "c", _CALLS),
    ),
    # A delivery holds no text: what it sends is read when it is sent, and an erased memory has none.
    Holder(
        "memory_webhookdelivery",
        _count_with(f"SELECT count(*) FROM memory_webhookdelivery d WHERE {_ECHOES}"),
        sweep=_count_with(f"UPDATE memory_webhookdelivery d SET answer = '' WHERE {_ECHOES}"),
    ),
    Holder(
        "memory_importpart",
        _count_with(f"SELECT count(*) FROM {_FILES}"),
        sweep=_count_with(f"DELETE FROM {_FILES}"),
    ),
    Holder(
        "memory_memoryimport",
        _count_with(f"SELECT count(*) FROM {_IMPORTS}"),
        sweep=_count_with(f"DELETE FROM {_IMPORTS}"),
    ),
    # The file goes before the row, which may have to wait for another machine: `run` clears it.
    Holder(CACHES, lambda erased: len(list_held_caches(erased))),
    Holder(
        "memory_cubefilepart",
        _count_with(f"SELECT count(*) FROM {_CUBE_FILES}"),
        sweep=drop_dumps,
    ),
    Holder(
        "memory_cubefile",
        _count_with(f"SELECT count(*) FROM {_CUBE_FILE_ROWS}"),
        sweep=_count_with(f"DELETE FROM {_CUBE_FILE_ROWS}"),
    ),
    Holder(
        "memory_usageday", _count_with(f"SELECT count(*) FROM {_USAGE}"), sweep=_count_with(f"DELETE FROM {_USAGE}")
    ),
    Holder(
        "django_q_ormq",
        lambda erased: len(_list_queued_jobs(erased)),
        sweep=lambda erased: int(OrmQ.objects.filter(pk__in=_list_queued_jobs(erased)).delete()[0]),
    ),
    Holder(
        "django_q_task",
        lambda erased: len(_list_failed_jobs(erased)),
        sweep=lambda erased: int(Failure.objects.filter(pk__in=_list_failed_jobs(erased)).delete()[0]),
    ),
)

# Tables that hold nothing of what a memory says, and why.
HOLD_NOTHING: dict[str, str] = {
    "memory_apikey": "who may call",
    "memory_apikey_namespaces": "who may call",
    "memory_auditlog": "ids, counts, names of sessions, keyed hashes: that it happened, not what it said",
    "memory_auditseal": "hashes of audit events, which hold nothing either; append-only",
    "memory_corpus": "a number of memories",
    "memory_cube": "a name and a description that people gave the whole",
    "memory_cubeshare": "ids of users, and until when they may read",
    "memory_embeddingmodel": "names of models",
    "memory_entitywatermark": "names of sessions and numbers",
    "memory_erasedmemory": "ids: they keep late writers from keeping what is erased",
    "memory_erasedsession": "names of sessions, as in the audit log",
    "memory_erasure": "the receipt",
    "memory_evaluationresult": "figures; hashes of the questions that were judged",
    "memory_evaluationrun": "figures",
    "memory_importedturn": "keyed hashes, which keep a file from bringing back what was erased, and ids",
    "memory_indexchange": "ids: that memories and names changed, for two hours",
    "memory_namespace": "the tenant's name",
    "memory_namespacepolicy": "values that operators set",
    "memory_namespacestat": "numbers, changed by the statement that deletes the memories",
    "memory_procedure": "prompts and tools that operators registered",
    "memory_requestminute": "how many requests a minute had, and how fast they were",
    "memory_usagereservation": "numbers, for the quarter of an hour that a call may take",
    "memory_user": "names, preferences and metadata that clients keep; a user is erased by itself",
    "memory_usererasure": "the receipt of a user's erasure",
    "memory_usernamespace": "ids",
    "memory_upkeepmark": "how far background work has come",
    "memory_ivfindex": "that a namespace has lists of vectors",
    "memory_webhook": "an address, types of events, encrypted secrets: what operators set",
    "memory_writesofday": "a number of memories",
    "django_q_schedule": "what runs by the clock",
}
