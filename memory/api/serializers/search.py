from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from memory.api.fields import DegradedField, StrictCharField
from memory.api.serializers.errors import ErrorBodySerializer
from memory.api.serializers.explanation import DroppedSerializer, ExplanationSerializer
from memory.api.serializers.pack import ChunkSerializer
from memory.api.serializers.query import ANSWERABLE_HELP, CubesField, RetrievalFields


class SearchSerializer(RetrievalFields):
    """A question to a namespace's memory, outside of any session."""


class SearchAcrossSerializer(RetrievalFields):
    """A question to a namespace's memory, to cubes, or to both."""

    namespace = StrictCharField(
        required=False, min_length=1, max_length=128, help_text="May be left out where `cubes` names some"
    )
    cubes = CubesField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "namespace" not in attrs and not attrs["cubes"]:
            raise serializers.ValidationError({"namespace": "is missing: name a namespace, or cubes."})
        return attrs


class HitSerializer(ChunkSerializer):
    explanation = ExplanationSerializer(
        help_text="Of a search of several cubes, `rank` and `final` are those within the cube"
    )


class FoundSerializer(serializers.Serializer):
    hits = HitSerializer(many=True, help_text="Best first")
    answerable = serializers.BooleanField(help_text=ANSWERABLE_HELP)
    dropped = DroppedSerializer(many=True, help_text="With `explain`: up to 20 candidates that did not come back")
    weights = serializers.DictField(child=serializers.FloatField(), help_text="What each arm counts for this question")
    milliseconds = serializers.DictField(child=serializers.FloatField(), help_text="What each step took")
    dry_run = serializers.BooleanField()
    degraded = DegradedField()


MAX_QUESTIONS = 50


class BatchQuestionSerializer(RetrievalFields):
    """A question of a batch. Fields that are left out are taken from `defaults`."""

    namespace = StrictCharField(
        required=False, min_length=1, max_length=128, help_text="Needed where `defaults` has none"
    )


class SearchDefaultsSerializer(BatchQuestionSerializer):
    """Defaults for the questions of a batch."""

    query = None  # type: ignore[assignment]


class QuestionsField(serializers.ListField):
    """1 to MAX_QUESTIONS questions as they were sent. Each is validated only when it is answered."""

    default_error_messages = {
        "not_a_list": "must be a list.",
        "required": "is missing.",
        "min_length": "must not be empty.",
        "max_length": "has more than {max_length} questions.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(min_length=1, max_length=MAX_QUESTIONS, **options)


class QuestionsSchema(OpenApiSerializerFieldExtension):
    target_class = QuestionsField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        question = auto_schema.resolve_serializer(BatchQuestionSerializer, direction).ref
        other = {"description": "Whatever else is sent gets an error of its own"}
        items = {"anyOf": [question, other]}
        return {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_QUESTIONS}


class SearchBatchSerializer(serializers.Serializer):
    """Up to 50 questions, each with its own namespace."""

    questions = QuestionsField(help_text="Each with the fields of POST /v1/search")
    defaults = SearchDefaultsSerializer(required=False)


class SearchOutcomeSerializer(serializers.Serializer):
    """The answer that POST /v1/search would have given to the question."""

    status = serializers.IntegerField(help_text="200, or the status of its error")
    found = FoundSerializer(allow_null=True, help_text="null: there is an error")
    error = ErrorBodySerializer(allow_null=True, help_text="null: there is none")


class FoundBatchSerializer(serializers.Serializer):
    results = SearchOutcomeSerializer(many=True, help_text="In the order of the questions")
    degraded = DegradedField(help_text="What concerns all of them; what one of them lacks stands in its `found`")
