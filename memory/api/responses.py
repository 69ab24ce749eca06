"""The error shape of every route: `{"error": {"code", "message", "detail", "request_id"}}`."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse


def error_body(request: HttpRequest | None, code: str, message: str, detail: Any = None) -> dict[str, Any]:
    """Return the body of an error answer. `detail` may say which field is wrong and why."""
    request_id = getattr(request, "request_id", "")
    return {"error": {"code": code, "message": message, "detail": detail, "request_id": request_id}}


def error_response(request: HttpRequest, status: int, code: str, message: str, detail: Any = None) -> HttpResponse:
    """Return an error answer."""
    body = orjson.dumps(error_body(request, code, message, detail))
    return HttpResponse(body, status=status, content_type="application/json")


def untie(request: HttpRequest, response: HttpResponse) -> None:
    """Break the references between a finished answer, the view that made it, and the request.

    They form cycles that only the garbage collector would free, together with the bodies of a hundred requests. A
    stream is still written by its view, so its references stay.
    """
    context = getattr(response, "renderer_context", None)
    if not context:
        return
    context["request"].parser_context.clear()
    vars(context["view"]).clear()
    context.clear()
    for name in ("_messages", "auser"):
        vars(request).pop(name, None)
