"""Parses JSON bodies strictly, and says where a body is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

import orjson
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser


class StrictJSONParser(BaseParser):
    """Parses JSON objects in UTF-8. NaN, Infinity and lone surrogates are refused, with the field that holds them."""

    media_type = "application/json"
    takes: type = dict

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read()
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(describe_fault(body, error)) from error
        if not isinstance(data, self.takes):
            wanted = "a JSON list" if self.takes is list else "a JSON object"
            raise ParseError(f"The body must be {wanted}, not {_kind(data)}.")
        return data


class JSONListParser(StrictJSONParser):
    """Parses bodies that are a JSON list, as strictly as StrictJSONParser."""

    takes = list


class BytesParser(BaseParser):
    """Passes on the body as a stream of bytes for the view to read."""

    media_type = "application/octet-stream"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return stream


def describe_fault(body: bytes, error: orjson.JSONDecodeError) -> str:
    """Name the field whose value is not valid JSON, or the place where the text stops being JSON."""
    try:
        lenient = json.loads(body)
    except UnicodeDecodeError:
        return "The body is not UTF-8."
    except RecursionError:
        return "The body is nested too deep."
    except ValueError:
        return f"The body is not valid JSON: {error}."
    fault = _fault(lenient, "")
    return f"The body is not valid JSON: {fault or error}."


def _fault(value: Any, path: str) -> str | None:
    """Say where `value` holds something that JSON cannot express. Only used for bodies that were refused."""
    stack: list[tuple[Any, str]] = [(value, path)]
    while stack:
        item, place = stack.pop()
        if isinstance(item, float) and not math.isfinite(item):
            return f"`{place}` is {item}, which is no JSON number"
        if isinstance(item, str) and not _encodable(item):
            return f"`{place}` holds a lone surrogate, which is no character"
        if isinstance(item, dict):
            for key, inner in item.items():
                if not _encodable(key):
                    return f"a name inside `{place or 'the body'}` holds a lone surrogate, which is no character"
                stack.append((inner, f"{place}.{key}" if place else key))
        elif isinstance(item, list):
            stack += [(inner, f"{place}[{index}]") for index, inner in enumerate(item)]
    return None


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "null")
