from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField
from memory.api.openai_responses.serializers import ObjectField, ObjectsField
from memory.api.serializers.completions import CUBES, NAMESPACE, SESSION, MessagesField
from memory.api.serializers.errors import OpenAIErrorBodySerializer


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]})
class SystemField(serializers.Field):
    """A system prompt: a string or a list of text blocks."""

    default_error_messages = {"invalid": "must be a text or a list of blocks."}

    def to_internal_value(self, data: object) -> object:
        if not isinstance(data, str | list):
            self.fail("invalid")
        return data


class CountedMessagesSerializer(serializers.Serializer):
    """Messages of Anthropic's API whose tokens are counted. Fields that are not listed are accepted and ignored."""

    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="`provider/model` as `/v1/models` lists it; left out or `default`: the first of them",
    )
    messages = MessagesField()
    system = SystemField(required=False, allow_null=True, default=None)
    tools = ObjectsField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Tools with an `input_schema`. Those that Anthropic itself runs are left out",
    )
    tool_choice = ObjectField(required=False, allow_null=True, default=None)
    thinking = ObjectField(required=False, allow_null=True, default=None)
    output_config = ObjectField(required=False, allow_null=True, default=None)


class AnthropicMessageSerializer(CountedMessagesSerializer):
    """A message of Anthropic's API. Fields that are not listed are accepted and have no effect."""

    max_tokens = StrictIntegerField(min_value=1, help_text="How long the answer may be")
    stream = StrictBooleanField(required=False, allow_null=True, default=False)
    stop_sequences = serializers.ListField(child=StrictCharField(), required=False, allow_null=True, default=None)
    metadata = ObjectField(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"`user_id`: who is served. `{NAMESPACE}`, `{SESSION}` and `{CUBES}`, where no header names them",
    )


class TokenCountSerializer(serializers.Serializer):
    input_tokens = serializers.IntegerField(help_text="As the server's tokenizer counts, without what MemOS adds")


class AnthropicErrorSerializer(serializers.Serializer):
    type = serializers.CharField(
        required=False, help_text="`error`; left out where a request is refused before it has a route"
    )
    error = OpenAIErrorBodySerializer()


class ModelPageSerializer(serializers.Serializer):
    after_id = StrictCharField(required=False, default="", help_text="With `Anthropic-Version`: the page behind it")
    before_id = StrictCharField(required=False, default="", help_text="With `Anthropic-Version`: the page before it")
    limit = serializers.IntegerField(
        min_value=1, max_value=1_000, default=20, help_text="With `Anthropic-Version`: models of a page"
    )


class AnthropicModelSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["model"])
    id = serializers.CharField(help_text="`provider/model`")
    display_name = serializers.CharField()
    created_at = serializers.DateTimeField(help_text="1970: it is not known")
    lifecycle = serializers.ChoiceField(["active"])


class AnthropicModelListSerializer(serializers.Serializer):
    data = AnthropicModelSerializer(many=True)  # type: ignore[assignment]
    has_more = serializers.BooleanField()
    first_id = serializers.CharField(allow_null=True)
    last_id = serializers.CharField(allow_null=True)
