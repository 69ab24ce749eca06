"""Reads mem0's filters as filters of MemOS.

mem0 combines lists by AND, OR and NOT, and all entries of an object must hold. An owner id (user, agent, app or run)
that a group of conditions does not mention must be absent: `{"user_id": "ann"}` matches ann's memories that belong to
no agent, app or run. `"*"` matches any id. Each part of an OR is such a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from memory.owners import CATEGORIES, EXPIRATION, OWNERS
from memory.retrieval.filters import (
    MAX_CONDITIONS,
    MAX_LISTED,
    All,
    AnyOf,
    Condition,
    Filter,
    FilterError,
    MetadataPath,
    Not,
    Operator,
    parse,
)

MAX_GROUPS_DEEP = 5
ANY = "*"
_JOINS = ("AND", "OR", "NOT")
# `created_at` is the `timestamp` that the client sent, else the time when the memory was recorded.
_MOMENTS = {"created_at": "occurred_at", "updated_at": "updated_at", "timestamp": "occurred_at"}
_FIELDS = (*OWNERS, *_MOMENTS, CATEGORIES, "metadata", "keywords", "memory_ids")


def read_filters(data: Mapping[str, Any]) -> Filter:
    """Read `filters` of the hosted API. Raises FilterError with the place of a fault, or if no owner is named."""
    reader = _FilterReader(_read_field)
    group = reader.group(data, "", 0)
    if not group.named:
        raise FilterError("", f'must name one of {", ".join(OWNERS)}: an id, or "{ANY}" for any.')
    return group.close(frozenset())


def read_plain_filters(data: Mapping[str, Any]) -> Filter | None:
    """Read `filters` of the open-source server, where other names are metadata keys and omitted ids do not matter.

    Returns None for the empty object. Raises FilterError.
    """
    return None if data == {} else _FilterReader(_read_field_or_key).group(data, "", 0).join()


def hold_owners(ids: Mapping[str, str]) -> Filter:
    """Match memories with all of these ids, whatever other ids they have."""
    return _all([_owner(name, value, name) for name, value in ids.items()])


def hold_categories(categories: list[str]) -> Filter:
    """Match memories with at least one of the categories."""
    return _categories({"in": categories}, "categories")


def hold_metadata(metadata: Mapping[str, Any]) -> Filter:
    """Match memories whose metadata has these values."""
    return _metadata(metadata, "metadata")


def not_expired(today: date) -> Filter:
    """Match memories that have no expiration date, or one that is today or later."""
    path = MetadataPath((EXPIRATION,))
    return AnyOf((Condition(path, Operator.EXISTS, False), Condition(path, Operator.GTE, today.isoformat())))


def join(*parts: Filter | None) -> Filter:
    """Combine filters, at least one of which is not None, by AND."""
    return _all([part for part in parts if part is not None])


@dataclass(frozen=True, slots=True)
class _Alternatives:
    """The parts of an OR."""

    parts: tuple[_Group, ...]

    @property
    def named(self) -> frozenset[str]:
        return frozenset().union(*(part.named for part in self.parts))


@dataclass(frozen=True, slots=True)
class _Group:
    """Conditions that must all hold: `plain` ones, which name the owners in `says`, and `choices`."""

    plain: tuple[Filter, ...]
    says: frozenset[str]
    choices: tuple[_Alternatives, ...]

    @property
    def named(self) -> frozenset[str]:
        return self.says.union(*(choice.named for choice in self.choices))

    def join(self) -> Filter:
        """Return the filter of the group as written; owners that it does not name do not matter."""
        choices = [AnyOf(tuple(part.join() for part in choice.parts)) for choice in self.choices]
        return _all([*self.plain, *choices])

    def close(self, said: frozenset[str]) -> Filter:
        """Return the filter with "has none" for each owner that neither the group nor `said`, around it, names."""
        parts = list(self.plain)
        of_owners = [choice for choice in self.choices if choice.named]
        for choice in self.choices:
            if choice.named:
                around = said.union(self.says, *(other.named for other in of_owners if other is not choice))
                parts.append(AnyOf(tuple(part.close(around) for part in choice.parts)))
            else:
                parts.append(AnyOf(tuple(part.join() for part in choice.parts)))
        if not of_owners:
            absent = [name for name in OWNERS if name not in said | self.says]
            parts += [Condition(MetadataPath((name,)), Operator.EXISTS, False) for name in absent]
        return _all(parts)


def _all(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


class _FilterReader:
    def __init__(self, read_field: Callable[[str, Any, str], Filter]) -> None:
        self._read_field = read_field
        self._conditions = 0

    def group(self, data: object, place: str, depth: int) -> _Group:
        if not isinstance(data, Mapping):
            raise FilterError(place, "must be an object.")
        if not data:
            raise FilterError(place, "must not be empty.")
        if depth > MAX_GROUPS_DEEP:
            raise FilterError(place, f"is nested more than {MAX_GROUPS_DEEP} levels deep.")
        plain: list[Filter] = []
        says: set[str] = set()
        choices: list[_Alternatives] = []
        for name, value in data.items():
            here = f"{place}.{name}" if place else name
            if name == "OR":
                choices.append(_Alternatives(tuple(self._read_list(value, here, depth))))
            elif name == "AND":
                for part in self._read_list(value, here, depth):
                    plain += part.plain
                    says |= part.says
                    choices += part.choices
            elif name == "NOT":
                listed = value if isinstance(value, list) else [value]
                parts = list(self._read_list(listed, here, depth))
                plain += [Not(part.join()) for part in parts]
                says = says.union(*(part.named for part in parts))
            else:
                self._conditions += 1
                if self._conditions > MAX_CONDITIONS:
                    raise FilterError(here, f"is one condition too many: filters have at most {MAX_CONDITIONS}.")
                plain.append(self._read_field(name, value, here))
                says |= {name} & set(OWNERS)
        return _Group(tuple(plain), frozenset(says), tuple(choices))

    def _read_list(self, value: object, place: str, depth: int) -> Iterator[_Group]:
        for at, part in enumerate(_list(value, place)):
            yield self.group(part, f"{place}[{at}]", depth + 1)


def _read_field(name: str, value: Any, place: str) -> Filter:
    if name in OWNERS:
        return _owner(name, value, place)
    if name in _MOMENTS:
        return _moment(_MOMENTS[name], value, place)
    match name:
        case "categories":
            return _categories(value, place)
        case "metadata":
            return _metadata(value, place)
        case "keywords":
            return _keywords(value, place)
        case "memory_ids":
            return _ours({"id": {"in": _list(value["in"] if _is_test(value, "in") else value, place)}}, place)
    raise FilterError(place, f"is no field. There are {', '.join(_FIELDS)}; {', '.join(_JOINS)} join them.")


def _read_field_or_key(name: str, value: Any, place: str) -> Filter:
    return _read_field(name, value, place) if name in _FIELDS else _key(name, value, place)


def _owner(name: str, value: Any, place: str) -> Filter:
    if value in (ANY, {"eq": ANY}):
        return Condition(MetadataPath((name,)), Operator.EXISTS, True)
    if value is None:
        return Condition(MetadataPath((name,)), Operator.EXISTS, False)
    if isinstance(value, list):
        value = {"in": value}
    allowed = ("eq", "ne", "in")
    if isinstance(value, Mapping) and (unknown := [word for word in value if word not in allowed]):
        raise FilterError(place, f'{unknown[0]!r} is no operator for it. There are {", ".join(allowed)}, and "{ANY}".')
    return _key(name, value, place)


def _key(name: str, value: Any, place: str) -> Filter:
    """Read a condition on a metadata key: a value, or operators. As in mem0, `ne` also holds if the key is absent."""
    field = f"metadata.{name.replace(chr(92), chr(92) * 2).replace('.', chr(92) + '.')}"
    if value == ANY:
        return _ours({field: {"exists": True}}, place)
    if not isinstance(value, Mapping):
        return _ours({field: value}, place)
    parts: list[Filter] = []
    for word, test in value.items():
        if word == "ne":
            parts.append(Not(_ours({field: {"eq": test}}, place)))
        elif word == "contains":
            parts.append(_ours({"or": [{field: {"contains": test}}, {field: test}]}, place))
        else:
            parts.append(_ours({field: {word: test}}, place))
    if not parts:
        raise FilterError(place, "must not be empty: give it a value, or operators such as `eq`.")
    return _all(parts)


def _moment(field: str, value: Any, place: str) -> Filter:
    if isinstance(value, Mapping):
        return _ours({field: {word: _as_text(test) for word, test in value.items()}}, place)
    return _ours({field: _as_text(value)}, place)


def _as_text(moment: Any) -> Any:
    """Return seconds since 1970 as ISO 8601, and anything else unchanged."""
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        return moment
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return moment


def _categories(value: Any, place: str) -> Filter:
    if value == ANY:
        return _ours({f"metadata.{CATEGORIES}": {"exists": True}}, place)
    word, wanted = next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else ("in", value)
    if word not in ("eq", "ne", "in", "contains"):
        raise FilterError(place, "takes a category, or one of eq, ne, in, contains.")
    listed = _list(wanted if isinstance(wanted, list) else [wanted], place)
    held = _ours({"or": [{f"metadata.{CATEGORIES}": {"contains": one}} for one in listed]}, place)
    return Not(held) if word == "ne" else held


def _metadata(value: Any, place: str) -> Filter:
    if not isinstance(value, Mapping) or not value:
        raise FilterError(place, 'must be an object with keys of the metadata, such as {"source": "email"}.')
    return _all([_key(name, test, f"{place}.{name}") for name, test in value.items()])


def _keywords(value: Any, place: str) -> Filter:
    if not isinstance(value, Mapping):
        value = {"icontains": value}
    return _ours({"text": dict(value)}, place)


def _ours(data: dict[str, Any], place: str) -> Filter:
    """Parse a filter of MemOS. Faults are reported at `place` in mem0's filter."""
    try:
        where = parse(data)
    except FilterError as error:
        raise FilterError(place, error.problem) from error
    assert where is not None
    return where


def _list(value: object, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise FilterError(place, "must be a list.")
    if not 1 <= len(value) <= MAX_LISTED:
        raise FilterError(place, f"must hold 1 to {MAX_LISTED} items.")
    return value


def _is_test(value: object, word: str) -> bool:
    return isinstance(value, Mapping) and list(value) == [word]
