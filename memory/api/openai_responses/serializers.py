from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField
from memory.api.serializers.completions import CUBES, MAX_MESSAGES, NAMESPACE, SESSION

_ITEMS = {"type": "array", "maxItems": MAX_MESSAGES, "items": {"type": "object"}}


@extend_schema_field({"oneOf": [{"type": "string", "minLength": 1}, {**_ITEMS, "minItems": 1}]})
class InputField(serializers.Field):
    """A text, or items: messages, tool calls and their outputs, references to items of earlier responses."""

    default_error_messages = {
        "required": "is missing.",
        "null": "must not be null.",
        "invalid": "must be a text or a list of items.",
        "empty": "must not be empty.",
        "too_many": f"has more than {MAX_MESSAGES} items.",
        "item": "must be an object.",
    }

    def to_internal_value(self, data: Any) -> str | list[dict[str, Any]]:
        if not isinstance(data, str | list):
            self.fail("invalid")
        if not data:
            self.fail("empty")
        if isinstance(data, str):
            return data
        if len(data) > MAX_MESSAGES:
            self.fail("too_many")
        for place, item in enumerate(data):
            if not isinstance(item, dict):
                raise serializers.ValidationError({place: self.error_messages["item"]})  # type: ignore[dict-item]
        return data


@extend_schema_field({"type": "object", "additionalProperties": {}})
class ObjectField(serializers.Field):
    """A JSON object whose fields another API defines."""

    default_error_messages = {"invalid": "must be an object."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        return dict(data)


@extend_schema_field({"type": "array", "items": {"type": "object"}})
class ObjectsField(serializers.Field):
    """A list of JSON objects whose fields another API defines."""

    default_error_messages = {"invalid": "must be a list of objects."}

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            self.fail("invalid")
        return list(data)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1, "maxLength": 128},
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "maxLength": 128}}},
        ]
    }
)
class ConversationField(serializers.Field):
    """The id of a conversation, or an object with that `id`."""

    default_error_messages = {"invalid": "must be an id of 1 to 128 characters, or an object with one."}

    def to_internal_value(self, data: Any) -> str:
        named = data.get("id") if isinstance(data, dict) else data
        if not isinstance(named, str) or not 1 <= len(named) <= 128 or "\0" in named:
            self.fail("invalid")
        return str(named)


class ResponseSerializer(serializers.Serializer):
    """A response of OpenAI's API. Fields that are not listed are accepted and have no effect."""

    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="`provider/model` as `/v1/models` lists it; left out or `default`: the first of them",
    )
    input = InputField()
    instructions = StrictCharField(required=False, allow_null=True, allow_blank=True, default=None)
    previous_response_id = StrictCharField(
        required=False, allow_null=True, max_length=200, default=None, help_text="The response that this goes on from"
    )
    conversation = ConversationField(
        required=False,
        allow_null=True,
        default=None,
        help_text="The session that this belongs to, which goes on from its latest response",
    )
    store = StrictBooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="false: the response cannot be gone on from. What is said is remembered all the same",
    )
    stream = StrictBooleanField(required=False, allow_null=True, default=False)
    background = StrictBooleanField(required=False, allow_null=True, default=False, help_text="true is refused")
    max_output_tokens = StrictIntegerField(required=False, allow_null=True, min_value=1, default=None)
    tools = ObjectsField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Functions, custom tools and namespaces of them. Tools that OpenAI itself runs are left out",
    )
    tool_choice = serializers.JSONField(required=False, allow_null=True, default=None)
    text = ObjectField(required=False, allow_null=True, default=None)
    reasoning = ObjectField(required=False, allow_null=True, default=None)
    user = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=512, default=None)
    safety_identifier = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=512, default=None, help_text="As `user`"
    )
    metadata = ObjectField(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"`{NAMESPACE}`, `{SESSION}` and `{CUBES}`, where no header names them",
    )


class DeletedResponseSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = serializers.ChoiceField(["response"])
    deleted = serializers.BooleanField()
