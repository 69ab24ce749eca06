"""Translates conditions on metadata of Dify's External Knowledge API into the filter language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memory.retrieval.filters import Filter, FilterError, MemoryField, parse

_ORDER = {">": "gt", "<": "lt", "≥": "gte", "≤": "lte", "before": "lt", "after": "gt"}
# Dify sends the values of numeric comparisons as strings.
_OF_NUMBERS = {"=", "≠", ">", "<", "≥", "≤"}
# Filters compare whole values only, so these operators are refused.
_PARTS_OF_TEXTS = ("contains", "not contains", "start with", "end with")


@dataclass(frozen=True, slots=True)
class MetadataCondition:
    """Holds one condition; `name` is a key of the metadata or the name of a MemoryField."""

    name: str
    operator: str
    value: Any


def to_filter(conditions: Sequence[MetadataCondition], *, any_of: bool) -> Filter | None:
    """Returns the equivalent filter, or None without conditions.

    Raises FilterError, whose `place` names the condition that cannot be translated.
    """
    said = []
    for number, condition in enumerate(conditions):
        field = condition.name if condition.name in set(MemoryField) else f"metadata.{condition.name}"
        try:
            one = _say(condition, field)
            parse(one)
        except FilterError as error:
            raise FilterError(f"conditions[{number}]", f"{condition.name}: {error.problem}") from error
        said.append(one)
    if not said:
        return None
    try:
        return parse({"or" if any_of else "and": said})
    except FilterError as error:
        raise FilterError("conditions", error.problem) from error


def _say(condition: MetadataCondition, field: str) -> dict[str, Any]:
    if condition.operator in _PARTS_OF_TEXTS:
        known = ", ".join(one for one in COMPARISONS if one not in _PARTS_OF_TEXTS)
        raise FilterError("", f"MemOS does not compare parts of texts (`{condition.operator}`). There are {known}.")
    value = _as_number(condition.value) if condition.operator in _OF_NUMBERS else condition.value
    return _SAYINGS[condition.operator](field, value)


def _compare_by(operator: str) -> Callable[[str, Any], dict[str, Any]]:
    return lambda field, value: {field: {operator: value}}


def _is_empty(field: str, _: Any) -> dict[str, Any]:
    absent = [] if field in set(MemoryField) else [{field: {"exists": False}}, {field: None}]
    return {"or": [*absent, {field: ""}]}


def _is_not_in(field: str, value: Any) -> dict[str, Any]:
    """Requires the field to exist and to differ from each value, as `is not` does for one value."""
    return {"and": [{field: {"ne": one}} for one in _as_list(value)]}


def _as_list(value: Any) -> list[Any]:
    """Returns the value if it is a list, else splits it at its commas."""
    return value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]


def _as_number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for read in (int, float):
        try:
            return read(value)
        except ValueError:
            continue
    return value


_SAYINGS: dict[str, Callable[[str, Any], dict[str, Any]]] = {
    **dict.fromkeys(("is", "="), lambda field, value: {field: {"eq": value}}),
    **dict.fromkeys(("is not", "≠"), lambda field, value: {field: {"ne": value}}),
    "in": lambda field, value: {field: {"in": _as_list(value)}},
    "not in": _is_not_in,
    "empty": _is_empty,
    "not empty": lambda field, value: {"not": _is_empty(field, value)},
    **{word: _compare_by(operator) for word, operator in _ORDER.items()},
}
COMPARISONS = (*_SAYINGS, *_PARTS_OF_TEXTS)
