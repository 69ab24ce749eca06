"""SQL that looks for erased words in the columns that hold text."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memory.enums import Role
from memory.kinds import IS_DERIVED_SQL
from memory.models.queries.erasure_holders import is_erased


@dataclass(frozen=True, slots=True)
class TextTable:
    """Represents a table of tenants, its searched columns, and the SQL of a row's text in them, with the alias `t`."""

    name: str
    columns: tuple[str, ...]
    said: str


def find(statement: str, namespace_id: int, erasure_id: uuid.UUID, needles: Sequence[str]) -> list[tuple[Any, ...]]:
    """Runs a statement of this module with the needles, and returns its rows."""
    parameters: dict[str, Any] = {
        "namespace_id": namespace_id,
        "erasure_id": erasure_id,
        "needles": list(needles),
        # The form of the needles within JSON, as PostgreSQL writes it.
        "escaped": [json.dumps(one, ensure_ascii=False)[1:-1] for one in needles],
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


_SAYS = "(strpos(s.said, n.needle) > 0 OR strpos(s.said, n.escaped) > 0)"
_NEEDLES = "unnest(%(needles)s::text[], %(escaped)s::text[]) WITH ORDINALITY AS n (needle, escaped, place)"
_OWN_ROWS = "t.namespace_id = %(namespace_id)s"
# Replies, facts and preferences are made by the server, and are no statements of people.
_IS_MADE = f"(t.role = '{Role.AGENT.value}' AND t.metadata ? 'answer' OR {IS_DERIVED_SQL.replace('m.', 't.')})"
IS_SAID = {
    "memory_memory": f"NOT {_IS_MADE} AND NOT {is_erased('t.id')}",
    "memory_memoryversion": f"NOT {is_erased('t.memory_id')}",
    "memory_quarantineditem": f"NOT {is_erased('t.id')}",
}


def find_places(table: TextTable, condition: str) -> str:
    """Returns SQL for the positions of the needles that some row of the table says. Each row is read once."""
    rows = _OWN_RECORDS if table.name == _RECORDS else _OWN_ROWS
    return f"""
SELECT DISTINCT n.place FROM (
    SELECT {table.said} AS said FROM {table.name} t WHERE {rows} AND {condition} OFFSET 0
) AS s, {_NEEDLES} WHERE {_SAYS}
"""


COPIES = f"""
SELECT DISTINCT s.id FROM (
    SELECT t.id, t.text AS said FROM memory_memory t
    WHERE {_OWN_ROWS} AND {_IS_MADE} AND NOT {is_erased("t.id")} OFFSET 0
) AS s, {_NEEDLES} WHERE {_SAYS}
"""
SAID_BY = f"""
SELECT DISTINCT s.id FROM (
    SELECT t.id, t.text AS said FROM memory_memory t
    WHERE {_OWN_ROWS} AND {IS_SAID["memory_memory"]} OFFSET 0
) AS s, {_NEEDLES} WHERE {_SAYS} ORDER BY s.id
"""
TAKE_DOWN_SUMMARISED = f"""
INSERT INTO memory_erasedsession AS e (namespace_id, erasure_id, session, first_turn, state)
SELECT %(namespace_id)s::bigint, %(erasure_id)s::uuid, s.session, min(s.covers_to_turn), 'open' FROM (
    SELECT t.session, t.covers_to_turn, t.condensed_text AS said FROM memory_condensation t WHERE {_OWN_ROWS} OFFSET 0
) AS s, {_NEEDLES} WHERE {_SAYS}
GROUP BY s.session
ON CONFLICT (namespace_id, erasure_id, session) DO UPDATE
    SET first_turn = least(e.first_turn, EXCLUDED.first_turn), state = 'open'
"""
# Stored answers belong to callers and not to tenants; the ids of their memories identify the tenant.
_RECORDS = "memory_idempotencyrecord"
_OWN_RECORDS = """EXISTS (
    SELECT FROM jsonb_array_elements_text(t.memory_ids) AS held (id)
    JOIN memory_erasedmemory e ON e.namespace_id = %(namespace_id)s AND e.erasure_id = %(erasure_id)s
         AND e.memory_id::text = held.id)"""


def delete_rows(table: TextTable) -> str:
    """Returns SQL that deletes the rows of the table that say a needle."""
    return f"""
DELETE FROM {table.name} d USING (
    SELECT t.id, {table.said} AS said FROM {table.name} t WHERE {_OWN_ROWS} OFFSET 0
) AS s, {_NEEDLES} WHERE d.namespace_id = %(namespace_id)s AND d.id = s.id AND {_SAYS}
RETURNING d.id
"""
