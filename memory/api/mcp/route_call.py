"""A tool's call as a request of the route that does the same: one validation, one scope, one write path for both."""

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

# A route looks at these of the caller's request.
_OF_CALLER = ("REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT", "HTTP_HOST", "wsgi.url_scheme")


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the API: the view, its action, and how it is called. `path` has named parts in braces."""

    view: type[MemosViewSet]
    action: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class RouteArguments:
    """Holds what a route is asked: JSON body, query parameters, parts of the path, headers."""

    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class RouteRefusal(Exception):
    """The route refused: `error` is the inner object of the API's one error shape."""

    def __init__(self, error: dict[str, Any], *, status: int) -> None:
        super().__init__(error["message"])
        self.error = error
        self.status = status


class GivenAccess(BaseAuthentication):
    """Takes for the caller whom the request that came over HTTP has authenticated."""

    def authenticate(self, request: Request) -> tuple[Access, str]:
        access: Access = request._request.given_access  # type: ignore[attr-defined]
        return access, access.actor


def call_route(caller: HttpRequest, access: Access, route: Route, asked: RouteArguments) -> Any:
    """Returns what the route answers to `access`. Raises RouteRefusal; what fails inside of it is raised as it is.

    The request is not counted again, and what it narrows its reach to ends with it.
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
    """Passes on what figures of requests are made from; a batch for several namespaces is none's."""
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
