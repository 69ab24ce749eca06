from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import StrictBooleanField, StrictCharField

MAX_MESSAGES = 10_000
NAMESPACE, SESSION, CUBES = "memos_namespace", "memos_session", "memos_cubes"


@extend_schema_field(
    {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_MESSAGES,
        "items": {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}}},
        "description": "As the model takes them. The text of the user's last one is looked up and remembered",
    }
)
class MessagesField(serializers.Field):
    """Messages of a chat, the last of which is to be answered. Their content is not checked here but by the model."""

    default_error_messages = {
        "required": "is missing.",
        "invalid": "must be a list of messages.",
        "empty": "must not be empty.",
        "too_many": f"has more than {MAX_MESSAGES} messages.",
        "message": "must be an object with a `role`.",
    }

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if not isinstance(data, list):
            self.fail("invalid")
        if not data:
            self.fail("empty")
        if len(data) > MAX_MESSAGES:
            self.fail("too_many")
        for place, message in enumerate(data):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise serializers.ValidationError({place: self.error_messages["message"]})  # type: ignore[dict-item]
        return list(data)


class ChatCompletionSerializer(serializers.Serializer):
    """A chat completion of OpenAI's API. Other fields are passed on to the model unchanged."""

    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="`provider/model` as `/v1/models` lists it; left out or `default`: the first of them",
    )
    messages = MessagesField()
    stream = StrictBooleanField(required=False, allow_null=True, default=False)
    user = StrictCharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=512,
        default=None,
        help_text="Who is served: where nothing names a session, each user has one",
    )
    metadata = serializers.DictField(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"`{NAMESPACE}`, `{SESSION}` and `{CUBES}`, where no header names them, stay here; others are passed "
        "on",
    )


class ModelSerializer(serializers.Serializer):
    id = serializers.CharField(help_text="`provider/model`")
    object = serializers.CharField()
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class ModelListSerializer(serializers.Serializer):
    object = serializers.CharField()
    data = ModelSerializer(many=True)  # type: ignore[assignment]
