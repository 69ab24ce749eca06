"""Reads MemTensor's filters as filters of MemOS: conditions in lists under `and` or `or`, or in one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory.enums import MemoryKind
from memory.retrieval.filters import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_LISTED,
    All,
    AnyOf,
    Condition,
    Filter,
    FilterError,
    MetadataPath,
    Operator,
    parse,
)

TAGS, USER, AGENT, TASK = "tags", "user_id", "agent_id", "task_id"
_FIELDS = {
    "id": "id",
    "memory": "text",
    "role": "role",
    "kind": "kind",
    "session_id": "session_id",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_TAG_NAMES = (TAGS, "custom_tags")
# Prefixes of the client's own metadata keys.
_PREFIXES = ("info.", "metadata.")
_TEXT_OPERATORS = {"contains": "icontains", "like": "icontains"}


def read_filter(data: Any) -> Filter | None:
    """Read a filter. Returns None for the empty object. Raises FilterError with the place of the fault."""
    return None if data == {} else _MemTensorFilterReader().read_group(data, "", 0)


def hold_user(user_id: str) -> Filter:
    """Match memories that belong to the user."""
    return Condition(MetadataPath((USER,)), Operator.EQ, user_id)


def hold_agent(agent_id: str) -> Filter:
    """Match memories that belong to the agent."""
    return Condition(MetadataPath((AGENT,)), Operator.EQ, agent_id)


def hold_task(task_id: str) -> Filter:
    """Match memories that were added under the task."""
    return Condition(MetadataPath((TASK,)), Operator.EQ, task_id)


def find_user(row: Mapping[str, Any]) -> str | None:
    """Return the user that a listed memory belongs to, or None."""
    user = row["metadata"].get(USER)
    return user if isinstance(user, str) else None


def hold_session(session: str) -> Filter:
    """Match memories of the session."""
    return _parse({"session_id": session}, "session_id")


def hold_kind(kind: MemoryKind) -> Filter:
    """Match memories of the kind."""
    return _parse({"kind": kind.value}, "kind")


def join(*parts: Filter | None) -> Filter | None:
    """Combine filters by AND. Returns None if all of them are None."""
    present = [part for part in parts if part is not None]
    return _join(present) if present else None


class _MemTensorFilterReader:
    def __init__(self) -> None:
        self._conditions = 0

    def read_group(self, data: object, place: str, depth: int) -> Filter:
        if not isinstance(data, Mapping):
            raise FilterError(place, "must be an object.")
        if not data:
            raise FilterError(place, "must not be empty.")
        if depth > MAX_DEPTH:
            raise FilterError(place, f"is nested more than {MAX_DEPTH} levels deep.")
        parts: list[Filter] = []
        for name, value in data.items():
            here = f"{place}.{name}" if place else name
            if name == "and":
                parts += self._read_list(value, here, depth)
            elif name == "or":
                parts.append(AnyOf(tuple(self._read_list(value, here, depth))))
            else:
                self._conditions += 1
                if self._conditions > MAX_CONDITIONS:
                    raise FilterError(here, f"is one condition too many: a filter has at most {MAX_CONDITIONS}.")
                parts.append(_read_field(name, value, here))
        return _join(parts)

    def _read_list(self, value: object, place: str, depth: int) -> Iterator[Filter]:
        if not isinstance(value, list):
            raise FilterError(place, "must be a list.")
        if not 1 <= len(value) <= MAX_LISTED:
            raise FilterError(place, f"must hold 1 to {MAX_LISTED} items.")
        for at, part in enumerate(value):
            yield self.read_group(part, f"{place}[{at}]", depth + 1)


def _read_field(name: str, value: Any, place: str) -> Filter:
    if name in _TAG_NAMES:
        return _read_tags(value, place)
    field = _FIELDS.get(name)
    if field == "text":
        tests = value if isinstance(value, Mapping) else {"contains": value}
        return _parse({field: {_TEXT_OPERATORS.get(word, word): test for word, test in tests.items()}}, place)
    if field:
        return _parse({field: value}, place)
    prefix = next((one for one in _PREFIXES if name.startswith(one)), "")
    key = name if prefix else name.replace("\\", "\\\\").replace(".", "\\.")
    return _parse({f"metadata.{key.removeprefix(prefix)}": value}, place)


def _read_tags(value: Any, place: str) -> Filter:
    """Read a condition on tags: a tag, `contains` with a tag, or `in` with several, one of which is enough."""
    if isinstance(value, Mapping):
        if len(value) != 1 or not value.keys() <= {"contains", "eq", "in"}:
            raise FilterError(place, "takes a tag, or one of contains, eq, in.")
        (value,) = value.values()
    listed = value if isinstance(value, list) else [value]
    if not 1 <= len(listed) <= MAX_LISTED:
        raise FilterError(place, f"must hold 1 to {MAX_LISTED} items.")
    return _parse({"or": [{f"metadata.{TAGS}": {"contains": one}} for one in listed]}, place)


def _join(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse(data: dict[str, Any], place: str) -> Filter:
    """Parse a filter of MemOS. Faults are reported at `place` in MemTensor's filter."""
    try:
        where = parse(data)
    except FilterError as error:
        raise FilterError(place, error.problem) from error
    assert where is not None
    return where
