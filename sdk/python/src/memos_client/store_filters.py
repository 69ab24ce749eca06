"""Translates LangGraph's filters of values into conditions of MemOS, and evaluates them on values in memory."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import Any

_ORDER = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def to_conditions(wanted: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """Translate a filter into conditions of MemOS that must all hold. `path` is the field that stores the value.

    Raises NotImplementedError for lists and operators that MemOS does not have.
    """
    found = []
    for key, test in wanted.items():
        field = f"{path}.{_escape(key)}"
        if not isinstance(test, Mapping):
            found.append(_equal(field, test))
        elif any(word.startswith("$") for word in test):
            found += [_condition(field, word, value) for word, value in test.items()]
        else:
            found += to_conditions(test, field)
    return found


def holds(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a value matches, with the same result as the filter's conditions."""
    return isinstance(value, Mapping) and all(_matches(value.get(key), test) for key, test in wanted.items())


def _condition(field: str, word: str, value: Any) -> dict[str, Any]:
    if word == "$eq":
        return _equal(field, value)
    if word == "$ne":
        return {"not": _equal(field, value)}
    if word not in _ORDER:
        raise NotImplementedError(f"A filter has no {word}: there are $eq, $ne, {', '.join(_ORDER)}.")
    return {field: {word.removeprefix("$"): value}}


def _equal(field: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping | list | tuple):
        raise NotImplementedError(f"A filter compares with one text, number, true, false or None, not with {value!r}.")
    return {"or": [{field: None}, {field: {"exists": False}}]} if value is None else {field: value}


def _escape(key: str) -> str:
    return re.sub(r"([.\\])", r"\\\1", key)


def _matches(value: Any, test: Any) -> bool:
    if not isinstance(test, Mapping):
        return _is_same(value, test)
    if not any(word.startswith("$") for word in test):
        return holds(value, test)
    return all(_compare(value, word, than) for word, than in test.items())


def _compare(value: Any, word: str, than: Any) -> bool:
    if word in ("$eq", "$ne"):
        return _is_same(value, than) == (word == "$eq")
    return _kind(value) == _kind(than) in ("number", "text") and bool(_ORDER[word](value, than))


def _is_same(value: Any, other: Any) -> bool:
    return _kind(value) == _kind(other) and bool(value == other)


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "else"
