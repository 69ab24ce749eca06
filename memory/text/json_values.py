"""Checks which JSON values can be stored and returned, and encodes stored ones.

jsonb stores numbers of any size and returns whole ones as int: 1e20 comes back as 100000000000000000000, which exceeds
64 bits, so that orjson can't write it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

_SHOWN_CHARS = 60
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1


class JsonFault(NamedTuple):
    """The problem (the predicate of a sentence) and its place like `a.b[3]`, "" for the value itself."""

    place: str
    problem: str


def fault_of(value: Any, *, most_levels: int) -> JsonFault | None:
    """Return the first problem in `value` that prevents storing it, or None. Levels are objects and lists."""
    waiting: list[tuple[str, Any, int]] = [("", value, 1)]
    while waiting:
        place, item, level = waiting.pop()
        if isinstance(item, dict | list):
            if level > most_levels:
                return JsonFault("", f"is nested more than {most_levels} levels deep.")
            if isinstance(item, dict) and (problem := _problem_of_names(item)):
                return JsonFault(place, problem)
            waiting += [(inner_place, inner, level + 1) for inner_place, inner in _inner(place, item)]
        elif problem := _problem(item):
            return JsonFault(place, problem)
    return None


def encode(value: Any, *, option: int = 0) -> bytes:
    """Encode `value` as JSON. Whole numbers beyond 64 bits, which earlier versions stored, are written as floats."""
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return orjson.dumps(_writable(value), option=option)


def _inner(place: str, item: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    # The caller pops from the end, so reversing makes it find the first problem.
    if isinstance(item, list):
        yield from ((f"{place}[{index}]", inner) for index, inner in reversed(list(enumerate(item))))
    else:
        for name, inner in reversed(item.items()):
            shown = name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}…"
            yield f"{place}.{shown}" if place else shown, inner


def _problem_of_names(item: dict[Any, Any]) -> str:
    for name in item:
        if not isinstance(name, str):
            return "holds a name that is no string."
        if problem := _problem(name):
            return problem
    return ""


def _problem(item: Any) -> str:
    if isinstance(item, str):
        if "\0" in item:
            return "holds a NUL character."
        return "" if item.isascii() or _is_unicode(item) else "holds a lone surrogate, which is no character."
    if item is None or isinstance(item, bool):
        return ""
    if not isinstance(item, int | float):
        return "is no JSON value."
    # Comparisons with NaN are false.
    if LEAST_WHOLE <= item <= MOST_WHOLE and (isinstance(item, int) or item < MOST_WHOLE):
        return ""
    if isinstance(item, float) and not math.isfinite(item):
        return "is no JSON number."
    return f"holds a number that cannot be stored: it must be from {LEAST_WHOLE} to {MOST_WHOLE}; send it as a string."


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def characters_of(text: str) -> str:
    """Return `text` in a form that can be stored: without NUL, and with lone surrogates replaced."""
    text = text.replace("\0", "")
    return text if _is_unicode(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _writable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _writable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool) and not LEAST_WHOLE <= value <= MOST_WHOLE:
        try:
            return float(value)
        except OverflowError:
            return str(value)
    return value
