"""Parses the filter language: a JSON object becomes a typed tree.

All entries of an object must hold. The name of an entry is a field (`role`, `metadata.project`), whose value is a
literal or an object of operators (`{"gte": 3, "lt": 9}`), or it is `and`, `or` or `not`. The syntax is that of
MongoDB's selectors without the `$`, as in several vector databases.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from django.utils.dateparse import parse_datetime

from memory.enums import MemoryKind, Role, Tier

MAX_DEPTH = 5
MAX_CONDITIONS = 50
MAX_LISTED = 100
MAX_KEYS = 16
MAX_NAME_CHARS = 500
MAX_TEXT_CHARS = 2_000
# The column for the number of a topic has 16 bits.
MAX_TOPIC = 32_767
# Metadata can hold integers of 64 bits, signed or unsigned.
MIN_WHOLE, MAX_WHOLE = -(2**63), 2**64 - 1

Scalar = str | int | float | bool | None
Value = Scalar | datetime | tuple[Scalar | datetime, ...]


class Operator(StrEnum):
    EQ = "eq"
    NE = "ne"
    IN = "in"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EXISTS = "exists"
    CONTAINS = "contains"
    ICONTAINS = "icontains"


class MemoryField(StrEnum):
    """Names the fields of every memory, as the API does."""

    ID = "id"
    TEXT = "text"
    ROLE = "role"
    SPEAKER = "speaker"
    SESSION = "session_id"
    TIER = "tier"
    KIND = "kind"
    TOPIC = "topic_id"
    IMPORTANCE = "importance"
    OCCURRED = "occurred_at"
    CREATED = "created_at"
    UPDATED = "updated_at"


@dataclass(frozen=True, slots=True)
class MetadataPath:
    """Names a value in a memory's metadata by the keys that lead to it, from the outermost object inwards."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """Compares a field with a value. It does not hold if the field is absent or of another type than `value`."""

    field: MemoryField | MetadataPath
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Holds exactly when `part` does not."""

    part: Filter


Filter = Condition | All | AnyOf | Not


class FilterError(ValueError):
    """Raised for an invalid filter; `place` is a path such as `or[1].role.in[0]`, or empty for the whole filter."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place or 'filter'}: {problem}")
        self.place = place
        self.problem = problem


def parse(data: object) -> Filter | None:
    """Returns the filter for `data` (parsed JSON), or None for the empty object, which every memory meets.

    Raises FilterError if `data` is not a valid filter.
    """
    if data == {}:
        return None
    return _Parser().group(data, "", 0)


def entries(where: Filter) -> tuple[Filter, ...]:
    """Returns the entries of the outermost object, each of which must hold."""
    return where.parts if isinstance(where, All) else (where,)


def to_json(where: Filter) -> dict[str, Any]:
    """Returns the filter as JSON, with every operator and every `and` written out."""
    match where:
        case All(parts):
            return {"and": [to_json(part) for part in parts]}
        case AnyOf(parts):
            return {"or": [to_json(part) for part in parts]}
        case Not(part):
            return {"not": to_json(part)}
        case Condition(field, operator, value):
            name = field.value if isinstance(field, MemoryField) else _METADATA + ".".join(map(_escape, field.keys))
            listed = [_as_json(item) for item in value] if isinstance(value, tuple) else _as_json(value)
            return {name: {operator.value: listed}}


def _escape(key: str) -> str:
    return re.sub(r"([.\\])", r"\\\1", key)


def _as_json(value: Scalar | datetime) -> Scalar:
    return value.isoformat() if isinstance(value, datetime) else value


EQUALITY = (Operator.EQ, Operator.NE, Operator.IN)
ORDER = (Operator.GT, Operator.GTE, Operator.LT, Operator.LTE)
_OF_METADATA = (*EQUALITY, *ORDER, Operator.EXISTS, Operator.CONTAINS)
_JOINS: dict[str, type[All | AnyOf]] = {"and": All, "or": AnyOf}
_FIELDS = f"metadata.<key>, {', '.join(MemoryField)}"
_METADATA = "metadata."
_KEY = r"(?:[^.\\]|\\[.\\])+"


class _Parser:
    def __init__(self) -> None:
        self._conditions = 0

    def group(self, data: object, place: str, depth: int) -> Filter:
        if not isinstance(data, dict):
            raise FilterError(place, "must be an object.")
        if not data:
            raise FilterError(place, "must not be empty.")
        if depth > MAX_DEPTH:
            raise FilterError(place, f"is nested more than {MAX_DEPTH} levels deep.")
        parts = [part for name, value in data.items() for part in self._entry(name, value, place, depth)]
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _entry(self, name: str, value: object, place: str, depth: int) -> list[Filter]:
        if len(name) > MAX_NAME_CHARS:
            raise FilterError(place, f"holds a name of more than {MAX_NAME_CHARS} characters.")
        if "\0" in name:
            raise FilterError(place, "holds a name with a NUL character.")
        here = f"{place}.{name}" if place else name
        if name == "not":
            return [Not(self.group(value, here, depth + 1))]
        if join := _JOINS.get(name):
            listed = _check_list(value, here)
            return [join(tuple(self.group(part, f"{here}[{at}]", depth + 1) for at, part in enumerate(listed)))]
        field = _field(name, here)
        if not isinstance(value, dict):
            return [self._condition(field, _operator(field, Operator.EQ.value, here), value, here)]
        if not value:
            raise FilterError(here, "must not be empty: give it a value, or operators such as `eq`.")
        return [
            self._condition(field, _operator(field, word, here), test, f"{here}.{word}") for word, test in value.items()
        ]

    def _condition(self, field: MemoryField | MetadataPath, operator: Operator, value: object, place: str) -> Condition:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise FilterError(place, f"is one condition too many: a filter has at most {MAX_CONDITIONS}.")
        if operator is Operator.EXISTS:
            if not isinstance(value, bool):
                raise FilterError(place, "must be true or false.")
            return Condition(field, operator, value)
        read = _COLUMN_VALUES[field] if isinstance(field, MemoryField) else _sortable if operator in ORDER else _scalar
        if operator is Operator.IN:
            listed = _check_list(value, place)
            return Condition(field, operator, tuple(read(item, f"{place}[{at}]") for at, item in enumerate(listed)))
        return Condition(field, operator, read(value, place))


def _field(name: str, place: str) -> MemoryField | MetadataPath:
    if name in _COLUMN_VALUES:
        return MemoryField(name)
    if not name.startswith(_METADATA):
        near = get_close_matches(name[:80].lower(), [*_COLUMN_VALUES, *_JOINS, "not"], n=1)
        hint = f"did you mean {near[0]}? It " if near else ""
        raise FilterError(place, f"{hint}is no field. There are {_FIELDS}; and, or, not join them.")
    path = name.removeprefix(_METADATA)
    if not re.fullmatch(rf"{_KEY}(?:\.{_KEY})*", path):
        raise FilterError(
            place, r"names no key: write metadata.a or metadata.a.b, and \. for a dot, \\ for a \ in a key."
        )
    keys = [re.sub(r"\\(.)", r"\1", key) for key in re.findall(_KEY, path)]
    if len(keys) > MAX_KEYS:
        raise FilterError(place, f"is nested more than {MAX_KEYS} levels deep.")
    return MetadataPath(tuple(keys))


def _operator(field: MemoryField | MetadataPath, word: str, place: str) -> Operator:
    allowed = COLUMN_OPERATORS[field] if isinstance(field, MemoryField) else _OF_METADATA
    if word not in allowed:
        shown = repr(word) if len(word) <= MAX_NAME_CHARS else "A name"
        nested = " A key inside it is written with a dot." if isinstance(field, MetadataPath) else ""
        raise FilterError(place, f"{shown} is no operator for it. There are {', '.join(allowed)}.{nested}")
    return Operator(word)


def _check_list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise FilterError(place, "must be a list.")
    if not 1 <= len(value) <= MAX_LISTED:
        raise FilterError(place, f"must hold 1 to {MAX_LISTED} items.")
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise FilterError(place, "must be a string.")
    if len(value) > MAX_TEXT_CHARS:
        raise FilterError(place, f"has more than {MAX_TEXT_CHARS} characters.")
    if "\0" in value:
        raise FilterError(place, "holds a NUL character.")
    return value


def _number(value: object, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FilterError(place, "must be a number.")
    in_range = MIN_WHOLE <= value <= MAX_WHOLE if isinstance(value, int) else math.isfinite(value)
    if not in_range:
        raise FilterError(place, "is a number that cannot be stored.")
    return value


def _id_of(what: str) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        text = _text(value, place)
        try:
            return str(uuid.UUID(text))
        except ValueError as error:
            raise FilterError(place, f"must be the id of {what}: a UUID.") from error

    return read


def _share(value: object, place: str) -> float:
    return float(_number(value, place))


def _moment(value: object, place: str) -> datetime:
    text = _text(value, place)
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise FilterError(place, "must be an ISO 8601 date and time such as 2026-05-08T13:56:00Z.")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _one_of(words: tuple[str, ...]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise FilterError(place, f"must be one of {', '.join(words)}.")
        return value

    return read


def _sortable(value: object, place: str) -> str | int | float:
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FilterError(place, "must be a number or a string.")
    return _number(value, place)


def _topic(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOPIC:
        raise FilterError(place, f"must be the number of a topic of the map, 0 to {MAX_TOPIC}.")
    return value


def _scalar(value: object, place: str) -> Scalar:
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, str | int | float):
        raise FilterError(place, "must be a string, a number, true, false or null; `in` takes a list of them.")
    return _sortable(value, place)


_COLUMN_VALUES: dict[MemoryField, Callable[[object, str], str | int | float | datetime]] = {
    MemoryField.ID: _id_of("a memory"),
    MemoryField.TEXT: _text,
    MemoryField.ROLE: _one_of(tuple(Role.values)),
    MemoryField.SPEAKER: _text,
    MemoryField.SESSION: _text,
    MemoryField.TIER: _one_of(tuple(Tier.values)),
    MemoryField.KIND: _one_of(tuple(MemoryKind.values)),
    MemoryField.TOPIC: _topic,
    MemoryField.IMPORTANCE: _share,
    MemoryField.OCCURRED: _moment,
    MemoryField.CREATED: _moment,
    MemoryField.UPDATED: _moment,
}
_RANKED = (MemoryField.IMPORTANCE, MemoryField.OCCURRED, MemoryField.CREATED, MemoryField.UPDATED)
COLUMN_OPERATORS = {
    **dict.fromkeys(MemoryField, EQUALITY),
    **dict.fromkeys(_RANKED, (*EQUALITY, *ORDER)),
    MemoryField.TEXT: (Operator.CONTAINS, Operator.ICONTAINS),
}
