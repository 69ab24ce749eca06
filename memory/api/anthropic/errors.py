"""Shapes errors as Anthropic's API does, and keeps the fields that every MemOS error has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from django.http import HttpResponse

from memory.api.openai_errors import openai_exception_handler

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def anthropic_exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Handle an error on Anthropic's routes, as DRF's hook. A provider's own error takes Anthropic's shape too."""
    answered = openai_exception_handler(error, context)
    if answered is not None:
        said = orjson.loads(answered.content)["error"]
        answered.content = orjson.dumps(to_anthropic(said, answered.status_code))
    return answered


def to_anthropic(error: Mapping[str, Any] | str, status: int) -> dict[str, Any]:
    """Return an error in OpenAI's shape with the `type` that Anthropic's clients look for."""
    said = {"message": error} if isinstance(error, str) else error
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {**said, "type": kind}}
