from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.enums import ErrorCode

_PROBLEM = {
    "type": "object",
    "required": ["field", "problem"],
    "properties": {
        "field": {"type": "string", "description": "Where: `items[3].text`, a header's name, or `body`"},
        "problem": {"type": "string", "description": "What is wrong with it"},
    },
}


@extend_schema_field({"anyOf": [{"type": "array", "items": _PROBLEM}, {"type": "object"}, {"type": "null"}]})
class ErrorDetailField(serializers.Field):
    """Details of an error, written as they are."""

    def to_representation(self, value: Any) -> Any:
        return value


class ErrorBodySerializer(serializers.Serializer):
    code = serializers.ChoiceField(ErrorCode.choices)
    message = serializers.CharField(help_text="What is wrong and how to mend it")
    detail = ErrorDetailField(
        help_text="Of a request with wrong fields each of them; else what belongs to the code, or null"
    )
    request_id = serializers.CharField(allow_blank=True, help_text="Names the request in the server's log")


class ErrorSerializer(serializers.Serializer):
    """The error shape of every route."""

    error = ErrorBodySerializer()


class OpenAIErrorBodySerializer(serializers.Serializer):
    """An error in the form of OpenAI's API. MemOS sets all of these fields; a provider's error is passed on."""

    open_fields = True
    message = serializers.CharField(help_text="What is wrong and how to mend it")
    type = serializers.CharField(
        required=False, allow_null=True, help_text="The kind of error, as OpenAI's clients sort it"
    )
    param = serializers.CharField(required=False, allow_null=True, help_text="The field that is wrong")
    code = serializers.JSONField(required=False, help_text="One of ErrorCodeEnum, or the provider's")
    detail = ErrorDetailField(required=False)
    request_id = serializers.CharField(required=False, help_text="Names the request in the server's log")


class OpenAIErrorSerializer(serializers.Serializer):
    error = OpenAIErrorBodySerializer()
