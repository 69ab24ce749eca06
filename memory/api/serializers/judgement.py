from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import StrictBooleanField, StrictCharField


class MarkSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    relevant = StrictBooleanField(help_text="Whether the memory answers the question")


class JudgementsSerializer(serializers.Serializer):
    """Relevance marks for the hits of a question. Either all of them are stored or none."""

    namespace = StrictCharField(min_length=1, max_length=128)
    query = StrictCharField(min_length=1, max_length=2000, help_text="The question, as it was asked")
    marks: serializers.ListSerializer = serializers.ListSerializer(
        child=MarkSerializer(),
        min_length=1,
        max_length=200,
        error_messages={
            "not_a_list": "must be a list.",
            "required": "is missing.",
            "max_length": "has more than {max_length} items.",
            "min_length": "must not be empty.",
        },
    )


class JudgedSerializer(serializers.Serializer):
    ids = serializers.ListField(child=serializers.UUIDField(), help_text="In the order of the marks")


class JudgementSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    query = serializers.CharField()
    memory_id = serializers.UUIDField()
    relevant = serializers.BooleanField()
    actor = serializers.CharField()
    created_at = serializers.DateTimeField(help_text="When it was marked last")


class JudgementListSerializer(serializers.Serializer):
    judgements = JudgementSerializer(many=True)
