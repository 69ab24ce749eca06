"""One error shape on every route: `{"error": {"code", "message", "detail", "request_id"}}`."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse

log = logging.getLogger("memos.error")


def error_body(request: HttpRequest | None, code: str, message: str, detail: Any = None) -> dict[str, Any]:
    """The body of an error answer; `detail` says which field and why, where there is one."""
    request_id = getattr(request, "request_id", "")
    return {"error": {"code": code, "message": message, "detail": detail, "request_id": request_id}}


def error_response(request: HttpRequest, status: int, code: str, message: str, detail: Any = None) -> HttpResponse:
    return JsonResponse(error_body(request, code, message, detail), status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: requests that are refused before a view sees them."""
    if isinstance(exception, RequestDataTooBig):
        return error_response(request, 413, "payload_too_large", "The body is larger than MEMOS_MAX_BODY_BYTES.")
    reason = str(exception) if isinstance(exception, SuspiciousOperation) else "The request could not be read."
    return error_response(request, 400, "invalid_request", reason)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, 403, "forbidden", str(exception) or "You may not do this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_response(request, 404, "not_found", f"There is nothing at {request.path}: /docs lists every route.")


def server_error(request: HttpRequest) -> HttpResponse:
    return error_response(
        request, 500, "internal_error", "MemOS failed to answer. The server's log has the cause under this request_id."
    )


def is_unavailable(error: BaseException) -> bool:
    """Whether a database error means that the server is away, not that the request is wrong."""
    from django.db import InterfaceError, OperationalError  # noqa: PLC0415 - needs settings

    return isinstance(error, DatabaseError) and isinstance(error, OperationalError | InterfaceError)
