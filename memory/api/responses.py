"""One error shape on every route: `{"error": {"code", "message", "detail", "request_id"}}`."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse


def error_body(request: HttpRequest | None, code: str, message: str, detail: Any = None) -> dict[str, Any]:
    """The body of an error answer; `detail` says which field and why, where there is one."""
    request_id = getattr(request, "request_id", "")
    return {"error": {"code": code, "message": message, "detail": detail, "request_id": request_id}}


def error_response(request: HttpRequest, status: int, code: str, message: str, detail: Any = None) -> HttpResponse:
    """An error answer."""
    body = orjson.dumps(error_body(request, code, message, detail))
    return HttpResponse(body, status=status, content_type="application/json")


def untie(request: HttpRequest, response: HttpResponse) -> None:
    """Parts an answer that is written from the view that has made it, and both from the request.

    They hold one another, as a request does its messages and its user: tied, they stay until a collection, and with
    them the bodies of a hundred requests. A stream is written by its view, and stays tied.
    """
    context = getattr(response, "renderer_context", None)
    if not context:
        return
    context["request"].parser_context.clear()
    vars(context["view"]).clear()
    context.clear()
    for name in ("_messages", "auser"):
        vars(request).pop(name, None)
