"""Writes a page of the documentation for each group of routes, with every field, from the OpenAPI schema.

    python manage.py spectacular --format openapi-json | python tools/api_pages.py            (make guide)

The pages are written to docs/reference/routes and not kept under version control.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference" / "routes"
METHODS = ("get", "post", "put", "patch", "delete")
# Nested objects are shown down to this depth, and recursive ones once.
DEPTH = 3
# Schemas that have a separate page.
EXPLAINED = {"Filter": "[filters](../filters.md)"}

Schema = dict[str, Any]


def pages(schema: Schema) -> dict[str, str]:
    """Return Markdown by file name: `index.md`, and a page for each tag of the schema, in order."""
    listed = ["# Every field", "", "Made from the OpenAPI schema (`/openapi.json`) of this version.", ""]
    listed += ["| route | what it does |", "|---|---|"]
    routes: dict[str, list[str]] = {tag["name"]: [] for tag in schema.get("tags", ())}
    says = {tag["name"]: tag.get("description", "") for tag in schema.get("tags", ())}
    rows: dict[str, list[str]] = {}
    for method, path, operation in _operations(schema):
        tag, heading = operation["tags"][0], f"{method.upper()} {path}"
        routes.setdefault(tag, []).append(_route(heading, operation, schema))
        link = f"[`{heading}`]({_anchor(tag)}.md#{_anchor(heading)})"
        rows.setdefault(tag, []).append(f"| {link} | {_cell(operation.get('summary', ''))} |")
    listed += [row for tag in routes for row in rows.get(tag, ())]
    written = {
        f"{_anchor(tag)}.md": f"# {tag}\n\n{says[tag]}.\n\n" if says.get(tag) else f"# {tag}\n\n" for tag in routes
    }
    return {
        "index.md": "\n".join(listed) + "\n",
        **{name: head + "\n".join(found) for (name, head), found in zip(written.items(), routes.values(), strict=True)},
    }


def _operations(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, operations in schema["paths"].items():
        for method in METHODS:
            if method in operations:
                yield method, path, operations[method]


def _anchor(heading: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in heading.lower()).split())


def _route(heading: str, operation: Schema, schema: Schema) -> str:
    """Return Markdown for a route: its summary, parameters, body and answer."""
    lines = [f"## `{heading}` {{ #{_anchor(heading)} }}", "", operation.get("summary", "")]
    if operation.get("description"):
        lines += ["", operation["description"]]
    parameters = [
        (one["name"], one["schema"], one.get("required", False), one.get("description", ""))
        for one in operation.get("parameters", [])
    ]
    if parameters:
        lines += ["", "Parameters:", "", *_table(parameters, schema)]
    body = _json(operation.get("requestBody", {}))
    if body:
        lines += ["", "Body:", "", *_table(_fields(body, schema), schema)]
    answer = _json(operation["responses"].get("200", {}))
    if answer and _fields(answer, schema):
        fields = [(name, one, False, says) for name, one, _, says in _fields(answer, schema)]
        lines += ["", "Answer:", "", *_table(fields, schema)]
    return "\n".join(lines) + "\n"


def _json(part: Schema) -> Schema:
    found: Schema = part.get("content", {}).get("application/json", {}).get("schema", {})
    return found


Field = tuple[str, Schema, bool, str]


def _fields(schema: Schema, whole: Schema, prefix: str = "", within: tuple[str, ...] = ()) -> list[Field]:
    """List the fields of an object and of nested objects by dotted names, with `[]` after the name of a list."""
    found: list[Field] = []
    schema = _resolve(schema, whole)
    for name, given in schema.get("properties", {}).items():
        one = _resolve(given, whole)
        inner = one.get("items", {}) if _is_list(one) else given
        link = EXPLAINED.get(_name(inner), "")
        says = " ".join(part for part in (given.get("description", one.get("description", "")), link) if part)
        found.append((prefix + name, one, name in schema.get("required", ()), says))
        if len(within) < DEPTH and not link and _name(inner) not in within:
            mark = "[]." if _is_list(one) else "."
            found += _fields(inner, whole, f"{prefix}{name}{mark}", (*within, _name(inner)))
    return found


def _name(schema: Schema) -> str:
    """Return the name of the referenced schema, or "" for an inline schema."""
    return str(_present(schema).get("$ref", "")).rpartition("/")[2]


def _present(schema: Schema) -> Schema:
    """Return the first alternative of a schema that is not null."""
    for word in ("allOf", "oneOf", "anyOf"):
        if word in schema:
            return _present(next(one for one in schema[word] if one.get("type") != "null"))
    return schema


def _may_be_null(schema: Schema) -> bool:
    kinds = schema.get("type", ())
    return (
        kinds == "null"
        or "null" in kinds
        or any(
            _may_be_null(one) or one.get("$ref", "").endswith("/NullEnum")
            for word in ("oneOf", "anyOf")
            for one in schema.get(word, ())
        )
    )


def _resolve(schema: Schema, whole: Schema) -> Schema:
    """Return the schema with its reference resolved and its own description. `nullable`: whether null is allowed."""
    present = _present(schema)
    found = whole["components"]["schemas"][_name(present)] if "$ref" in present else present
    beside = {name: value for name, value in schema.items() if name in ("default", "description")}
    return {**found, **beside, "nullable": schema.get("nullable", False) or _may_be_null(schema) or _may_be_null(found)}


def _is_list(schema: Schema) -> bool:
    return "array" in schema.get("type", ())


def _table(fields: list[Field], whole: Schema) -> list[str]:
    lines = ["| field | type | what it is |", "|---|---|---|"]
    for name, schema, required, says in fields:
        words = ". ".join([*(["**required**"] if required else []), *([_cell(says)] if says else [])])
        lines.append(f"| `{name}` | {_type(_resolve(schema, whole), whole)} | {words} |")
    return lines


def _type(schema: Schema, whole: Schema) -> str:
    if schema.get("enum"):
        word = ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    elif _is_list(schema):
        word = f"list of {_type(_resolve(schema.get('items', {}), whole), whole)}"
    else:
        kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ())
        word = schema.get("format") or " or ".join(kind for kind in kinds if kind != "null") or "any"
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    if low is not None or high is not None:
        word += f" {'' if low is None else low}..{'' if high is None else high}"
    if schema.get("default") is not None:
        word += f" (`{json.dumps(schema['default'])}`)"
    return word + (" or null" if schema.get("nullable") else "")


def _cell(text: str) -> str:
    """Return the text for a table cell, without the schema's list of choices, which the type column shows."""
    words = text.partition("* `")[0] if text.lstrip().startswith("* `") or "\n\n* `" in text else text
    return " ".join(words.split()).replace("|", "\\|")


def main(schema: Schema, folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(schema).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(json.load(sys.stdin))
