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
# Tags of the schema, by the page that they are on.
PAGES = {
    "ask": ("Ask", ("query", "search", "answer", "chat", "models", "why")),
    "ingest": ("Ingest", ("ingest", "dev", "api")),
    "documents": ("Documents", ("documents",)),
    "memories": ("Memories", ("memories",)),
    "sessions": ("Sessions", ("sessions",)),
    "entities": ("Entities", ("entities", "graph")),
    "quarantine": ("Quarantine", ("quarantine",)),
    "policy": ("Policy", ("policy",)),
    "erasures": ("Erasures", ("erasures",)),
    "evaluations": ("Evaluations", ("judgements", "evaluations")),
    "ops": ("Operations", ("ops", "usage", "health")),
}
# Objects within objects are shown down to here; those that hold themselves are shown once.
DEPTH = 3
# A schema that has a page of its own.
EXPLAINED = {"Filter": "[filters](../filters.md)"}

Schema = dict[str, Any]


def pages(schema: Schema) -> dict[str, str]:
    """Markdown by file name, `index.md` among them.

    Raises:
        ValueError: a tag of the schema is on no page of PAGES.
    """
    routes: dict[str, list[str]] = {name: [] for name in PAGES}
    listed = ["# Every field", "", "Made from the OpenAPI schema (`/openapi.json`) of this version.", ""]
    listed += ["| route | what it does |", "|---|---|"]
    for method, path, operation in _operations(schema):
        name = _page_of(operation["tags"][0])
        heading = f"{method.upper()} {path}"
        routes[name].append(_route(heading, operation, schema))
        listed.append(f"| [`{heading}`]({name}.md#{_anchor(heading)}) | {_cell(operation.get('summary', ''))} |")
    written = {f"{name}.md": f"# {PAGES[name][0]}\n\n" + "\n".join(found) for name, found in routes.items()}
    return {"index.md": "\n".join(listed) + "\n", **written}


def _operations(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, operations in schema["paths"].items():
        for method in METHODS:
            if method in operations:
                yield method, path, operations[method]


def _page_of(tag: str) -> str:
    for name, (_, tags) in PAGES.items():
        if tag in tags:
            return name
    raise ValueError(f"the tag {tag!r} is on no page: name it in PAGES of {Path(__file__).name}")


def _anchor(heading: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in heading.lower()).split())


def _route(heading: str, operation: Schema, schema: Schema) -> str:
    """One route as Markdown: what it does, its parameters, its body and its answer."""
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
    """Fields of an object and of the objects within, as dotted names; `[]` after the name of a list."""
    found: list[Field] = []
    schema = _resolve(schema, whole)
    for name, given in schema.get("properties", {}).items():
        one = _resolve(given, whole)
        inner = given.get("items", {}) if one.get("type") == "array" else given
        link = EXPLAINED.get(_name(inner), "")
        says = " ".join(part for part in (given.get("description", one.get("description", "")), link) if part)
        found.append((prefix + name, one, name in schema.get("required", ()), says))
        if len(within) < DEPTH and not link and _name(inner) not in within:
            mark = "[]." if one.get("type") == "array" else "."
            found += _fields(inner, whole, f"{prefix}{name}{mark}", (*within, _name(inner)))
    return found


def _name(schema: Schema) -> str:
    """The name of the schema that is referred to, empty for one that is written out."""
    for word in ("allOf", "oneOf", "anyOf"):
        if word in schema:
            return _name(schema[word][0])
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _resolve(schema: Schema, whole: Schema) -> Schema:
    """The schema behind a reference, also one that is wrapped in `allOf` or is one of a nullable `oneOf`."""
    if "$ref" in schema:
        found: Schema = whole["components"]["schemas"][_name(schema)]
        return found
    for word in ("allOf", "oneOf", "anyOf"):
        if word in schema:
            wrapped = [_resolve(one, whole) for one in schema[word]]
            return {**wrapped[0], "nullable": schema.get("nullable", len(wrapped) > 1)}
    return schema


def _table(fields: list[Field], whole: Schema) -> list[str]:
    lines = ["| field | type | what it is |", "|---|---|---|"]
    for name, schema, required, says in fields:
        words = ". ".join([*(["**required**"] if required else []), *([_cell(says)] if says else [])])
        lines.append(f"| `{name}` | {_type(_resolve(schema, whole), whole)} | {words} |")
    return lines


def _type(schema: Schema, whole: Schema) -> str:
    if schema.get("enum"):
        word = ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    elif schema.get("type") == "array":
        word = f"list of {_type(_resolve(schema.get('items', {}), whole), whole)}"
    else:
        word = schema.get("format") or schema.get("type") or "any"
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    if low is not None or high is not None:
        word += f" {'' if low is None else low}..{'' if high is None else high}"
    if schema.get("default") is not None:
        word += f" (`{json.dumps(schema['default'])}`)"
    return word + (" or null" if schema.get("nullable") else "")


def _cell(text: str) -> str:
    """As one cell of a table; the schema's own list of choices goes, for the type names them."""
    words = text.partition("* `")[0] if text.lstrip().startswith("* `") or "\n\n* `" in text else text
    return " ".join(words.split()).replace("|", "\\|")


def main(schema: Schema, folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(schema).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(json.load(sys.stdin))
