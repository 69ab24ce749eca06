"""Answers errors outside of the API's views: as HTML for pages that people open, else in the API's error shape."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse

from memory.api.responses import error_response
from memory.enums import ErrorCode
from ops.views import errors as pages

PAGES = ("/admin/", "/ops/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answers as Django's handler400 to requests that are refused before a view sees them."""
    if request.path_info.startswith(PAGES):
        return pages.bad_request(request)
    if isinstance(exception, RequestDataTooBig):
        return error_response(
            request, 413, ErrorCode.PAYLOAD_TOO_LARGE, "The body is larger than MEMOS_MAX_BODY_BYTES."
        )
    reason = str(exception) if isinstance(exception, SuspiciousOperation) else "The request could not be read."
    return error_response(request, 400, ErrorCode.INVALID_REQUEST, reason)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answers as Django's handler403."""
    if request.path_info.startswith(PAGES):
        return pages.forbidden(request)
    return error_response(request, 403, ErrorCode.FORBIDDEN, str(exception) or "You may not do this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answers as Django's handler404."""
    if request.path_info.startswith(PAGES):
        return pages.not_found(request)
    return error_response(
        request, 404, ErrorCode.NOT_FOUND, f"There is nothing at {request.path}: /docs lists every route."
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Answers as Django's handler500; the log has the traceback under the request's id."""
    if request.path_info.startswith(PAGES):
        return pages.server_error(request)
    return error_response(
        request,
        500,
        ErrorCode.INTERNAL_ERROR,
        "MemOS failed to answer. The server's log has the cause under this request_id.",
    )
