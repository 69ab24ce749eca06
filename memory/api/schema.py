"""What the OpenAPI document says of every route: the key, the error shape, the idempotency header."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

_REFUSALS = {
    400: "The request is wrong: `detail` says which field and why.",
    401: "No key, or one that is not valid.",
    403: "The key lacks the scope.",
    404: "No such thing within the key's reach.",
    409: "The request contradicts an earlier one.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "More requests than the key's limit; Retry-After says when to come again.",
    503: "Something MemOS needs does not answer.",
}


class ErrorDetailSerializer(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()
    detail = serializers.JSONField(allow_null=True)
    request_id = serializers.CharField()


class ErrorSerializer(serializers.Serializer):
    """Every error of every route."""

    error = ErrorDetailSerializer()


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


class MemosSchema(AutoSchema):
    """Adds the refusals that any route may answer."""

    def get_response_serializers(self) -> Any:
        declared = super().get_response_serializers()
        responses = dict(declared) if isinstance(declared, dict) else {200: declared}
        for status, meaning in _REFUSALS.items():
            responses.setdefault(status, OpenApiResponse(ErrorSerializer, description=meaning))
        return responses
