"""JSON that can be stored and returned, and the place of values that cannot."""

from __future__ import annotations

import json

import orjson
import pytest

from memory.text.json_values import MOST_WHOLE, JsonFault, encode, fault_of

NUMBER = "holds a number that cannot be stored"


@pytest.mark.parametrize(
    ("value", "place", "problem"),
    [
        ({"a": 1e20}, "a", NUMBER),
        ({"a": 2.0**64}, "a", NUMBER),
        ({"a": -1e19}, "a", NUMBER),
        ({"a": 2**64}, "a", NUMBER),
        ({"a": [0, {"b": [1, 1.7e308]}]}, "a[1].b[1]", NUMBER),
        ({"a": {"b": float("inf")}}, "a.b", "is no JSON number"),
        ([float("nan")], "[0]", "is no JSON number"),
        ({"a": "x\0"}, "a", "holds a NUL"),
        ({"a": {"b\0": 1}}, "a", "holds a NUL"),
        ({"a": ["\ud800"]}, "a[0]", "holds a lone surrogate"),
        ({"\udfff": 1}, "", "holds a lone surrogate"),
        ({1: 2}, "", "a name that is no string"),
        ({"a": {1, 2}}, "a", "is no JSON value"),
        ({"n" * 200: 1e20}, "n" * 60 + "…", NUMBER),
        ({"first": 1e20, "second": "\0"}, "first", NUMBER),
    ],
)
def test_the_first_fault_is_named_with_its_place(value, place, problem):
    fault = fault_of(value, most_levels=16)

    assert fault is not None
    assert (fault.place, problem in fault.problem) == (place, True)


def test_levels_are_counted_however_deep_they_go():
    value = json.loads("[" * 900 + "]" * 900)

    assert fault_of(value, most_levels=16) == JsonFault("", "is nested more than 16 levels deep.")
    assert fault_of([[[]]], most_levels=3) is None
    assert fault_of({"a": [{}]}, most_levels=2) is not None


@pytest.mark.parametrize("value", [0, -(2**63), MOST_WHOLE, 1e18, 0.1, 5e-324, -1.5, "ü好🎉", "", None, True, [], {}])
def test_what_can_be_stored_comes_back_as_it_was(value):
    assert fault_of({"a": value}, most_levels=16) is None
    assert orjson.loads(encode({"a": value})) == {"a": value}


@pytest.mark.parametrize("stored", [10**20, -(10**19), 10**400, [1, {"a": 2**64}]])
def test_what_was_stored_before_is_written_all_the_same(stored):
    assert json.loads(encode({"kept": "x", "value": stored}))["kept"] == "x"
