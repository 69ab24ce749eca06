"""The outermost layer of every request: its id, its log line, its size limit."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from uuid_utils.compat import uuid7

from memory.api.responses import error_response
from memory.metrics import observe_request
from memory.services.request_log import record
from memos_site.errors import PAGES
from memos_site.logging import current_request_id

log = logging.getLogger("memos.request")
# Routes whose requests are counted and listed in the console.
API = ("v1/", "api/v1/")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")


class RequestMiddleware:
    """Gives the request an id (the client's `X-Request-ID` if it is a plain one), times it and logs one line.

    Refuses bodies without a length (411) or above MEMOS_MAX_BODY_BYTES (413) before anything reads them.
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
            response = self._refusal(request) or self.get_response(request)
            seconds = time.perf_counter() - started
            response["X-Request-ID"] = request_id
            route = getattr(request.resolver_match, "route", "") or "unmatched"
            observe_request(method=request.method or "", route=route, status=response.status_code, seconds=seconds)
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
                # Probes and the polls of pages come every few seconds and say nothing new.
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
            return response
        finally:
            current_request_id.reset(token)

    @staticmethod
    def _refusal(request: HttpRequest) -> HttpResponse | None:
        if "%00" in request.META.get("QUERY_STRING", ""):
            return error_response(request, 400, "invalid_request", "The query string holds a NUL character.")
        if request.headers.get("Transfer-Encoding"):
            return error_response(
                request, 411, "length_required", "The body has no length: send Content-Length instead of chunks."
            )
        try:
            length = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            return error_response(request, 400, "invalid_request", "Content-Length is not a number.")
        if length > settings.MEMOS_MAX_BODY_BYTES:
            return error_response(
                request,
                413,
                "payload_too_large",
                f"The body has {length} bytes; the limit is {settings.MEMOS_MAX_BODY_BYTES}. Send fewer items a batch.",
            )
        return None


def _is_poll(route: str, response: HttpResponse) -> bool:
    """A page that asked for changes, and there are none."""
    return response.status_code == 204 and route.startswith("ops/")


class PagesPolicyMiddleware:
    """The content security policy of the pages that staff open: nothing inline, nothing from elsewhere."""

    POLICY = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith(PAGES):
            response.headers.setdefault("Content-Security-Policy", self.POLICY)
        return response


class PagesLanguageMiddleware:
    """Speaks the language of staff on the pages that they open; the API speaks English, whatever it is asked for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PAGES):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            request.LANGUAGE_CODE = language
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
