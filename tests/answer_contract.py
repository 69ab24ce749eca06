"""Checks the answers to a test's client against the OpenAPI document: each status, media type and body.

It is stricter than the document in one point: a field that is not documented is a fault, too. Clients must accept new
fields of later versions; within a version, the document is complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import orjson
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from memory.api.views.openapi import build_whole

METHODS = ("get", "post", "put", "patch", "delete")
# Statuses that a route's description does not name: the framework itself answers HEAD and OPTIONS, and an address that
# it cannot read has no route yet.
NO_METHOD = {400, 405}
COMPONENT = re.compile(r"#/components/schemas/([\w.-]+)")
Schema = dict[str, Any]


def list_faults(method: str, path: str, body: bytes | str, response: HttpResponseBase) -> Iterator[str]:
    """Yield how this answer differs from the document. Routes outside the document have no faults.

    `body` is that of the request. If it was accepted, the document must allow it.
    """
    route = _route_of(unquote(path.partition("?")[0]))
    operations = _document()["paths"].get(route)
    # An address with one slash too many is redirected, even if a route exists without it.
    is_led_away = response.status_code == 307 and path.partition("?")[0].endswith("/")
    if operations is None or is_led_away or method in ("HEAD", "OPTIONS"):
        return
    operation = operations.get(method.lower())
    place = f"{method} {route} → {response.status_code}"
    if operation is None:
        if response.status_code not in NO_METHOD:
            yield f"{place}: the document has no such method"
        return
    status = _documented_status(operation, response.status_code)
    if status is None:
        yield f"{place}: the document has no such status"
        return
    described = _answer_of(operation, status)
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    content = described.get("content", {})
    if media_type not in content and (content or getattr(response, "content", b"")):
        yield f"{place}: the document has no {media_type!r}"
    elif media_type == "application/json" and not response.streaming:
        validator = _validator(route, method.lower(), status)
        yield from (f"{place}: {fault}" for fault in _faults(validator, response.content))
    if 200 <= response.status_code < 300 and body and (accepted := _request_validator(route, method.lower())):
        yield from (f"{place}, a request that was accepted: {fault}" for fault in _faults(accepted, body))


@cache
def _document() -> Schema:
    document: Schema = json.loads(json.dumps(build_whole()))
    return document


def _route_of(path: str) -> str | None:
    try:
        route = resolve(path).route
    except Resolver404:
        return None
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


def _documented_status(operation: Schema, status: int) -> str | None:
    """The status, or the range of statuses, that the operation describes."""
    return next((name for name in (str(status), f"{status // 100}XX") if name in operation["responses"]), None)


def _answer_of(operation: Schema, status: str) -> Schema:
    """Return the operation's answer with the status. Many operations share an error."""
    answer: Schema = operation["responses"][status]
    named = answer.get("$ref", "").rpartition("/")[2]
    return _document()["components"]["responses"][named] if named else answer


@cache
def _validator(route: str, method: str, status: str) -> Any:
    content = _answer_of(_document()["paths"][route][method], status)["content"]
    return _compile(json.dumps(content["application/json"]["schema"]), closed=True)


@cache
def _request_validator(route: str, method: str) -> Any:
    content = _document()["paths"][route][method].get("requestBody", {}).get("content", {})
    accepted = content.get("application/json")
    return _compile(json.dumps(accepted["schema"]), closed=False) if accepted else None


@cache
def _compile(schema: str, *, closed: bool) -> Any:
    """Return one validator for all answers with this schema, including the components that it refers to.

    If `closed`, a field that a component does not name is a fault.
    """
    components = _components_of(schema)
    if closed:
        components = {name: _closed(one) for name, one in components.items()}
    whole = {**json.loads(schema), "components": {"schemas": components}}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def _components_of(schema: str) -> dict[str, Schema]:
    """Return the components that the schema refers to, directly or through others."""
    components = _document()["components"]["schemas"]
    reached: dict[str, Schema] = {}
    waiting = COMPONENT.findall(schema)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = components[name]
            waiting += COMPONENT.findall(json.dumps(components[name]))
    return reached


def _closed(schema: Any) -> Any:
    """Return the schema, changed so that it allows no fields that it does not name."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(one) for name, one in schema.items()}
    return {"additionalProperties": False, **closed} if "properties" in closed else closed


def _faults(validator: Any, body: bytes | str) -> Iterator[str]:
    for error in validator.iter_errors(orjson.loads(body)):
        place = ".".join(str(step) for step in error.instance_path)
        yield f"{place or 'the body'}: {error.message[:500]}"
