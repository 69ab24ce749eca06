"""Checks what a chat model answers against the JSON schema that it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from memory.errors import InvalidInput
from memory.text.json_values import fault_of

if TYPE_CHECKING:
    import jsonschema

MAX_PROBLEM_CHARS = 300
# Of what a model answers.
MAX_LEVELS = 100


def validator_of(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    """Raises InvalidInput when `schema` is no JSON schema. It reads no schema from anywhere else."""
    import jsonschema  # noqa: PLC0415 - it takes long to load, for those who use it
    from referencing import Registry  # noqa: PLC0415 - as above

    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        problem = error.message[:MAX_PROBLEM_CHARS]
        raise InvalidInput(f"The schema is no JSON schema (draft 2020-12): {problem}.") from error
    return jsonschema.Draft202012Validator(dict(schema), registry=Registry())


def read_json(text: str, validator: jsonschema.Draft202012Validator) -> tuple[dict[str, Any] | None, str]:
    """The JSON object in `text`, or None and what is wrong with it, without a word of it: that goes into logs.

    Raises InvalidInput for a schema with a `$ref` to another one.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    try:
        said = orjson.loads(_unfence(text))
    except orjson.JSONDecodeError:
        return None, "it is no JSON"
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


def _unfence(text: str) -> str:
    """Without the code fence that models put around JSON."""
    text = text.strip()
    if not text.startswith("```"):
        return text
    return text.removesuffix("```").partition("\n")[2]
