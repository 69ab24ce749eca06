"""SQL of training: pages of the memories that lines can be made of, and changes that make data sets stale."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from memory.enums import TrainingOrigin
from memory.kinds import IS_DERIVED_SQL
from memory.models.sql import read_rows

PAGE = 500
# The question of an answer is looked for in this many turns before it.
_QUESTION_WITHIN = 3
# The number of columns of each of the three texts of a row.
WIDTH = 8


def _fingerprint(alias: str) -> str:
    """Returns SQL for a hash that changes with the memory's text and with the statements of it that hold."""
    return f"sha256({alias}.content_hash || convert_to({alias}.retired_spans::text, 'UTF8'))"


def _columns(alias: str) -> str:
    names = ("id", "role", "speaker", "text", "retired_spans")
    plain = ", ".join(f"{alias}.{name}" for name in names)
    return f"{plain}, {alias}.turn < 0, {_fingerprint(alias)}, {alias}.superseded_by IS NOT NULL"


def _sound(alias: str) -> str:
    """Returns SQL that tests whether a memory holds, is neither under review nor doubted, and is not to be erased."""
    return f"""({alias}.state = 'active' AND {alias}.superseded_by IS NULL AND {alias}.review = ''
    AND NOT EXISTS (SELECT FROM memory_memoryfeedback d
                    WHERE d.namespace_id = {alias}.namespace_id AND d.memory_id = {alias}.id AND d.kind <> 'useful')
    AND {_is_not_erased(alias)})"""


def _is_not_erased(alias: str) -> str:
    return f"""NOT EXISTS (SELECT FROM memory_erasedmemory e
                    WHERE e.namespace_id = {alias}.namespace_id AND e.memory_id = {alias}.id)"""


_USEFUL = """EXISTS (SELECT FROM memory_memoryfeedback f
                     WHERE f.namespace_id = m.namespace_id AND f.memory_id = m.id AND f.kind = 'useful')"""
# The user's last words before an answer.
_QUESTION = f"""LEFT JOIN LATERAL (
    SELECT * FROM memory_memory q
    WHERE q.namespace_id = m.namespace_id AND q.session = m.session AND m.turn > 0
      AND q.turn BETWEEN m.turn - {_QUESTION_WITHIN} AND m.turn - 1 AND q.turn > 0 AND q.role = 'user'
      AND {_sound("q")}
    ORDER BY q.turn DESC LIMIT 1) AS q ON m.role = 'agent'"""
_OTHER = ", ".join(
    ["NULL::uuid", "NULL", "NULL", "NULL", "NULL::int[]", "NULL::boolean", "NULL::bytea", "NULL::boolean"]
)
_STATEMENTS = {
    TrainingOrigin.DIALOGUE: f"""
SELECT {_columns("m")}, {_columns("q")}, {_OTHER}
FROM memory_memory m {_QUESTION}
WHERE m.namespace_id = %(namespace_id)s AND m.id > %(after)s AND m.role = 'agent' AND m.turn > 0 AND q.id IS NOT NULL
  AND {_sound("m")} AND {_USEFUL}
ORDER BY m.id LIMIT {PAGE}""",
    TrainingOrigin.MEMORY: f"""
SELECT {_columns("m")}, {_OTHER}, {_OTHER}
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id > %(after)s AND {_sound("m")}
  AND (m.turn > 0 AND m.role = 'user' AND (m.pinned OR m.importance >= %(min_importance)s OR {_USEFUL})
       OR {IS_DERIVED_SQL})
ORDER BY m.id LIMIT {PAGE}""",
    TrainingOrigin.SUPERSESSION: f"""
SELECT {_columns("m")}, {_columns("q")}, {_columns("o")}
FROM memory_memory o
JOIN memory_memory m ON m.namespace_id = o.namespace_id AND m.id = o.superseded_by
{_QUESTION}
WHERE o.namespace_id = %(namespace_id)s AND o.id > %(after)s AND o.superseded_by IS NOT NULL
  AND o.review <> 'suspected' AND {_is_not_erased("o")} AND {_sound("m")}
ORDER BY o.id LIMIT {PAGE}""",
    TrainingOrigin.CORRECTION: f"""
SELECT {_columns("m")}, {_columns("q")},
       m.id, m.role, coalesce(v.speaker, m.speaker), v.text, '{{}}'::int[], m.turn < 0,
       {_fingerprint("m")}, false
FROM memory_memory m
JOIN LATERAL (SELECT * FROM memory_memoryversion v WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id
              ORDER BY v.id DESC LIMIT 1) AS v ON v.text <> m.text
{_QUESTION}
WHERE m.namespace_id = %(namespace_id)s AND m.id > %(after)s AND {_sound("m")}
  AND (m.turn > 0 OR {IS_DERIVED_SQL})
ORDER BY m.id LIMIT {PAGE}""",
}


def list_materials(
    namespace_id: int, origin: TrainingOrigin, *, after: uuid.UUID, min_importance: float
) -> list[tuple[Any, ...]]:
    """Lists a page of the materials of one origin after the memory `after`: three texts a row, each of WIDTH columns.

    The texts are the answer or statement, the question before it, and what held before. Each has (id, role, speaker,
    text, retired spans, whether its turn is below 0, fingerprint, whether it is superseded), or nulls.
    """
    parameters = {"namespace_id": namespace_id, "after": after, "min_importance": min_importance}
    return read_rows(_STATEMENTS[origin], parameters)


# Each memory counts once, for the first reason that applies.
_STALE = f"""
SELECT s.dataset_id,
       count(*) FILTER (WHERE m.id IS NULL),
       count(*) FILTER (WHERE m.id IS NOT NULL AND {_fingerprint("m")} <> s.fingerprint),
       count(*) FILTER (WHERE {_fingerprint("m")} = s.fingerprint AND m.superseded_by IS NOT NULL
                          AND NOT s.superseded),
       count(*) FILTER (WHERE {_fingerprint("m")} = s.fingerprint AND m.superseded_by IS NULL AND s.superseded),
       count(*) FILTER (WHERE {_fingerprint("m")} = s.fingerprint AND m.superseded_by IS NULL
                          AND NOT s.superseded AND m.state <> 'active')
FROM memory_trainingsource s
LEFT JOIN memory_memory m ON m.namespace_id = s.namespace_id AND m.id = s.memory_id
WHERE s.namespace_id = %(namespace_id)s AND s.dataset_id = ANY(%(dataset_ids)s::uuid[])
GROUP BY s.dataset_id
"""
_LOCK = f"""
SELECT m.id, {_fingerprint("m")}, m.superseded_by IS NOT NULL FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(ids)s::uuid[])
  AND (m.state = 'active' OR m.superseded_by IS NOT NULL)
  AND NOT EXISTS (SELECT FROM memory_erasedmemory e WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id)
ORDER BY m.id FOR SHARE OF m
"""


def count_stale(
    namespace_id: int, dataset_ids: Collection[uuid.UUID]
) -> list[tuple[uuid.UUID, int, int, int, int, int]]:
    """Counts by data set the memories that were deleted, changed, superseded, reinstated and archived since."""
    return read_rows(_STALE, {"namespace_id": namespace_id, "dataset_ids": list(dataset_ids)})


def lock_sources(namespace_id: int, memory_ids: Sequence[uuid.UUID]) -> list[tuple[uuid.UUID, bytes, bool]]:
    """Locks those of the memories that may be learnt against changes: (id, fingerprint, whether it is superseded)."""
    return read_rows(_LOCK, {"namespace_id": namespace_id, "ids": list(memory_ids)})
