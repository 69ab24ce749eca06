"""Shapes errors as Dify's External Knowledge API does, and keeps the fields that every MemOS error has."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from memory.api.errors import exception_handler

NO_BEARER, REFUSED, UNKNOWN_KNOWLEDGE = 1001, 1002, 2001


def knowledge_exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Handle an error on the route for Dify, as a hook of DRF."""
    answered = exception_handler(error, context)
    if answered is None:
        return None
    body = orjson.loads(answered.content)
    code = _code_of(context["request"]._request, answered.status_code)
    answered.content = orjson.dumps({"error_code": code, "error_msg": body["error"]["message"], **body})
    return answered


def _code_of(request: HttpRequest, status: int) -> int:
    """Return Dify's code for the error if it has one, else the HTTP status."""
    if status == 401:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return REFUSED if scheme.lower() == "bearer" and token.strip() else NO_BEARER
    return {403: REFUSED, 404: UNKNOWN_KNOWLEDGE}.get(status, status)
