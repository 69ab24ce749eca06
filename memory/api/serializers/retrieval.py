from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import ClampedIntegerField, DegradedField, StrictCharField, StrictNumberField
from memory.api.message_fields import MAX_TEXT_CHARS
from memory.api.serializers.errors import ErrorBodySerializer
from memory.api.serializers.pack import HitMetadataSerializer
from memory.retrieval.filters import Filter, FilterError
from memory.retrieval.metadata_condition import COMPARISONS, MetadataCondition, to_filter

MAX_TOP_K = 50


@extend_schema_field(
    {
        "anyOf": [
            {"type": "string"},
            {"type": "number"},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
            {"type": "null"},
        ]
    }
)
class ComparedValueField(serializers.Field):
    """The value that a metadata condition compares with. It is validated as part of the filter that is made from it."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class MetadataComparisonSerializer(serializers.Serializer):
    name = StrictCharField(
        min_length=1, max_length=400, help_text="A key of the metadata, or a field that every memory has"
    )
    comparison_operator = serializers.ChoiceField(COMPARISONS)
    value = ComparedValueField(required=False, allow_null=True, default=None)


class MetadataConditionSerializer(serializers.Serializer):
    """The memories to search, in Dify's form."""

    logical_operator = serializers.ChoiceField(["and", "or"], required=False, default="and")
    conditions = MetadataComparisonSerializer(many=True)


class RetrievalSettingSerializer(serializers.Serializer):
    top_k = ClampedIntegerField(1, MAX_TOP_K)
    score_threshold = StrictNumberField(
        min_value=0, max_value=1, required=False, allow_null=True, default=0, help_text="The least `score` of a record"
    )


class RetrievalSerializer(serializers.Serializer):
    """A question in the form of Dify's External Knowledge API."""

    knowledge_id = StrictCharField(min_length=1, max_length=128, help_text="The namespace")
    query = StrictCharField(
        min_length=1, max_length=MAX_TEXT_CHARS, help_text="Of more than 2,000 characters the first 2,000 are looked up"
    )
    retrieval_setting = RetrievalSettingSerializer()
    metadata_condition = MetadataConditionSerializer(required=False, allow_null=True, default=None)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Add `filter`, the metadata condition as a filter of MemOS."""
        return {**values, "filter": _filter_of(values["metadata_condition"])}


def _filter_of(said: Mapping[str, Any] | None) -> Filter | None:
    if said is None:
        return None
    conditions = [
        MetadataCondition(one["name"], one["comparison_operator"], one["value"]) for one in said["conditions"]
    ]
    try:
        return to_filter(conditions, any_of=said["logical_operator"] == "or")
    except FilterError as error:
        raise serializers.ValidationError({"metadata_condition": {error.place: error.problem}}) from error


class RecordSerializer(serializers.Serializer):
    content = serializers.CharField(help_text="What the memory says")
    score = serializers.FloatField(help_text="Its relevance: how likely it is what the question looks for, 0 to 1")
    title = serializers.CharField(help_text="Of a document its title, else its id; of a turn its session")
    metadata = HitMetadataSerializer()


class RecordsSerializer(serializers.Serializer):
    records = RecordSerializer(many=True, help_text="Best first")
    degraded = DegradedField()


class KnowledgeErrorSerializer(serializers.Serializer):
    """An error in the form of Dify's External Knowledge API, together with the error that every route has."""

    error_code = serializers.IntegerField(
        required=False,
        help_text="1001: no key, or not as `Bearer`; 1002: the key is not valid or may not read; 2001: no such "
        "namespace within its reach; else the HTTP status",
    )
    error_msg = serializers.CharField(required=False, help_text="What is wrong and how to mend it")
    error = ErrorBodySerializer()
