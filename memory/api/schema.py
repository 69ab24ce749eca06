"""What the OpenAPI document says of every route: the key, the error shape, the idempotency header."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

_REFUSALS = {
    400: "The request is wrong: `detail` says which field and why.",
    401: "No key, or one that is not valid.",
    403: "The key lacks the scope.",
    404: "No such thing within the key's reach.",
    405: "The route does not know the method.",
    409: "The request contradicts an earlier one.",
    411: "The body has no length, and the web server reads no chunks.",
    412: "The memory was changed since it was read: the ETag is another.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "More requests than the key's limit, or `budget_exceeded`; Retry-After says when to come again.",
    503: "Something MemOS needs does not answer.",
}


_ERROR = {
    "type": "object",
    "description": "Every error of every route.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "detail", "request_id"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string", "description": "What is wrong and how to mend it"},
                "detail": {"description": "For wrong fields a list of {field, problem}; else null or what helps"},
                "request_id": {"type": "string", "description": "Names the request in the server's log"},
            },
        }
    },
}


class BearerKey(OpenApiAuthenticationExtension):
    target_class = "memory.api.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer mos_…`"}


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[\x21-\x7e]+$"},
    OpenApiParameter.HEADER,
    description="Same key and same body: the same answer, stored once. Same key and another body: 409.",
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string"},
    OpenApiParameter.HEADER,
    description="The ETag of what was read: the change is made only if it is still that, else 412.",
)


# One event of a stream, as it is read.
_SERVER_SENT_EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["data"],
}


def event_stream_of(events: str) -> dict[tuple[int, str], OpenApiResponse]:
    """The responses of a route that sends server-sent events; `events` says which."""
    return {(200, "text/event-stream"): OpenApiResponse(_SERVER_SENT_EVENT, description=events)}


def add_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's postprocessing hook: every route may answer every refusal, in one shape."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = _ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, meaning in _REFUSALS.items():
                operation["responses"].setdefault(str(status), {"description": meaning, "content": content})
    return result
