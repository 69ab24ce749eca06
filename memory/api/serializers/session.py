from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import DegradedField, StrictBooleanField, StrictCharField


class ResetSerializer(serializers.Serializer):
    """A session to empty. Without `confirm` the request is refused."""

    namespace = StrictCharField(min_length=1, max_length=128)
    session_id = StrictCharField(min_length=1, max_length=128)
    confirm = StrictBooleanField(required=False, default=False)
    dry_run = StrictBooleanField(required=False, default=False, help_text="Only count")
    clear_audit = StrictBooleanField(
        required=False, default=False, help_text="Hide the session's earlier audit events from its listing"
    )


class DeletedCountsSerializer(serializers.Serializer):
    redis_keys = serializers.IntegerField()
    memories = serializers.IntegerField(help_text="With the chunks of the documents")
    documents = serializers.IntegerField()
    condensations = serializers.IntegerField()
    context_packs = serializers.IntegerField()
    quarantined = serializers.IntegerField(help_text="Quarantined texts that were waiting for a decision")
    audit = serializers.IntegerField()


class ResetDoneSerializer(serializers.Serializer):
    ok = serializers.BooleanField()
    dry_run = serializers.BooleanField()
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    reset_at = serializers.DateTimeField()
    deleted_counts = DeletedCountsSerializer()
    degraded = DegradedField(help_text="`namespace_unknown`: there is no such namespace")


class SeedSerializer(serializers.Serializer):
    """Query parameters of the demo seed."""

    namespace = serializers.CharField(min_length=1, max_length=128, default="Demo", trim_whitespace=False)
    session_id = serializers.CharField(min_length=1, max_length=128, default="demo-session", trim_whitespace=False)
    reset = serializers.BooleanField(default=False, help_text="Empty the session first")


class SeededSerializer(serializers.Serializer):
    ok = serializers.BooleanField()
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    inserted = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.UUIDField())
