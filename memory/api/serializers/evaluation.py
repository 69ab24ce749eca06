from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers

from memory.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField, StrictUUIDField
from memory.enums import EvaluationStatus
from memory.services.evaluation.runs import DEFAULT_TOP_K, Options


def _names(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=StrictCharField(min_length=1, max_length=200),
        required=False,
        default=list,
        max_length=100,
        help_text=help_text,
    )


class EvaluationSerializer(serializers.Serializer):
    """An evaluation of a dataset, or of a namespace by its own judgements."""

    dataset = StrictCharField(
        required=False,
        default="",
        min_length=1,
        max_length=100,
        help_text="A folder in `datasets` of the server's data folder",
    )
    namespace = StrictCharField(
        required=False, default="", min_length=1, max_length=128, help_text="Asked the questions that were judged in it"
    )
    label = StrictCharField(  # type: ignore[assignment]
        required=False, default="", allow_blank=True, max_length=100, help_text="Your own name for the run"
    )
    top_k = StrictIntegerField(
        required=False, default=DEFAULT_TOP_K, min_value=20, max_value=100, help_text="Hits a question"
    )
    types = _names("Ask only the dataset's questions of these types")
    groups = _names("Ask only these groups of the dataset")
    arms = StrictBooleanField(required=False, default=False, help_text="Measure every search arm alone as well")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["dataset"]) == bool(attrs["namespace"]):
            raise serializers.ValidationError({"dataset": "name either a dataset or a namespace."})
        if attrs["namespace"] and (attrs["types"] or attrs["groups"]):
            raise serializers.ValidationError({"types": "types and groups belong to a dataset."})
        return attrs

    @staticmethod
    def options_of(values: dict[str, Any]) -> Options:
        """Return the validated values in the form that services expect."""
        return Options(values["top_k"], tuple(values["types"]), tuple(values["groups"]), values["arms"])


class EvaluationListingSerializer(serializers.Serializer):
    """Query parameters of the lists. Empty ones do not narrow them."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class EvaluationDetailSerializer(serializers.Serializer):
    include_results = serializers.BooleanField(default=False, help_text="Give what each question scored")


class CompareSerializer(serializers.Serializer):
    base = StrictUUIDField(help_text="The run to compare with")
    run = StrictUUIDField(help_text="The run in question")
    tolerance = serializers.FloatField(
        min_value=0, max_value=100, default=0, help_text="Points that a run may be worse before it is a regression"
    )

    def validate_tolerance(self, value: float) -> float:
        if math.isnan(value):
            raise serializers.ValidationError("must be a number from 0 to 100.")
        return value


class EvaluationOptionsSerializer(serializers.Serializer):
    top_k = serializers.IntegerField()
    types = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    arms = serializers.BooleanField()


class EvaluationRunSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(EvaluationStatus.choices)
    namespace = serializers.CharField(allow_null=True)
    dataset = serializers.CharField(allow_null=True)
    label = serializers.CharField()  # type: ignore[assignment]
    options = EvaluationOptionsSerializer()
    content_digest = serializers.CharField(help_text="Equal for runs over the same documents, questions and evidence")
    configuration = serializers.DictField(help_text="Version, embedding model, mean weights of the arms, settings")
    metrics = serializers.DictField(help_text="Shares from 0 to 1; empty until the run is finished")
    notes = serializers.ListField(child=serializers.CharField(), help_text="What was left out or cut")
    error = serializers.CharField(help_text="Why a failed run failed")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class EvaluationResultSerializer(serializers.Serializer):
    group = serializers.CharField()
    query_id = serializers.CharField()
    type = serializers.CharField()
    fingerprint = serializers.CharField(help_text="Equal for the same question with the same evidence")
    metrics = serializers.DictField()
    context_tokens = serializers.IntegerField()
    milliseconds = serializers.FloatField()


class EvaluationRunDetailSerializer(EvaluationRunSerializer):
    results = EvaluationResultSerializer(many=True, allow_null=True, help_text="Null unless asked for")


class EvaluationListSerializer(serializers.Serializer):
    evaluations = EvaluationRunSerializer(many=True)


class ComparedSerializer(serializers.Serializer):
    base = serializers.FloatField()
    run = serializers.FloatField()
    difference = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class ComparisonSerializer(serializers.Serializer):
    base = serializers.UUIDField()
    run = serializers.UUIDField()
    questions = serializers.IntegerField(help_text="Asked by both, with the same evidence")
    only_in_base = serializers.IntegerField()
    only_in_run = serializers.IntegerField()
    same_content = serializers.BooleanField(help_text="Both measured the very same documents and questions")
    confidence = serializers.FloatField()
    resamples = serializers.IntegerField()
    metrics = serializers.DictField(child=ComparedSerializer())
    regressions = serializers.ListField(
        child=serializers.CharField(), help_text="Those of R@10 and MRR that are surely worse than the tolerance"
    )
