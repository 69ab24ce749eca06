from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import DegradedField, StrictCharField
from memory.api.serializers.documents import MAX_TEXT_CHARS
from memory.api.serializers.ingest import GateReasonSerializer
from memory.enums import GateDecision
from memory.services.recall.protocol import COLD, HOT


class ContentSerializer(serializers.Serializer):
    """A content to remember."""

    group_id = StrictCharField(min_length=1, max_length=128, help_text="The namespace")
    content = StrictCharField(
        min_length=1, max_length=MAX_TEXT_CHARS, help_text="More than 1,000 characters are kept as a document"
    )


class TakenInSerializer(serializers.Serializer):
    accepted = serializers.BooleanField(help_text="Whether it can be found now")
    verdict = serializers.ChoiceField(GateDecision.choices)
    memory_id = serializers.UUIDField(
        allow_null=True, help_text="Of what is quarantined the item's; null for a document and when rejected"
    )
    document_id = serializers.CharField(allow_null=True, help_text="null for a turn and when rejected")
    reasons = GateReasonSerializer(many=True)
    degraded = DegradedField()


class GroupQuerySerializer(serializers.Serializer):
    """A question to a group's memory."""

    group_id = StrictCharField(min_length=1, max_length=128, help_text="The namespace")
    query = StrictCharField(min_length=1, max_length=2000)


class RecalledSerializer(serializers.Serializer):
    content = serializers.CharField()
    source = serializers.ChoiceField(  # type: ignore[assignment]
        [HOT, COLD], help_text="hot: of working memory, newest first; cold: of long-term memory, nearest first"
    )
    score = serializers.FloatField(help_text="1 for hot, 1 - cosine distance for cold")
    why = serializers.CharField(
        help_text="How it came in: new, asked for again and again (by which session, how often), or nearest by meaning"
    )


class RecallSerializer(serializers.Serializer):
    results = RecalledSerializer(many=True)
    degraded = DegradedField(help_text="`namespace_unknown`: there is no such group")
