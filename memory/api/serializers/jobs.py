from __future__ import annotations

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictCharField
from memory.enums import JobPriority, JobState
from memory.services.jobs.manage import MAX_REASON_CHARS


class JobListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    kind = serializers.CharField(default="", allow_blank=True, max_length=64, trim_whitespace=False)
    state = serializers.ChoiceField(JobState.choices, default="", allow_blank=True)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("jobs")


class DiscardSerializer(serializers.Serializer):
    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS, help_text="Why nobody needs it any more")

    def validate_reason(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("must hold more than white space.")
        return value


class JobErrorSerializer(serializers.Serializer):
    type = serializers.CharField()
    message = serializers.CharField(help_text="Its first line; what it quotes is left out")


class JobProgressSerializer(serializers.Serializer):
    done = serializers.IntegerField()
    total = serializers.IntegerField()


class JobSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    namespace = serializers.CharField(allow_null=True, help_text="Null for a job of the whole system")
    schedule = serializers.CharField(allow_null=True, help_text="What the clock runs it as")
    subject = serializers.ListField(child=serializers.CharField(), help_text="Ids and names, never text")
    priority = serializers.ChoiceField(JobPriority.labels, help_text="interactive goes first, bulk last")
    state = serializers.ChoiceField(JobState.choices)
    attempts = serializers.IntegerField(help_text="Begun so far; of a schedule: failures in a row")
    progress = JobProgressSerializer(allow_null=True, help_text="Null where the task does not know")
    error = JobErrorSerializer(allow_null=True, help_text="The last one, also of a job that has ended well since")
    reason = serializers.CharField(help_text="Why it was discarded")
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class JobListSerializer(serializers.Serializer):
    jobs = JobSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)
