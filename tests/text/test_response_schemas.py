"""JSON schemas of callers: parts that cannot be checked safely are refused, with their place."""

from __future__ import annotations

from typing import Any

import pytest

from memory.text.response_schemas import find_schema_fault

GOOD: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["who"],
    "properties": {
        "who": {"type": "string", "enum": ["Priya", "Tom"]},
        "pattern": {"type": "string"},
        "$ref": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/person"}},
    },
    "$defs": {"person": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/person"}}}}},
}


def test_a_schema_with_references_and_recursion_by_depth_is_taken():
    assert find_schema_fault(GOOD) is None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"type": "array"}, "type"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/nobody"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"$ref": 5}}}, "properties.a.$ref"),
        ({"default": {"pattern": "(a+)+$"}, "properties": {"a": {"$ref": "#/default"}}}, "properties.a.$ref"),
        ({"const": {"$ref": "#/const"}, "properties": {"a": {"$ref": "#/const"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"$ref": "#/properties"}, "patternProperties": {"(a+)+$": {}}}}, "properties.a.$ref"),
        ({"$defs": {"%61": {}, "person": {}}, "properties": {"a": {"$ref": "#/$defs/%61"}}}, "properties.a.$ref"),
        ({"$defs": {"a~1b": {}, "person": {}}, "properties": {"a": {"$ref": "#/$defs/a~1b"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/person\n"}}}, "properties.a.$ref"),
        ({"properties": {"a": {"pattern": "(a+)+$"}}}, "properties.a.pattern"),
        ({"patternProperties": {"(a+)+$": {}}}, "patternProperties"),
        ({"$id": "http://127.0.0.1:1/"}, "$id"),
        ({"properties": {"a": {"type": "text"}}}, "properties.a.type"),
        ({"required": "who"}, "required"),
        ({"$ref": "#"}, ""),
        ({"allOf": [{"anyOf": [{"$ref": "#/$defs/a"}]}], "$defs": {"a": {"not": {"$ref": "#"}}, "person": {}}}, ""),
        ({"properties": {"a": {"description": "x" * 20_000}}}, ""),
    ],
)
def test_what_is_unsafe_or_no_schema_is_named(change, place):
    fault = find_schema_fault(GOOD | change)

    assert fault is not None
    assert fault.place == place


def test_a_schema_that_doubles_at_each_level_is_refused():
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)} | {"d30": {}}

    fault = find_schema_fault({"type": "object", "$defs": doubling})

    assert fault is not None
    assert "more than 200 schemas" in fault.problem


def test_a_schema_nested_too_deep_is_refused():
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"properties": {"a": deep}}

    assert find_schema_fault({"type": "object", **deep}) is not None
