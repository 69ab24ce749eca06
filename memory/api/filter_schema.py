"""The filter language as OpenAPI describes it."""

from __future__ import annotations

from typing import Any

from memory.enums import MemoryKind, Role, Tier
from memory.retrieval.filters import (
    COLUMN_OPERATORS,
    EQUALITY,
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_LISTED,
    MAX_TEXT_CHARS,
    MAX_TOPIC,
    ORDER,
    MemoryField,
    Operator,
)

_TEXT = {"type": "string", "maxLength": MAX_TEXT_CHARS}
_NUMBER = {"type": "number"}
_ORDERED = {"anyOf": [_TEXT, _NUMBER]}
_SCALAR = {"anyOf": [_TEXT, _NUMBER, {"type": "boolean"}, {"type": "null"}]}
_MOMENT = {**_TEXT, "description": "An ISO 8601 date and time; without an offset it is UTC"}
_OF_COLUMN: dict[MemoryField, dict[str, Any]] = {
    MemoryField.ID: {"type": "string", "format": "uuid"},
    MemoryField.TEXT: _TEXT,
    MemoryField.ROLE: {"type": "string", "enum": list(Role.values)},
    MemoryField.SPEAKER: _TEXT,
    MemoryField.SESSION: _TEXT,
    MemoryField.TIER: {"type": "string", "enum": list(Tier.values)},
    MemoryField.KIND: {"type": "string", "enum": list(MemoryKind.values)},
    MemoryField.TOPIC: {"type": "integer", "minimum": 0, "maximum": MAX_TOPIC},
    MemoryField.IMPORTANCE: _NUMBER,
    MemoryField.OCCURRED: _MOMENT,
    MemoryField.CREATED: _MOMENT,
    MemoryField.UPDATED: _MOMENT,
}
_FILTER = {"$ref": "#/components/schemas/Filter"}


def add_filter(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's postprocessing hook: the component `Filter`, which contains itself."""
    joined = {"type": "array", "items": _FILTER, "minItems": 1, "maxItems": MAX_LISTED}
    columns = {
        column.value: _field(dict.fromkeys(COLUMN_OPERATORS[column], value), value)
        for column, value in _OF_COLUMN.items()
    }
    of_metadata: dict[Operator, dict[str, Any]] = {
        **dict.fromkeys((*EQUALITY, Operator.CONTAINS), _SCALAR),
        **dict.fromkeys(ORDER, _ORDERED),
        Operator.EXISTS: {"type": "boolean"},
    }
    result.setdefault("components", {}).setdefault("schemas", {})["Filter"] = {
        "type": "object",
        "description": (
            'Every entry must hold. A value stands for `{"eq": value}`. Other names are `metadata.<key>`, a dot for '
            f"each level. At most {MAX_DEPTH} levels of and, or, not, and {MAX_CONDITIONS} conditions."
        ),
        "example": {
            "metadata.project": "atlas",
            "occurred_at": {"gte": "2026-05-01T00:00:00Z"},
            "or": [{"role": "user"}, {"metadata.priority": {"gt": 2}}],
        },
        "properties": {"and": joined, "or": joined, "not": _FILTER, **columns},
        "additionalProperties": _field(of_metadata, _SCALAR),
    }
    return result


def _field(operators: dict[Operator, dict[str, Any]], value: dict[str, Any]) -> dict[str, Any]:
    """A value, if the field may be equal to one, or the operators that it takes."""
    tests = {
        word.value: {"type": "array", "items": test, "minItems": 1, "maxItems": MAX_LISTED}
        if word is Operator.IN
        else test
        for word, test in operators.items()
    }
    named = {"type": "object", "properties": tests, "additionalProperties": False, "minProperties": 1}
    return {"anyOf": [value, named]} if Operator.EQ in operators else named
