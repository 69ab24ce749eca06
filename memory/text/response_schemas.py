"""Checks JSON schemas for answers, so that applying them needs no network, no endless loop and no costly pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from memory.text.json_values import JsonFault, fault_of

MAX_SCHEMA_BYTES = 16_384
MAX_SCHEMA_LEVELS = 24
MAX_CHECKS = 200
# A pattern can take forever on a text that a model writes; the other keywords say where references lead.
_REFUSED = ("pattern", "patternProperties", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "id")
# Values of these keywords check the same value as the schema itself, and not a part of it.
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
# Values of these keywords hold names of properties or schemas, or plain values, instead of keywords.
_NAMES = ("properties", "$defs", "definitions", "dependentSchemas")
_VALUES = ("const", "enum", "default", "examples")
# A reference elsewhere could use as a schema what was checked as a value or a list of names, or hide its target by an
# escape (%64, ~1).
_REFERENCE = re.compile(r"#(?:/(\$defs|definitions)/([A-Za-z0-9_.-]+))?")


def find_schema_fault(schema: dict[str, Any]) -> JsonFault | None:
    """Return the first reason why `schema` can't be used, or None."""
    import jsonschema  # noqa: PLC0415 - slow to import, and needed only for schemas
    from jsonschema.validators import validator_for  # noqa: PLC0415 - as above

    if fault := fault_of(schema, most_levels=MAX_SCHEMA_LEVELS):
        return fault
    if len(orjson.dumps(schema)) > MAX_SCHEMA_BYTES:
        return JsonFault("", f"has more than {MAX_SCHEMA_BYTES} bytes as JSON.")
    if schema.get("type") != "object":
        return JsonFault("type", 'must be "object".')
    for place, part in _schemas(schema, ""):
        if fault := _fault_of_part(place, part, schema):
            return fault
    try:
        validator_for(schema, default=jsonschema.Draft202012Validator).check_schema(schema)
    except jsonschema.SchemaError as error:
        return JsonFault(".".join(map(str, error.absolute_path)), f"is no JSON schema: {error.message[:200]}")
    for place, part in _schemas(schema, ""):
        if sum(1 for _ in _in_place(part, schema)) > MAX_CHECKS:
            return JsonFault(place, f"checks one value by more than {MAX_CHECKS} schemas, or refers to itself.")
    return None


def _fault_of_part(place: str, part: dict[str, Any], root: dict[str, Any]) -> JsonFault | None:
    for name in _REFUSED:
        if name in part:
            return JsonFault(f"{place}.{name}".lstrip("."), "is not taken here: leave it out.")
    target = part.get("$ref")
    if target is not None and _resolve(target, root) is None:
        return JsonFault(
            f"{place}.$ref".lstrip("."), "must name a schema of this one, such as #/$defs/name: nothing is fetched."
        )
    return None


def _schemas(part: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema within `part`, with its place."""
    if isinstance(part, list):
        for index, inner in enumerate(part):
            yield from _schemas(inner, f"{place}[{index}]")
    if not isinstance(part, dict):
        return
    yield place, part
    for name, inner in part.items():
        inner_place = f"{place}.{name}".lstrip(".")
        if name in _NAMES and isinstance(inner, dict):
            for own, schema in inner.items():
                yield from _schemas(schema, f"{inner_place}.{own}")
        elif name not in _VALUES:
            yield from _schemas(inner, inner_place)


def _resolve(target: Any, root: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema that a reference within `root` names, or None if it names none."""
    named = _REFERENCE.fullmatch(target) if isinstance(target, str) else None
    if named is None:
        return None
    schemas = root.get(named[1]) if named[1] else {None: root}
    found = schemas.get(named[2]) if isinstance(schemas, dict) else None
    return found if isinstance(found, dict) else None


def _in_place(part: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas that check the same value as `part`, itself first, and at most `MAX_CHECKS` + 1 of them."""
    waiting = [part]
    for _ in range(MAX_CHECKS + 1):
        if not waiting:
            return
        now = waiting.pop()
        yield now
        inner = [now[name] for name in _IN_PLACE if name in now]
        parts = [one for value in inner for one in (value if isinstance(value, list) else [value])]
        parts += list((now.get("dependentSchemas") or {}).values())
        if "$ref" in now:
            parts.append(_resolve(now["$ref"], root))
        waiting += [one for one in parts if isinstance(one, dict)]
