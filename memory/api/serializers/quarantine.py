from __future__ import annotations

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import DegradedField, StrictCharField
from memory.enums import DocumentFormat, QuarantineState, Role


class QuarantineListingSerializer(serializers.Serializer):
    """Query parameters of the list."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    state = serializers.ChoiceField(QuarantineState.choices, required=False, allow_blank=True, default="")
    rule = serializers.CharField(
        default="", allow_blank=True, max_length=60, help_text="The first rule: injection.override"
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("quarantine")


class ReviewSerializer(serializers.Serializer):
    """A reviewer's decision."""

    note = StrictCharField(
        required=False, allow_blank=True, max_length=300, default="", help_text="Why: kept with the item and audited"
    )


class QuarantineReasonSerializer(serializers.Serializer):
    rule = serializers.CharField()
    says = serializers.CharField()
    score = serializers.FloatField(help_text="How sure the rule is, 0 to 1")
    spans = serializers.IntegerField(help_text="Places of the text where it applies")


class QuarantinedDocumentSerializer(serializers.Serializer):
    document_id = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    format = serializers.ChoiceField(DocumentFormat.choices)


class QuarantinedSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="The memory keeps it when the item is released")
    namespace = serializers.CharField()
    session_id = serializers.CharField(allow_null=True)
    role = serializers.ChoiceField(Role.choices)
    speaker = serializers.CharField(allow_blank=True)
    document = QuarantinedDocumentSerializer(allow_null=True, help_text="null: it is a turn")
    characters = serializers.IntegerField()
    rule = serializers.CharField(help_text="The first of the reasons")
    reasons = QuarantineReasonSerializer(many=True)
    confidence = serializers.FloatField(help_text="How sure the gate is of its verdict, 0 to 1")
    state = serializers.ChoiceField(QuarantineState.choices)
    reviewer = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    reviewed_at = serializers.DateTimeField(allow_null=True)
    occurred_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()


class QuarantinedRowSerializer(QuarantinedSerializer):
    excerpt = serializers.CharField(allow_blank=True, help_text="Up to 200 characters; empty once it is decided")


class QuarantineListSerializer(serializers.Serializer):
    items = QuarantinedRowSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class QuarantinedWholeSerializer(QuarantinedSerializer):
    text = serializers.CharField(allow_blank=True, help_text="Redacted where the policy says so; empty once decided")
    metadata = serializers.DictField()


class ReviewedSerializer(QuarantinedWholeSerializer):
    degraded = DegradedField(help_text="As of the ingest")
