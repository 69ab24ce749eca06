"""Reads the arguments of tools tolerantly, because models write them carelessly.

They send blanks for arguments that they leave out, numbers and JSON as strings, and one item instead of a list of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from memory.errors import InvalidInput
from memory.services.tenancy.namespaces import NO_NAMES

_TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "string": str,
}
# These arguments are free text, which may be "null" or a quotation. All others are names, times and choices.
_FREE_TEXTS = frozenset({"text", "query", "content", "reason", "speaker", "name"})


def read_arguments(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments converted to the types of the tool's `schema`, without empty ones.

    Values that cannot be converted stay as they are, so that the route refuses them. Raises InvalidInput if the
    namespace is blank or "null", because a memory must not get lost in a namespace that was not meant.
    """
    read = {name: _read(name, schema["properties"].get(name, {}), value) for name, value in given.items()}
    name = read.get("namespace")
    if given.get("namespace") and isinstance(name, str) and name.lower() in NO_NAMES:
        problem = f"must name a namespace, not {str(given['namespace'])[:20]!r}; leave it out for the key's own."
        raise InvalidInput(f"namespace: {problem}", detail=[{"field": "namespace", "problem": problem}])
    required = schema.get("required", ())
    return {name: value for name, value in read.items() if name in required or not _stands_for_nothing(name, value)}


def _stands_for_nothing(name: str, value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        return not word or (word in NO_NAMES and name not in _FREE_TEXTS)
    return value is None or value == []


def _read(name: str, schema: Mapping[str, Any], value: Any) -> Any:
    kind = schema.get("type")
    if kind == "string":
        return _read_text(name, schema, value)
    if isinstance(value, str) and kind in _TYPES:
        value = _parse(value, _TYPES[kind])
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array":
        items = value if isinstance(value, list) else [value]
        return [_read("", schema["items"], item) for item in items if not _stands_for_nothing("", item)]
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        return read_arguments(schema, value)
    return value


def _read_text(name: str, schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or name in _FREE_TEXTS:
        return value
    text: str = _parse(value, str).strip()
    return text.lower() if text.lower() in schema.get("enum", ()) else text


def _parse(text: str, wanted: type | tuple[type, ...]) -> Any:
    """Returns the text decoded as JSON if that has the wanted type or is null, else the text."""
    try:
        value = orjson.loads(text.lower() if wanted is bool else text)
    except orjson.JSONDecodeError:
        return text
    is_right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    return value if is_right or (value is None and wanted is not str) else text
