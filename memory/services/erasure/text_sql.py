"""SQL: rows that hold something of what is erased, found by sessions, names, questions and moments.

The statements take the parameters of `holder.execute`.
"""

from __future__ import annotations

from memory.services.erasure.holder import ERASED, is_erased
from memory.services.jobs import queue

POSTINGS = f"""
SELECT count(*) FROM memory_posting t
WHERE t.namespace_id = %(namespace_id)s AND t.memory_id IN (SELECT e.memory_id FROM {ERASED})
"""

# A question is often said in the session, too: then the pack's question is a memory's text.
CLEAR_ASKED = """
DELETE FROM memory_contextpack p USING memory_memory m
WHERE p.namespace_id = %(namespace_id)s AND m.namespace_id = p.namespace_id AND m.id = ANY(%(memory_ids)s::uuid[])
  AND p.session = m.session AND p.query_text = m.text
"""

# A pack is read by the column and not by its JSON. Of one whose summary is gone, the summary was erased.
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

# Made from an erased turn, or (while the session has not been dealt with) rolled on from such a summary.
SUMMARIES = f"""
memory_condensation c JOIN memory_erasedsession s ON s.namespace_id = c.namespace_id AND s.session = c.session
WHERE c.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND (
    s.state = 'open' AND c.covers_to_turn >= s.first_turn
    OR EXISTS (SELECT FROM unnest(c.source_memory_ids) AS source (id) WHERE {is_erased("source.id")})
    OR EXISTS (SELECT FROM jsonb_path_query(c.item_sources, '$.*[*][*]') AS source (id)
               WHERE {is_erased("(source.id #>> '{}')::uuid")})
)
"""

# Rows of sessions in which nothing is left but what is erased.
EMPTY_SESSIONS = f"""
memory_session n JOIN memory_erasedsession s ON s.namespace_id = n.namespace_id AND s.session = n.name
WHERE n.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s AND n.audit_hidden_before IS NULL
  AND (SELECT true FROM memory_memory m
       WHERE m.namespace_id = n.namespace_id AND m.session = n.name AND m.turn > 0 AND NOT {is_erased("m.id")}
       LIMIT 1) IS NULL
"""

# Documents without a chunk that stays. One that was given again meanwhile has new chunks.
DOCUMENTS = f"""
memory_document d WHERE d.namespace_id = %(namespace_id)s
  AND 'document:' || d.id IN (SELECT s.session FROM memory_erasedsession s
                              WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s
                                AND s.first_turn < 0)
  AND (SELECT true FROM memory_documentchunk c
       WHERE c.namespace_id = d.namespace_id AND c.document_key = d.id AND NOT {is_erased("c.memory_id")}
       LIMIT 1) IS NULL
"""

# The answers belong to callers, not to tenants: the ids say whose they are.
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
# Names that only erased memories mention, or none, and entities that are left without a name.
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

# A job names its session; that of a session that is there says more only in its error.
_KINDS = ", ".join(f"'{kind.name}'" for kind in queue.OF_SESSION)
SESSION_JOBS = f"""
memory_job j WHERE j.namespace_id = %(namespace_id)s AND j.kind IN ({_KINDS}) AND j.state <> 'running'
  AND j.arguments ->> 1 IN (SELECT s.session FROM memory_erasedsession s
                            WHERE s.namespace_id = %(namespace_id)s AND s.erasure_id = %(erasure_id)s)
  AND (j.error <> ''
       OR NOT EXISTS (SELECT FROM memory_session n
                      WHERE n.namespace_id = j.namespace_id AND n.name = j.arguments ->> 1)
       OR j.arguments ->> 1 IN (SELECT n.name FROM {EMPTY_SESSIONS}))
"""

# The axes of a map are made of the vectors that were there, its clusters are named by their words. One that was begun
# after the erasure was asked for leaves out what that names.
PROJECTIONS = "memory_projection p WHERE p.namespace_id = %(namespace_id)s AND p.read_at <= %(asked_at)s"

# What people typed into audit events about the memories, their sessions or the erasure itself.
AUDIT_WORDS = f"""
memory_auditwords w WHERE w.namespace_id = %(namespace_id)s AND (
    %(whole)s OR w.session = %(session)s AND %(session)s <> '' OR %(erasure_id)s = ANY(w.memory_ids)
    OR EXISTS (SELECT FROM unnest(w.memory_ids) AS held (id) WHERE {is_erased("held.id")})
)
"""

# What models were called for, and what it cost, belongs to the namespace and to no memory of it.
MODEL_CALLS = "memory_modelcall c WHERE c.namespace_id = %(namespace_id)s AND %(whole)s AND c.at <= %(asked_at)s"
USAGE_DAYS = (
    "memory_usageday d WHERE d.namespace_id = %(namespace_id)s AND %(whole)s "
    "AND d.day <= (%(asked_at)s AT TIME ZONE 'UTC')::date"
)

# The beginning of what a receiver answered may say again what it was sent.
WEBHOOK_ANSWERS = f"""
d.namespace_id = %(namespace_id)s AND d.answer <> ''
  AND (%(whole)s OR EXISTS (SELECT FROM unnest(d.memory_ids) AS held (id) WHERE {is_erased("held.id")}))
"""
