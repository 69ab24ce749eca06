from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import ClampedIntegerField
from memory.api.serializers.jobs import JobErrorSerializer
from memory.enums import AuditEvent, JobPriority, PackSection, SummaryTrigger


class ListingSerializer(serializers.Serializer):
    """Query parameters of the lists. Empty ones do not narrow them."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    session_id = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    limit = ClampedIntegerField(1, 200, default=50)


class PackListingSerializer(ListingSerializer):
    include_pack = serializers.BooleanField(default=False, help_text="Give the whole pack with each row")


class StatsSerializer(serializers.Serializer):
    total_memories = serializers.IntegerField()
    active_contexts = serializers.IntegerField(help_text="Sessions with a message in the last 15 minutes")
    token_savings = serializers.IntegerField(
        help_text="Tokens that the context packs of the last 30 days saved against the histories of their sessions"
    )
    compression_ratio = serializers.FloatField(
        help_text="Tokens of these packs / tokens of the histories, 0..1: smaller is better; 0 without any"
    )


class QueueSerializer(serializers.Serializer):
    name = serializers.CharField()
    count = serializers.IntegerField()


class TriggerDetailsSerializer(serializers.Serializer):
    """The sources of a summary, as far as its kind records them."""

    open_fields = True
    source = serializers.CharField(required=False)  # type: ignore[assignment]
    strategy = serializers.CharField(required=False, help_text="Rolled on from the former summary, or from the start")
    schema = serializers.CharField(required=False)
    new_memory_ids = serializers.ListField(child=serializers.UUIDField(), required=False)
    new_message_count = serializers.IntegerField(required=False)
    from_turn = serializers.IntegerField(required=False)
    to_turn = serializers.IntegerField(required=False)


class CondensationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    version = serializers.CharField(help_text="Version of the format")
    number = serializers.IntegerField(help_text="1 for the session's first summary, then counting up")
    method = serializers.CharField(help_text="extractive, or the language model's name")
    tokenizer = serializers.CharField(help_text="What the tokens are counted with")
    trigger_reason = serializers.ChoiceField(SummaryTrigger.choices)
    trigger_details = TriggerDetailsSerializer()
    source_memory_ids = serializers.ListField(child=serializers.UUIDField())
    condensed_text = serializers.CharField(help_text="A JSON card, memos.memory_card.v2")
    item_sources = serializers.DictField(
        child=serializers.ListField(child=serializers.ListField(child=serializers.UUIDField())),
        help_text="For each bucket, the memory ids behind each item",
    )
    token_original = serializers.IntegerField()
    token_condensed = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ScheduleSerializer(serializers.Serializer):
    name = serializers.CharField()
    every_minutes = serializers.IntegerField()
    last_run_at = serializers.DateTimeField(allow_null=True)
    next_run_at = serializers.DateTimeField(allow_null=True)
    state = serializers.CharField(allow_null=True, help_text="Of the last run: running, done, failed; null before any")
    seconds = serializers.FloatField(allow_null=True, help_text="What the last run took; null while it runs")
    last_error = JobErrorSerializer(allow_null=True)
    failures_in_a_row = serializers.IntegerField()
    runs = serializers.IntegerField(help_text="Since `runs_since`; failures in a row count once")
    runs_since = serializers.DateTimeField()
    late = serializers.BooleanField(help_text="The last run is more than three periods ago")


class OpenJobsSerializer(serializers.Serializer):
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    oldest_at = serializers.DateTimeField(allow_null=True, help_text="Since when the one waits that waits longest")


class PriorityQueueSerializer(OpenJobsSerializer):
    priority = serializers.ChoiceField(JobPriority.labels)


class NamespaceQueueSerializer(OpenJobsSerializer):
    namespace = serializers.CharField(allow_null=True, help_text="Null for jobs of the whole system")


class WaitingSerializer(serializers.Serializer):
    """The queue of the namespaces that the key reaches."""

    priorities = PriorityQueueSerializer(many=True)
    namespaces = NamespaceQueueSerializer(many=True, help_text="The 20 with the most jobs")
    turns = serializers.IntegerField(help_text="That wait to be read for names, or to be compared")


class PipelineSerializer(serializers.Serializer):
    queues = QueueSerializer(many=True)
    waiting = WaitingSerializer()
    schedules = ScheduleSerializer(many=True, help_text="For a key of all namespaces; empty for others")
    recent_condensations = CondensationSerializer(many=True)


class AuditEventSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    event_type = serializers.ChoiceField(AuditEvent.choices)
    details = serializers.DictField(help_text="Ids, numbers and words of the event's kind, never text of a memory")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()


class AuditListSerializer(serializers.Serializer):
    events = AuditEventSerializer(many=True)


class CondensationListSerializer(serializers.Serializer):
    condensations = CondensationSerializer(many=True)


@extend_schema_field({"anyOf": [{"$ref": "#/components/schemas/ContextPack"}, {"type": "object"}]})
class KeptPackField(serializers.Field):
    """A stored pack as it was returned. Packs of earlier versions have fewer fields."""

    def to_representation(self, value: Any) -> Any:
        return value


class PackRowSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    session_id = serializers.CharField()
    query_text = serializers.CharField()
    session_summary_id = serializers.UUIDField(allow_null=True)
    retrieved_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    pack = KeptPackField(help_text="Empty without `include_pack`; of an earlier version it may have fewer fields")


class PackListSerializer(serializers.Serializer):
    context_packs = PackRowSerializer(many=True)


class ToolSerializer(serializers.Serializer):
    name = serializers.CharField()
    endpoint = serializers.CharField(help_text="The route of the API; empty for a tool that the agent's host provides")
    type = serializers.ChoiceField(["http_api", "function"])
    purpose = serializers.CharField()
    namespace = serializers.CharField(allow_null=True, help_text="Whose it is; null: every namespace's")
    version = serializers.CharField(required=False, help_text="Of a tool that is registered here")
    description = serializers.CharField(required=False, allow_blank=True)
    parameters = serializers.DictField(required=False, help_text="What it takes, as a JSON schema")


class PromptEntrySerializer(serializers.Serializer):
    name = serializers.CharField()
    version = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    namespace = serializers.CharField(allow_null=True, help_text="Whose it is; null: every namespace's")
    text = serializers.CharField(required=False, allow_blank=True, help_text="Of a prompt that is registered here")
    sections = serializers.ListField(
        child=serializers.ChoiceField(PackSection.choices),
        required=False,
        help_text="Of the text of a context pack: what it is put together from",
    )


class ToolRegistrySerializer(serializers.Serializer):
    tools = ToolSerializer(many=True)


class ProceduralSerializer(serializers.Serializer):
    prompt_registry = serializers.DictField(child=PromptEntrySerializer(), help_text="Prompts by name")
    tool_registry = ToolRegistrySerializer()


class HealthSerializer(serializers.Serializer):
    status = serializers.ChoiceField(["ok"])


class ReadySerializer(serializers.Serializer):
    status = serializers.ChoiceField(["ok", "degraded", "unavailable"])
    checks = serializers.DictField(child=serializers.CharField())
