"""Finds literal strings that a text must contain for a pattern to match, because searching for strings is faster.

See R. Cox 2012, "Regular Expression Matching with a Trigram Index".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import _constants as op  # type: ignore[attr-defined] # parsed patterns have no public API
from re import _parser  # type: ignore[attr-defined]
from typing import Any

# Searching for more strings is no faster than the pattern.
MOST_STRINGS, MOST_SETS = 60, 2
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)

# A text must contain at least one string of each set.
Literals = tuple[tuple[str, ...], ...]


def find_literals(pattern: re.Pattern[str]) -> Literals:
    """Return sets of strings; a text that `pattern` matches contains at least one of each. () if nothing is known."""
    if pattern.flags & re.IGNORECASE:
        return ()
    found = {_shorten(one) for one in _read_sets(_parser.parse(pattern.pattern, pattern.flags))}
    best = sorted((one for one in found if len(one) <= MOST_STRINGS), key=lambda one: (*_worth(one), sorted(one)))
    return tuple(tuple(sorted(one, key=lambda string: (len(string), string))) for one in best[::-1][:MOST_SETS])


def has_literals(text: str, literals: Literals) -> bool:
    """Tell whether a pattern with these literals may match `text`."""
    for one in literals:
        for string in one:
            if string in text:
                break
        else:
            return False
    return True


def _read_sets(parts: Iterable[tuple[Any, Any]]) -> list[frozenset[str]]:
    """Return a set of strings for each part of a sequence that has one."""
    sets, run = [], ""
    for kind, value in _flatten(parts):
        if kind is op.LITERAL:
            run += chr(value)
        elif kind is not op.AT:
            sets += [frozenset({run}), _read_part(kind, value)]
            run = ""
    return [one for one in (*sets, frozenset({run})) if one and "" not in one]


def _flatten(parts: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for kind, value in parts:
        if kind is op.SUBPATTERN and not value[1] & re.IGNORECASE:
            yield from _flatten(value[-1])
        else:
            yield kind, value


def _read_part(kind: Any, value: Any) -> frozenset[str]:
    if kind is op.ATOMIC_GROUP:
        return _best_of(value)
    if kind in _REPEATS and value[0] > 0:
        return _best_of(value[2])
    if kind is op.BRANCH:
        branches = [_best_of(branch) for branch in value[1]]
        return frozenset().union(*branches) if all(branches) else frozenset()
    if kind is op.IN and all(one is op.LITERAL for one, _ in value):
        return frozenset(chr(character) for _, character in value)
    return frozenset()


def _best_of(parts: Iterable[tuple[Any, Any]]) -> frozenset[str]:
    return max(map(_shorten, _read_sets(parts)), key=_worth, default=frozenset())


def _shorten(strings: frozenset[str]) -> frozenset[str]:
    """Remove strings that contain another one."""
    return frozenset(one for one in strings if not any(other in one for other in strings if other != one))


def _worth(strings: frozenset[str]) -> tuple[int, int]:
    return min(map(len, strings)), -len(strings)
