"""Maps every exception that a view raises to the one error shape."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from memory import caches
from memory.api.responses import error_response
from memory.enums import ErrorCode
from memory.errors import BudgetExceeded, DeadlineExceeded, MemosError, NamespaceGone
from memory.postgresql.faults import lacks_namespace

log = logging.getLogger("memos.error")

_CODES = {
    400: ErrorCode.INVALID_REQUEST,
    401: ErrorCode.NOT_AUTHENTICATED,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    429: ErrorCode.RATE_LIMITED,
}


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Answer an error, as DRF's hook. Returning None makes it a 500 with its traceback in the log."""
    request = context["request"]._request
    status, code, message, detail, headers = describe_error(error)
    if status is None:
        return None
    if isinstance(error, exceptions.MethodNotAllowed):
        taken = [method for method in context["view"].allowed_methods if method not in ("OPTIONS", "HEAD")]
        message = f"{request.method} is not taken here: send {' or '.join(taken)} {request.path}."
    # The error is encoded here, because the schema and the docs page have renderers of their own.
    response = error_response(request, status, code, message, detail)
    for name, value in headers.items():
        response[name] = value
    return response


def describe_error(error: Exception) -> tuple[int | None, str, str, Any, dict[str, str]]:
    """Return the status, code, message, detail and headers of the answer. An unexpected error has no status."""
    if isinstance(error, MemosError):
        headers = {"Retry-After": str(error.retry_after)} if error.status == 503 else {}
        if isinstance(error, BudgetExceeded):
            headers["Retry-After"] = str(error.retry_seconds)
        return error.status, error.code, error.message, error.detail, headers
    if isinstance(error, OperationalError) and isinstance(error.__cause__, psycopg.errors.QueryCanceled):
        log.warning("a statement took too long and was ended")
        message = (
            "A statement of the request took longer than MEMOS_REQUEST_SECONDS and was ended. Ask for less at once."
        )
        return 503, DeadlineExceeded.code, message, None, {"Retry-After": "1"}
    if isinstance(error, OperationalError | InterfaceError):
        # The traceback would add nothing and fill the log while the database is away.
        reason = next(iter(str(error).splitlines()), "")
        log.error("database unavailable", extra={"error": type(error.__cause__ or error).__name__, "reason": reason})
        message = (
            "The database does not answer. Try again in a moment; with an Idempotency-Key nothing is stored twice."
        )
        return 503, ErrorCode.DATABASE_UNAVAILABLE, message, None, {"Retry-After": "1"}
    if lacks_namespace(error):
        # This process's cached names are out of date.
        caches.forget_all()
        gone = NamespaceGone()
        return gone.status, gone.code, gone.message, gone.detail, {}
    if isinstance(error, RequestDataTooBig):
        return (
            413,
            ErrorCode.PAYLOAD_TOO_LARGE,
            "The body is larger than MEMOS_MAX_BODY_BYTES. Send fewer items.",
            None,
            {},
        )
    if isinstance(error, Http404):
        return 404, ErrorCode.NOT_FOUND, str(error) or "Not found.", None, {}
    if isinstance(error, PermissionDenied):
        return 403, ErrorCode.FORBIDDEN, str(error) or "You may not do this.", None, {}
    if isinstance(error, exceptions.ValidationError):
        problems = _problems(error.detail, "")
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return 400, ErrorCode.INVALID_REQUEST, f"{first['field']}: {first['problem']}{more}", problems, {}
    if isinstance(error, exceptions.APIException):
        headers = {}
        if isinstance(error, exceptions.Throttled):
            headers["Retry-After"] = str(int(getattr(error, "wait", None) or 0) + 1)
        if header := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = header
        return (
            error.status_code,
            _CODES.get(error.status_code, ErrorCode.INVALID_REQUEST),
            _sentence(error),
            None,
            headers,
        )
    return None, "", "", None, {}


def _sentence(error: exceptions.APIException) -> str:
    if isinstance(error, exceptions.NotAuthenticated):
        return "This server wants an API key: `Authorization: Bearer mos_…`. `manage.py issue_api_key` makes one."
    if isinstance(error, exceptions.UnsupportedMediaType):
        return "Send the body as JSON with `Content-Type: application/json`."
    return str(error.detail)


def _problems(detail: Any, place: str) -> list[dict[str, str]]:
    """Flatten DRF's nested details into a list of {field, problem}, with fields such as `items[3].text`."""
    if isinstance(detail, dict):
        found = []
        for name, inner in detail.items():
            own = name in ("non_field_errors",)
            inner_place = place if own else f"{place}.{name}" if place else str(name)
            if isinstance(name, int):
                inner_place = f"{place}[{name}]"
            found += _problems(inner, inner_place)
        return found
    if isinstance(detail, list):
        if any(isinstance(inner, dict) for inner in detail):
            return [
                problem
                for index, inner in enumerate(detail)
                if inner
                for problem in _problems(inner, f"{place}[{index}]")
            ]
        return [{"field": place or "body", "problem": str(inner)} for inner in detail]
    return [{"field": place or "body", "problem": str(detail)}]
