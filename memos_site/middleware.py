"""Middleware around all requests: their ids, log lines and limits, slashes, security policy and language."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.middleware.common import CommonMiddleware
from django.urls import is_valid_path
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.encoding import escape_uri_path, iri_to_uri
from uuid_utils.compat import uuid7

from memory import caller, tracing
from memory.api.responses import error_response, untie
from memory.enums import ErrorCode
from memory.metrics import observe_request
from memory.postgresql import reach
from memory.services.monitoring.request_log import record
from memos_site.errors import PAGES
from memos_site.logging import current_request_id

log = logging.getLogger("memos.request")
# Routes whose requests are counted and listed in the console.
API = (
    *("v1/", "v2/", "v3/", "api/v1/", "mcp"),
    *("memories", "search", "reset", "product/", "memtensor/", "configure", "users", "mem_cubes", "chat"),
)
WITH_POLICY = (*PAGES, "/docs", "/guide/")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")


class RequestMiddleware:
    """Gives each request an id (the client's `X-Request-ID` if that is well-formed), times it and logs one line.

    It refuses requests that the gateway could not receive completely, bodies that are too large, and text that the
    database could not store.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        offered = request.headers.get("X-Request-ID", "")
        request_id = offered if _CLIENT_ID.fullmatch(offered) else str(uuid7())
        request.request_id = request_id  # type: ignore[attr-defined]
        token = current_request_id.set(request_id)
        try:
            with tracing.request_span(request.method or "", request.headers):
                return self._answer(request, request_id, started)
        finally:
            current_request_id.reset(token)

    def _answer(self, request: HttpRequest, request_id: str, started: float) -> HttpResponse:
        # No rows can be reached until authentication sets the namespaces.
        with reach.hold(reach.NOTHING), caller.hold(caller.Caller(request_id=request_id)):
            response = self._refusal(request) or self.get_response(request)
            if isinstance(response, StreamingHttpResponse) and reach.current() != reach.NOTHING:
                response.streaming_content = tracing.carry(caller.carry(reach.carry(response)))
        seconds = time.perf_counter() - started
        response["X-Request-ID"] = request_id
        if not response.streaming:
            response.setdefault("Content-Length", str(len(response.content)))
        if trace_id := tracing.trace_id():
            response["X-Trace-ID"] = trace_id
        route = getattr(request.resolver_match, "route", "") or "unmatched"
        observe_request(method=request.method or "", route=route, status=response.status_code, seconds=seconds)
        tracing.end_request(
            method=request.method or "",
            route=route,
            status=response.status_code,
            seconds=seconds,
            request_id=request_id,
        )
        if settings.MEMOS_REQUEST_LOG and route.startswith(API):
            record(
                method=request.method or "",
                route=route,
                status=response.status_code,
                milliseconds=seconds * 1000,
                namespace_id=getattr(request, "namespace_id", 0),
                key=getattr(request, "key_label", ""),
                request_id=request_id,
                empty_recall=getattr(request, "empty_recall", False),
            )
        log.log(
            # Probes and polls of pages come every few seconds, and are only logged for debugging.
            logging.DEBUG if route.startswith("health") or _is_poll(route, response) else logging.INFO,
            "request",
            extra={
                "method": request.method,
                "route": route,
                "status": response.status_code,
                "ms": f"{seconds * 1000:.1f}",
                "key": getattr(request, "key_label", "-"),
            },
        )
        untie(request, response)
        return response

    @staticmethod
    def _refusal(request: HttpRequest) -> HttpResponse | None:
        for name, content in (
            ("path", request.META.get("memos.path") or request.path_info.encode()),
            ("query string", unquote_to_bytes(request.META.get("QUERY_STRING", ""))),
        ):
            if fault := _fault_of(content):
                return error_response(request, 400, ErrorCode.INVALID_REQUEST, f"The {name} {fault}.")
        if refused := request.META.get("memos.refused"):
            status, code, message = refused
            response = error_response(request, status, code, message)
            if status == 503:
                response["Retry-After"] = "1"
            return response
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not (length.isascii() and length.isdigit()):
            return error_response(request, 400, ErrorCode.INVALID_REQUEST, "Content-Length is not a number.")
        most = settings.MEMOS_MAX_BODY_BYTES
        if int(length) > most:
            message = f"The body has {length} bytes; the limit is {most}. Send fewer items a batch."
            return error_response(request, 413, ErrorCode.PAYLOAD_TOO_LARGE, message)
        return None


def _fault_of(content: bytes) -> str | None:
    """Returns what is wrong with the decoded bytes of a path or query string, or None.

    The database would refuse NUL characters in any text. Django would replace bytes that are not UTF-8, such as half of
    a surrogate pair, so that views would see another text than was sent.
    """
    if b"\0" in content:
        return "holds a NUL character"
    try:
        content.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return None


class RouteSlashMiddleware:
    """Redirects requests for a route of the API with a trailing slash to the route (307: same method and body).

    Some routes of mem0's API differ from other routes only by their slash. They are meant by requests without a bearer
    key, which are not redirected.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        bare = path.rstrip("/")
        slash_too_many = path != bare and is_valid_path(bare) and (_sends_bearer(request) or not is_valid_path(path))
        return _redirect(request, bare) if slash_too_many else self.get_response(request)


def _sends_bearer(request: HttpRequest) -> bool:
    return request.headers.get("Authorization", "").lower().startswith("bearer ")


class PagesSlashMiddleware(CommonMiddleware):
    """Redirects to the address with a slash for pages, but not for routes of the API."""

    def should_redirect_with_slash(self, request: HttpRequest) -> bool:
        return request.path_info.startswith(("/admin", "/ops")) and super().should_redirect_with_slash(request)


def _redirect(request: HttpRequest, path: str) -> HttpResponse:
    query = request.META.get("QUERY_STRING", "")
    target = escape_uri_path(path) + (f"?{iri_to_uri(query)}" if query else "")
    return HttpResponseRedirect(target, preserve_request=True)


def _is_poll(route: str, response: HttpResponse) -> bool:
    """Tells whether the request is the poll of a page for changes, of which there are none."""
    return response.status_code == 204 and route.startswith("ops/")


class PagesPolicyMiddleware:
    """Sets the content security policy of pages, which allows nothing inline and nothing from other origins."""

    POLICY = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith(WITH_POLICY):
            response.headers.setdefault("Content-Security-Policy", self.POLICY)
        return response


class PagesLanguageMiddleware:
    """Activates the language of staff for pages; the API always answers in English."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PAGES):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            request.LANGUAGE_CODE = language
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
