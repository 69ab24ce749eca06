from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import StrictCharField, StrictIntegerField

# OpenAI's API has the same limit.
MAX_TEXTS = 2_048


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_TEXTS,
                "items": {"type": "string", "minLength": 1},
            },
        ]
    }
)
class TextsField(serializers.Field):
    """A text, or a list of texts."""

    default_error_messages = {
        "required": "is missing.",
        "null": "must not be null.",
        "invalid": "must be a text or a list of texts.",
        "empty": "must not be empty.",
        "too_many": f"has more than {MAX_TEXTS} texts.",
        "tokens": "holds tokens of another model, which say nothing to this one: send texts (LangChain's "
        "OpenAIEmbeddings: `check_embedding_ctx_length=False`).",
    }

    def to_internal_value(self, data: Any) -> list[str]:
        texts = [data] if isinstance(data, str) else data
        if not isinstance(texts, list):
            self.fail("invalid")
        if len(texts) > MAX_TEXTS:
            self.fail("too_many")
        if any(isinstance(text, int | list) for text in texts):
            self.fail("tokens")
        if not all(isinstance(text, str) for text in texts):
            self.fail("invalid")
        if not texts or not all(texts):
            self.fail("empty")
        return list(texts)


class EmbeddingRequestSerializer(serializers.Serializer):
    """Texts to embed, in the form of OpenAI's API. Fields that are not listed are accepted and have no effect."""

    input = TextsField()
    model = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="The model that search uses, by its name; left out or `default`: the same",
    )
    encoding_format = serializers.ChoiceField(
        ["float", "base64"],
        required=False,
        default="float",
        help_text="base64: little-endian 32-bit floats",
    )
    dimensions = StrictIntegerField(
        required=False, allow_null=True, min_value=1, default=None, help_text="Those of the model; others are refused"
    )


@extend_schema_field({"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]})
class VectorField(serializers.Field):
    def to_representation(self, value: Any) -> Any:
        return value


class EmbeddingSerializer(serializers.Serializer):
    object = serializers.CharField()
    index = serializers.IntegerField()
    embedding = VectorField()


class EmbeddingUsageSerializer(serializers.Serializer):
    prompt_tokens = serializers.IntegerField(help_text="As the server's tokenizer counts")
    total_tokens = serializers.IntegerField()


class EmbeddingListSerializer(serializers.Serializer):
    object = serializers.CharField()
    data = EmbeddingSerializer(many=True)  # type: ignore[assignment]
    model = serializers.CharField()
    usage = EmbeddingUsageSerializer()
