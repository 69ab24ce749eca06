from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import DegradedField
from memory.api.serializers.explanation import DroppedSerializer, ExplanationSerializer
from memory.api.serializers.pack import ChunkSerializer
from memory.api.serializers.query import ANSWERABLE_HELP, RetrievalFields


class SearchSerializer(RetrievalFields):
    """A question to a namespace's memory, of no session."""


class HitSerializer(ChunkSerializer):
    explanation = ExplanationSerializer()


class FoundSerializer(serializers.Serializer):
    hits = HitSerializer(many=True, help_text="Best first")
    answerable = serializers.BooleanField(help_text=ANSWERABLE_HELP)
    dropped = DroppedSerializer(many=True, help_text="With `explain`: up to 20 candidates that did not come back")
    weights = serializers.DictField(child=serializers.FloatField(), help_text="What each arm counts for this question")
    milliseconds = serializers.DictField(child=serializers.FloatField(), help_text="What each step took")
    dry_run = serializers.BooleanField()
    degraded = DegradedField()
