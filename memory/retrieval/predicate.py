"""Writes SQL conditions on memories `m`: filters, and what a memory said at a point in time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory.kinds import KIND_SQL
from memory.models.sql import fetch
from memory.retrieval.filters import All, AnyOf, Condition, Filter, MemoryField, MetadataPath, Not, Operator, Value
from memory.text.timespan import Span
from memory.types import Scope, list_forms

# Each change stores the text that it replaced, so the first version replaced after `as_of` is the text as of then.
TEXT_THEN = """coalesce((
    SELECT v.text FROM memory_memoryversion v
    WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id AND v.replaced_at > %(as_of)s::timestamptz
    ORDER BY v.replaced_at LIMIT 1
), m.text)"""


# Tells whether the statement `r` had been retired at the time in question.
WAS_RETIRED = """coalesce(r.retired_at <= %(as_of)s::timestamptz, true)
      AND r.valid_to <= coalesce(%(valid_at)s::timestamptz, %(as_of)s::timestamptz)
      AND (r.withdrawn_at IS NULL OR r.withdrawn_at > %(as_of)s::timestamptz)"""

# An earlier version of a text is returned whole, because the spans of its retired statements are not recorded.
RETIRED_THEN = f"""(
    SELECT array_agg(place ORDER BY r.start, place)
    FROM memory_retiredstatement r, unnest(ARRAY[r.start, r."end"]) place
    WHERE r.namespace_id = m.namespace_id AND r.memory_id = m.id
      AND {WAS_RETIRED}
      AND NOT EXISTS (
          SELECT FROM memory_memoryversion v
          WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id AND v.replaced_at > %(as_of)s::timestamptz)
)"""  # noqa: S608 - put together from constants


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """Holds a condition on the row `m` of memory_memory, and the `parameters` that `sql` names.

    Their names begin with `filter_` or `span_`. Values from clients are always parameters, never part of `sql`.
    """

    sql: str
    parameters: dict[str, Any]


def predicate(
    where: Filter | None, *, as_of: datetime | None = None, valid_at: datetime | None = None
) -> SqlCondition | None:
    """Returns the condition that memories must meet, or None if all do.

    A memory must meet the filter `where`. With `as_of`, it must have been recorded by then and not been known to be
    over. With `valid_at`, it must hold at that time, in the time that the memory tells of.
    """
    parts = [] if where is None else [where]
    if as_of is not None:
        parts.append(Condition(MemoryField.CREATED, Operator.LTE, as_of))
    writer = _ConditionWriter()
    conditions = [writer.join(parts, "AND")] if parts else []
    if as_of is not None or valid_at is not None:
        conditions.append(writer.holding(as_of, valid_at))
    return SqlCondition(" AND ".join(conditions), writer.parameters) if conditions else None


def meets(scope: Scope, memory_id: uuid.UUID, condition: SqlCondition) -> bool:
    """Tells whether a memory of the namespace meets the condition."""
    statement = f"""
SELECT 1 FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = %(memory_id)s::uuid AND {condition.sql}
"""  # noqa: S608 - its values are parameters
    parameters = {"namespace_id": scope.namespace_id, "memory_id": memory_id, **condition.parameters}
    return bool(fetch(statement, parameters, prepared=False))


def within(spans: Sequence[Span]) -> SqlCondition:
    """Returns the condition that a memory happened in one of the spans (at least one)."""
    ranges: list[str] = []
    parameters: dict[str, Any] = {}
    for number, span in enumerate(spans):
        ranges.append(f"m.occurred_at >= %(span_{number}_start)s AND m.occurred_at < %(span_{number}_end)s")
        parameters |= {f"span_{number}_start": span.start, f"span_{number}_end": span.end}
    return SqlCondition(f"({' OR '.join(ranges)})", parameters)


def both(one: SqlCondition | None, other: SqlCondition) -> SqlCondition:
    """Joins two conditions with AND; their parameters must have different names."""
    if one is None:
        return other
    return SqlCondition(f"{one.sql} AND {other.sql}", one.parameters | other.parameters)


def narrowing(predicate: SqlCondition | None, memory_id: str, *, gathered: bool = False) -> str:
    """Returns the addition to a WHERE clause that keeps only memories that meet the predicate; "" without one.

    It compares the column `memory_id` with the namespace's memories, and needs the parameter `namespace_id`. With
    `gathered`, the matching memories are collected once into a hash, which suits columns that hold much of the
    namespace; otherwise the planner decides, which is faster if few memories match.
    """
    if predicate is None:
        return ""
    # The text is constant but for names of parameters, so nothing can be injected.
    return (
        f"AND ({memory_id} IN (SELECT m.id FROM memory_memory m "  # noqa: S608
        f"WHERE m.namespace_id = %(namespace_id)s AND {predicate.sql})){' IS TRUE' if gathered else ''}"
    )


# The time of the last correction, or of creation if there was none.
_UPDATED = """coalesce((SELECT max(v.replaced_at) FROM memory_memoryversion v
    WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id), m.created_at)"""
# Selects the memories on the map, under the active model, that belong to some topics.
_OF_TOPICS = """m.id IN (SELECT p.memory_id FROM memory_projectedmemory p
    JOIN memory_embeddingmodel e ON e.id = p.model_id AND e.state = 'active'
    WHERE p.namespace_id = m.namespace_id AND p.cluster {those})"""
_COLUMNS = {
    MemoryField.ID: ("m.id", "uuid"),
    MemoryField.TEXT: ("m.text", "text"),
    MemoryField.ROLE: ("m.role", "text"),
    MemoryField.SPEAKER: ("m.speaker", "text"),
    MemoryField.SESSION: ("m.session", "text"),
    MemoryField.TIER: ("m.tier", "text"),
    MemoryField.KIND: (KIND_SQL, "text"),
    MemoryField.IMPORTANCE: ("m.importance", "float8"),
    MemoryField.OCCURRED: ("m.occurred_at", "timestamptz"),
    MemoryField.CREATED: ("m.created_at", "timestamptz"),
    MemoryField.UPDATED: (_UPDATED, "timestamptz"),
}
_SIGNS = {
    Operator.EQ: "=",
    Operator.NE: "<>",
    Operator.GT: ">",
    Operator.GTE: ">=",
    Operator.LT: "<",
    Operator.LTE: "<=",
}


class _ConditionWriter:
    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    def join(self, parts: Sequence[Filter], word: str) -> str:
        return "(" + f" {word} ".join(self._write(part) for part in parts) + ")"

    def holding(self, as_of: datetime | None, valid_at: datetime | None) -> str:
        """Writes the condition that a memory held at `valid_at` (None: at `as_of`), as known at `as_of` (None: now)."""
        moment = self._bind(valid_at or as_of, "timestamptz")
        ends = f"m.valid_to IS NULL OR m.valid_to > {moment}"
        if as_of is not None:
            ends += f" OR m.superseded_at > {self._bind(as_of, 'timestamptz')}"
        begins = f"coalesce(m.valid_from, m.occurred_at) <= {moment} AND " if valid_at is not None else ""
        return f"({begins}({ends}))"

    def _write(self, part: Filter) -> str:
        match part:
            case All(parts):
                return self.join(parts, "AND")
            case AnyOf(parts):
                return self.join(parts, "OR")
            case Not(inner):
                # A comparison with an absent value is NULL, and so would be its NOT.
                return f"(({self._write(inner)}) IS NOT TRUE)"
            case Condition(field, operator, value):
                if isinstance(field, MetadataPath):
                    return self._of_metadata(field.keys, operator, value)
                return self._of_column(field, operator, value)

    def _of_column(self, column: MemoryField, operator: Operator, value: Value) -> str:
        if column is MemoryField.TOPIC:
            return self._of_topic(operator, value)
        name, kind = _COLUMNS[column]
        if isinstance(value, tuple):
            return f"{name} = ANY({self._bind(list(value), f'{kind}[]')})"
        if value == "" and operator in (Operator.CONTAINS, Operator.ICONTAINS):
            # Every text contains the empty string, so searching for it says nothing: it matches no memory.
            return "FALSE"
        if column is MemoryField.TEXT and not str(value).isascii():
            # Texts are stored in the Unicode form in which they arrived; filter values are in NFC.
            name = f"normalize({name}, NFC)"
        if operator is Operator.CONTAINS:
            return f"strpos({name}, {self._bind(value, kind)}) > 0"
        if operator is Operator.ICONTAINS:
            return f"strpos(lower({name}), lower({self._bind(value, kind)})) > 0"
        return f"{name} {_SIGNS[operator]} {self._bind(value, kind)}"

    def _of_topic(self, operator: Operator, value: Value) -> str:
        numbers = self._bind(list(value) if isinstance(value, tuple) else [value], "int[]")
        return _OF_TOPICS.format(those=f"<> ALL({numbers})" if operator is Operator.NE else f"= ANY({numbers})")

    def _of_metadata(self, keys: Sequence[str], operator: Operator, value: Value) -> str:
        # `->` with a text reads a key of an object and is NULL for other values; `#>` would also index lists.
        stored = "(" + " -> ".join(["m.metadata", *(self._bind(key, "text") for key in keys)]) + ")"
        if operator is Operator.EXISTS:
            return f"({stored} IS {'NOT ' if value else ''}NULL)"
        forms = [_json(form) for item in (value if isinstance(value, tuple) else (value,)) for form in _forms(item)]
        if isinstance(value, tuple) or (operator is Operator.EQ and len(forms) > 1):
            return f"{stored} = ANY({self._bind(forms, 'text[]')}::jsonb[])"
        if operator is Operator.NE and len(forms) > 1:
            return f"{stored} <> ALL({self._bind(forms, 'text[]')}::jsonb[])"
        if operator is Operator.CONTAINS:
            return f"{stored} @> {self._bind(_json([value]), 'jsonb')}"
        if operator in (Operator.EQ, Operator.NE):
            return f"{stored} {_SIGNS[operator]} {self._bind(_json(value), 'jsonb')}"
        # The type is tested as well, because jsonb also orders values of different types.
        if isinstance(value, str):
            text = f"({stored} #>> '{{}}') COLLATE \"C\" {_SIGNS[operator]} {self._bind(value, 'text')}"
            return f"(jsonb_typeof({stored}) = 'string' AND {text})"
        number = f"{stored} {_SIGNS[operator]} {self._bind(_json(value), 'jsonb')}"
        return f"(jsonb_typeof({stored}) = 'number' AND {number})"

    def _bind(self, value: Any, kind: str) -> str:
        name = f"filter_{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s::{kind}"


def _forms(value: Any) -> set[Any]:
    """Returns the value in the Unicode forms in which metadata may hold it."""
    if not isinstance(value, str) or value.isascii():
        return {value}
    return set(list_forms(value))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
