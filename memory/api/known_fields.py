"""Finds fields of a request that the route does not know, so that a misspelt filter is refused instead of ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any

from django.http import HttpRequest
from rest_framework.serializers import BaseSerializer, Field, ListField, ListSerializer, Serializer

from memory.api.views.openapi import build_document

# Limits on how much of a request an error repeats.
MAX_FOUND = 20
MAX_SHOWN = 30
MAX_NAME_CHARS = 80
_PART = re.compile(r"<(?:\w+:)?(\w+)>")


def find_unknown(serializer: Field, data: Any) -> dict[Any, Any]:
    """Find fields of `data`, at any depth, that the serializer does not have, each with a suggestion.

    Returns them in the shape of a ValidationError's details, at most MAX_FOUND at each level. It is empty if all fields
    are known.
    """
    if isinstance(serializer, ListSerializer | ListField):
        child = serializer.child
        if not isinstance(data, list) or not isinstance(child, BaseSerializer):
            return {}
        wrong = ((place, within) for place, item in enumerate(data) if (within := find_unknown(child, item)))
        return dict(islice(wrong, MAX_FOUND))
    if not isinstance(serializer, Serializer) or not isinstance(data, Mapping):
        return {}
    known = serializer.fields
    found: dict[Any, Any] = {}
    for name, value in data.items():
        if len(found) == MAX_FOUND:
            break
        if name in known:
            if isinstance(value, dict | list) and (within := find_unknown(known[name], value)):
                found[name] = within
        elif not getattr(serializer, "open_fields", False):
            found[shorten(name)] = suggest(name, known)
    return found


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the error for the unknown field `name`: the nearest of the `known` names, or a list of them."""
    names = list(known)
    if near := get_close_matches(name[:MAX_NAME_CHARS].lower(), names, n=1, cutoff=0.6):
        return f"did you mean {near[0]}?"
    shown = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    return f"is not known here. There are: {shown}." if names else "is not known here: nothing is read."


def shorten(name: str) -> str:
    """Shorten a long name for use in an error."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}…"


@dataclass(frozen=True, slots=True)
class KnownFields:
    """The parameters of a route's query string and the fields of its body, or None if it reads no body."""

    query: frozenset[str]
    body: frozenset[str] | None

    def find_unknown_parameters(self, names: Iterable[str]) -> dict[str, str]:
        """Find query parameters that the route does not know, each with the right place for it or the nearest name."""
        return self._judge(names, self.query, elsewhere=self.body or frozenset(), where="the body")

    def find_unread_fields(self, names: Iterable[str]) -> dict[str, str]:
        """Find the fields of a body that was sent to a route without one."""
        return self._judge(names, frozenset(), elsewhere=self.query, where="the query string")

    @staticmethod
    def _judge(names: Iterable[str], known: frozenset[str], *, elsewhere: frozenset[str], where: str) -> dict[str, str]:
        unknown = islice((name for name in names if name not in known), MAX_FOUND)
        return {
            shorten(name): f"belongs into {where}." if name in elsewhere else suggest(name, sorted(known))
            for name in unknown
        }


def list_known_fields(request: HttpRequest) -> KnownFields | None:
    """Return what the request's route reads, from the OpenAPI document, or None for an undocumented route."""
    match = request.resolver_match
    if match is None:
        return None
    path = "/" + _PART.sub(r"{\1}", match.route)
    return read_document().get((path, (request.method or "").lower()))


@cache
def read_document() -> dict[tuple[str, str], KnownFields]:
    """Read the known fields of every route, by path and method, from the OpenAPI document. Cached for the process."""
    document = build_document()
    return {
        (path, method): _read_operation(operation, document["components"]["schemas"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def _read_operation(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> KnownFields:
    query = frozenset(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")
    if "requestBody" not in operation:
        return KnownFields(query, None)
    body: set[str] = set()
    for content in operation["requestBody"]["content"].values():
        schema = content["schema"]
        body |= set(schemas.get(schema.get("$ref", "").rpartition("/")[2], schema).get("properties", ()))
    return KnownFields(query, frozenset(body))
