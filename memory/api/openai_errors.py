"""Shapes errors as OpenAI's API does, and keeps the fields that every MemOS error has."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from memory.api.errors import describe_error, exception_handler
from memory.api.responses import error_body
from memory.enums import ErrorCode
from memory.errors import PassedOnError

log = logging.getLogger("memos.error")

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


def openai_exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Handle an error on the routes of OpenAI's API, as DRF's hook. A provider's error is passed on unchanged."""
    request = context["request"]._request
    if isinstance(error, PassedOnError) and error.body is not None:
        response = HttpResponse(orjson.dumps(error.body), status=error.status, content_type="application/json")
        if error.status in (429, 503):
            response["Retry-After"] = str(error.retry_after)
        return response
    answered = exception_handler(error, context)
    if answered is None:
        return None
    answered.content = orjson.dumps(to_openai(request, orjson.loads(answered.content), answered.status_code))
    return answered


def describe_for_openai(request: HttpRequest, error: Exception) -> dict[str, Any]:
    """Return the body for an error in the middle of an answer."""
    status, code, message, detail, _ = describe_error(error)
    if status is None:
        log.exception("an answer broke off")
        status, code = 500, ErrorCode.INTERNAL_ERROR
        message = "Something went wrong inside; the server's log has more under the request_id."
    return to_openai(request, error_body(request, code, message, detail), status)


def to_openai(request: HttpRequest, body: dict[str, Any], status: int) -> dict[str, Any]:
    """Add the fields that OpenAI's clients look for to an error: its type, and the field that is wrong."""
    error = body["error"]
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {**error, "type": kind, "param": _field(error.get("detail"))}}


def _field(detail: Any) -> str | None:
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        return str(detail[0].get("field"))
    return str(detail["field"]) if isinstance(detail, dict) and "field" in detail else None
