"""Finds the fields of a request that nothing reads, so that a misspelt filter is refused and not ignored."""

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

# Limits of what an error repeats.
MAX_FOUND = 20
MAX_SHOWN = 30
MAX_NAME_CHARS = 80
_PART = re.compile(r"<(?:\w+:)?(\w+)>")


def find_unknown(serializer: Field, data: Any) -> dict[Any, Any]:
    """Finds fields of `data` that the serializer does not name, at any depth, each with the nearest one that it does.

    In the shape of the details of a ValidationError, at most MAX_FOUND at each level; empty when there are none.
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
    """Says what is wrong with the field `name`, and which of the `known` ones is nearest."""
    names = list(known)
    if near := get_close_matches(name[:MAX_NAME_CHARS].lower(), names, n=1, cutoff=0.6):
        return f"did you mean {near[0]}?"
    shown = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    return f"is not known here. There are: {shown}." if names else "is not known here: nothing is read."


def shorten(name: str) -> str:
    """Cuts a long name for an error."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}…"


@dataclass(frozen=True, slots=True)
class KnownFields:
    """Holds what a route reads: parameters of its query string, and fields of its body (None: it reads no body)."""

    query: frozenset[str]
    body: frozenset[str] | None

    def find_unknown_parameters(self, names: Iterable[str]) -> dict[str, str]:
        """Finds parameters that the route does not read, each with where it belongs or the nearest one."""
        return self._judge(names, self.query, elsewhere=self.body or frozenset(), where="the body")

    def find_unread_fields(self, names: Iterable[str]) -> dict[str, str]:
        """Finds the fields of a body that was sent to a route that reads none."""
        return self._judge(names, frozenset(), elsewhere=self.query, where="the query string")

    @staticmethod
    def _judge(names: Iterable[str], known: frozenset[str], *, elsewhere: frozenset[str], where: str) -> dict[str, str]:
        unknown = islice((name for name in names if name not in known), MAX_FOUND)
        return {
            shorten(name): f"belongs into {where}." if name in elsewhere else suggest(name, sorted(known))
            for name in unknown
        }


def list_known_fields(request: HttpRequest) -> KnownFields | None:
    """Looks up in the published document what the request's route reads; None for a route that is not described."""
    match = request.resolver_match
    if match is None:
        return None
    path = "/" + _PART.sub(r"{\1}", match.route)
    return read_document().get((path, (request.method or "").lower()))


@cache
def read_document() -> dict[tuple[str, str], KnownFields]:
    """Reads what each route takes, by path and method, from the published document, once a process."""
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
