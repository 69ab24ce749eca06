"""Checks a chat model's answer against the JSON schema that it was given."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from memory.errors import InvalidInput
from memory.text.json_values import fault_of

if TYPE_CHECKING:
    import jsonschema

MAX_PROBLEM_CHARS = 300
# Maximum nesting of an answer.
MAX_LEVELS = 100
_BRACE = re.compile("[{}]")
_DECODER = json.JSONDecoder()


def validator_of(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    """Return a validator that reads no other schemas. Raise InvalidInput if `schema` isn't a JSON schema."""
    import jsonschema  # noqa: PLC0415 - slow to import
    from referencing import Registry  # noqa: PLC0415 - as above

    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        problem = error.message[:MAX_PROBLEM_CHARS]
        raise InvalidInput(f"The schema is no JSON schema (draft 2020-12): {problem}.") from error
    return jsonschema.Draft202012Validator(dict(schema), registry=Registry())


def read_json(text: str, validator: jsonschema.Draft202012Validator) -> tuple[dict[str, Any] | None, str]:
    """Return the last valid JSON object of `text`, which may be in a code fence or in prose.

    Without one, return None and the problem, which goes into logs and quotes nothing of the text. Raise InvalidInput
    for a schema with a `$ref` to another schema.
    """
    problem = "it is no JSON"
    for value in _list_values(text):
        said, problem = _check(value, validator)
        if said is not None:
            return said, ""
    return None, problem


def _list_values(text: str) -> list[Any]:
    """Return what the text may mean: all of it if it is JSON, else the objects in it, the last first."""
    try:
        return [orjson.loads(text)]
    except orjson.JSONDecodeError:
        return list(_find_objects(text))[::-1]


def _find_objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects in the text, but none within braces that aren't JSON or never close."""
    place = text.find("{")
    while place >= 0:
        end = _find_end(text, place)
        if end is None:
            return
        with contextlib.suppress(orjson.JSONDecodeError):
            yield orjson.loads(text[place:end])
        place = text.find("{", end)


def _find_end(text: str, start: int) -> int | None:
    """Return where the object at `start` ends, as JSON or else by its braces; None if it doesn't."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        depth = 0
        for brace in _BRACE.finditer(text, start):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                return brace.end()
        return None


def _check(said: Any, validator: jsonschema.Draft202012Validator) -> tuple[dict[str, Any] | None, str]:
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    if not isinstance(said, dict):
        return None, "it is no JSON object"
    try:
        error = best_match(validator.iter_errors(said))
    except Unresolvable as unknown:
        raise InvalidInput(
            f"The schema names {unknown.ref!r}, and reads no other schema: put it under $defs."
        ) from unknown
    if error is not None:
        place = "/".join(map(str, error.absolute_schema_path))
        return None, f"it does not follow the schema at {place[:MAX_PROBLEM_CHARS]}"
    fault = fault_of(said, most_levels=MAX_LEVELS)
    return (said, "") if fault is None else (None, f"a value {fault.problem.removesuffix('.')}")
