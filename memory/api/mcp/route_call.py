"""Turns a tool call into a request to the corresponding route, so that both share validation, scopes and services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import orjson
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.responses import untie
from memory.api.views.base import MemosViewSet
from memory.postgresql import reach
from memory.types import Access

# Routes read these entries of the caller's request.
_OF_CALLER = ("REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT", "HTTP_HOST", "wsgi.url_scheme")


@dataclass(frozen=True, slots=True)
class Route:
    """Names a route of the API by its view, action, method and path, which has named parts in braces."""

    view: type[MemosViewSet]
    action: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class RouteArguments:
    """Holds the arguments of a route: JSON body, query parameters, parts of the path, and headers."""

    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class RouteRefusal(Exception):
    """Raised if the route refuses the request; `error` is the inner object of the API's error shape."""

    def __init__(self, error: dict[str, Any], *, status: int) -> None:
        super().__init__(error["message"])
        self.error = error
        self.status = status


class GivenAccess(BaseAuthentication):
    """Returns the caller that the original HTTP request has authenticated."""

    def authenticate(self, request: Request) -> tuple[Access, str]:
        access: Access = request._request.given_access  # type: ignore[attr-defined]
        return access, access.actor


def call_route(caller: HttpRequest, access: Access, route: Route, asked: RouteArguments) -> Any:
    """Calls a route on behalf of `access`, and returns its answer.

    The request is not throttled again, and its narrowed reach ends with it. Raises RouteRefusal; other exceptions of
    the view are not caught.
    """
    request = _request(caller, route, asked)
    request.given_access = access  # type: ignore[attr-defined]
    view = route.view.as_view(
        {route.method.lower(): route.action}, authentication_classes=(GivenAccess,), throttle_classes=()
    )
    with reach.within_access(access):
        response = view(request, **asked.parts)
    _note(caller, request)
    untie(request, response)
    if isinstance(response, Response):
        return response.data
    error = orjson.loads(response.content)["error"]
    if "Retry-After" in response:
        error["retry_after"] = int(response["Retry-After"])
    raise RouteRefusal(error, status=response.status_code)


def _note(caller: HttpRequest, request: HttpRequest) -> None:
    """Copies the attributes from which request statistics are made; a batch for several namespaces counts for none."""
    if hasattr(request, "empty_recall"):
        caller.empty_recall = request.empty_recall  # type: ignore[attr-defined]
    if hasattr(request, "namespace_id"):
        former = getattr(caller, "namespace_id", request.namespace_id)
        caller.namespace_id = request.namespace_id if former == request.namespace_id else 0  # type: ignore[attr-defined]


def _request(caller: HttpRequest, route: Route, asked: RouteArguments) -> WSGIRequest:
    body = b"" if asked.body is None else orjson.dumps(asked.body)
    environ = {name: caller.META[name] for name in _OF_CALLER if name in caller.META}
    environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in asked.headers.items()}
    environ |= {
        "REQUEST_METHOD": route.method,
        "PATH_INFO": route.path.format(**asked.parts),
        "QUERY_STRING": urlencode(asked.query),
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    }
    request = WSGIRequest(environ)
    request.request_id = getattr(caller, "request_id", "")  # type: ignore[attr-defined]
    return request
