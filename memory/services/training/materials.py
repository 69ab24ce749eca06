"""Reads what lines can be made of: memories that people marked, corrected or superseded, page by page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memory.enums import TrainingOrigin
from memory.kinds import IS_DERIVED_SQL
from memory.models.memory import spans_of
from memory.text.utterances import live_text
from memory.types import Scope

PAGE = 500
# So far before an answer its question may stand, in turns.
_QUESTION_WITHIN = 3


@dataclass(frozen=True, slots=True)
class TrainingText:
    """What a memory says now (`text`), with what identifies that: `fingerprint`, and whether it is superseded.

    A fact tells of its holder itself; a turn (`is_fact` false) is what somebody said.
    """

    memory_id: uuid.UUID
    role: str
    speaker: str
    text: str
    is_fact: bool
    fingerprint: bytes
    superseded: bool


@dataclass(frozen=True, slots=True)
class TrainingMaterial:
    """What a line is made of: `said` is right; `question` came before it, `formerly` is what held before."""

    origin: TrainingOrigin
    said: TrainingText
    question: TrainingText | None = None
    formerly: TrainingText | None = None


def fingerprint_sql(alias: str) -> str:
    """SQL: what changes with everything that the memory says and that holds of it."""
    return f"sha256({alias}.content_hash || convert_to({alias}.retired_spans::text, 'UTF8'))"


def _columns(alias: str) -> str:
    names = ("id", "role", "speaker", "text", "retired_spans")
    plain = ", ".join(f"{alias}.{name}" for name in names)
    return f"{plain}, {alias}.turn < 0, {fingerprint_sql(alias)}, {alias}.superseded_by IS NOT NULL"


_WIDTH = 8


def _sound(alias: str) -> str:
    """SQL: it holds, nobody doubts it, and no erasure names it."""
    return f"""({alias}.state = 'active' AND {alias}.superseded_by IS NULL AND {alias}.review = ''
    AND NOT EXISTS (SELECT FROM memory_memoryfeedback d
                    WHERE d.namespace_id = {alias}.namespace_id AND d.memory_id = {alias}.id AND d.kind <> 'useful')
    AND {_unerased(alias)})"""


def _unerased(alias: str) -> str:
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
  AND o.review <> 'suspected' AND {_unerased("o")} AND {_sound("m")}
ORDER BY o.id LIMIT {PAGE}""",
    TrainingOrigin.CORRECTION: f"""
SELECT {_columns("m")}, {_columns("q")},
       m.id, m.role, coalesce(v.speaker, m.speaker), v.text, '{{}}'::int[], m.turn < 0,
       {fingerprint_sql("m")}, false
FROM memory_memory m
JOIN LATERAL (SELECT * FROM memory_memoryversion v WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id
              ORDER BY v.id DESC LIMIT 1) AS v ON v.text <> m.text
{_QUESTION}
WHERE m.namespace_id = %(namespace_id)s AND m.id > %(after)s AND {_sound("m")}
  AND (m.turn > 0 OR {IS_DERIVED_SQL})
ORDER BY m.id LIMIT {PAGE}""",
}
_FIRST = uuid.UUID(int=0)


def list_materials(scope: Scope, origin: TrainingOrigin, *, min_importance: float) -> Iterator[TrainingMaterial]:
    """What there is of one origin, in the order of the memories' ids.

    Each page is a statement of its own: what is made of them is compared with the memories before it is stored.
    """
    after = _FIRST
    while True:
        parameters: dict[str, Any] = {
            "namespace_id": scope.namespace_id,
            "after": after,
            "min_importance": min_importance,
        }
        with connection.cursor() as cursor:
            cursor.execute(_STATEMENTS[origin], parameters)
            rows = cursor.fetchall()
        for row in rows:
            said, question, formerly = (_text(row[start : start + _WIDTH]) for start in (0, _WIDTH, 2 * _WIDTH))
            assert said is not None
            yield TrainingMaterial(origin, said, question, formerly)
        if len(rows) < PAGE:
            return
        after = rows[-1][2 * _WIDTH] if origin == TrainingOrigin.SUPERSESSION else rows[-1][0]


def _text(columns: tuple[Any, ...]) -> TrainingText | None:
    memory_id, role, speaker, text, retired, is_fact, fingerprint, superseded = columns
    if memory_id is None:
        return None
    return TrainingText(
        memory_id, role, speaker, live_text(text, spans_of(retired)), is_fact, bytes(fingerprint), superseded
    )
