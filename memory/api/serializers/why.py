from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import StrictUUIDField
from memory.api.serializers.query import QuestionFields
from memory.enums import Verdict


class WhySerializer(QuestionFields):
    """A question, and a memory that might have answered it."""

    memory_id = StrictUUIDField()


class DiagnosisSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    reason = serializers.CharField(help_text="The verdict in a sentence, with its numbers")
    rank = serializers.IntegerField(
        allow_null=True, help_text="Place among the hits (`returned`) or among the candidates; null for no candidate"
    )
    score = serializers.FloatField(allow_null=True, help_text="The sum of `parts`; null for no candidate")
    parts = serializers.DictField(help_text="`arms` and `signals` as in a hit's explanation; empty for no candidate")
    details = serializers.DictField(help_text="What belongs to the verdict: numbers, the other memory, failed entries")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="`no_vector`: its vector is still to come; words only find it"
    )
    degraded = serializers.ListField(child=serializers.CharField())
