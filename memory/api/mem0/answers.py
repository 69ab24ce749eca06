"""Answers in the form that mem0's clients expect."""

from __future__ import annotations

from rest_framework import serializers

from memory.api.mem0.serializers import FEEDBACK
from memory.api.serializers.errors import ErrorSerializer
from memory.owners import OWNERS

EVENTS = ("ADD", "UPDATE", "DELETE")


class Mem0ErrorSerializer(ErrorSerializer):
    """The error shape of these routes."""

    detail = serializers.CharField(
        required=False, help_text="The message, where mem0's clients look for it; not of what no route was found for"
    )


class Mem0MemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    memory = serializers.CharField()
    user_id = serializers.CharField(allow_null=True)
    agent_id = serializers.CharField(allow_null=True)
    app_id = serializers.CharField(allow_null=True)
    run_id = serializers.CharField(allow_null=True)
    metadata = serializers.DictField(help_text="The client's own")
    categories = serializers.ListField(child=serializers.CharField(), help_text="Those that it was imported with")
    expiration_date = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField(help_text="The `timestamp` that was given, else when it was recorded")
    updated_at = serializers.DateTimeField(help_text="When it was last corrected, else when it was recorded")


class UpdatedMemorySerializer(Mem0MemorySerializer):
    text = serializers.CharField(help_text="As `memory`")
    message = serializers.CharField(help_text="What became of it, and whether the gate put marks in it")


class ScoreBreakdownSerializer(serializers.Serializer):
    semantic = serializers.FloatField(help_text="Cosine similarity")
    bm25 = serializers.FloatField()


class HitMemorySerializer(Mem0MemorySerializer):
    """A memory that a search found. With `fields`, it has only those, `id` and `memory`."""

    score = serializers.FloatField(help_text="The relevance, 0 to 1", required=False)
    score_breakdown = ScoreBreakdownSerializer(required=False)

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        for name, field in fields.items():
            field.required = name in ("id", "memory")
        return fields


class FoundMemoriesSerializer(serializers.Serializer):
    results = HitMemorySerializer(many=True, help_text="Best first")


class AddedDataSerializer(serializers.Serializer):
    memory = serializers.CharField()


class AddedMemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    memory = serializers.CharField()
    event = serializers.ChoiceField(EVENTS)
    data = AddedDataSerializer()  # type: ignore[assignment]


class AddedSerializer(serializers.Serializer):
    message = serializers.CharField(help_text="What became of the messages")
    status = serializers.CharField(help_text="Always SUCCEEDED: it is done")
    event_id = serializers.UUIDField(help_text="`GET /v1/event/{event_id}/` knows it when a memory was made")
    results = AddedMemorySerializer(many=True, help_text="The memories that were made")


class AddedListSerializer(serializers.Serializer):
    message = serializers.CharField(help_text="What became of the messages")
    results = AddedMemorySerializer(many=True)


class MemoryPageSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True, help_text="The address of the next page")
    previous = serializers.CharField(allow_null=True)
    results = Mem0MemorySerializer(many=True, help_text="Newest recorded first")


class ServerMemoryListSerializer(serializers.Serializer):
    results = Mem0MemorySerializer(many=True, help_text="Newest recorded first")


class Mem0DoneSerializer(serializers.Serializer):
    message = serializers.CharField()


class MemoryEventSerializer(serializers.Serializer):
    """One entry of a memory's history."""

    id = serializers.CharField()
    memory_id = serializers.UUIDField()
    input = serializers.ListField(child=serializers.DictField(), help_text="Empty: MemOS keeps what was said as it is")
    old_memory = serializers.CharField(allow_null=True)
    new_memory = serializers.CharField(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    event = serializers.ChoiceField(EVENTS)
    metadata = serializers.DictField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class OwnerSerializer(serializers.Serializer):
    """A user, agent, app or run that memories belong to."""

    id = serializers.CharField()
    name = serializers.CharField()
    type = serializers.ChoiceField([name.removesuffix("_id") for name in OWNERS])
    total_memories = serializers.IntegerField()
    owner = serializers.CharField(help_text="The namespace")
    created_at = serializers.DateTimeField(help_text="When the first of its memories was recorded")
    updated_at = serializers.DateTimeField(help_text="When the last one was")


class OwnerPageSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = OwnerSerializer(many=True)


class OpinionKeptSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="The memory's")
    feedback = serializers.ChoiceField(FEEDBACK)
    feedback_reason = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class AddEventSerializer(serializers.Serializer):
    """The addition of one memory."""

    id = serializers.UUIDField(help_text="The memory's")
    event_type = serializers.CharField(help_text="Always ADD")
    status = serializers.CharField(help_text="Always SUCCEEDED: it is done")
    results = AddedMemorySerializer(many=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class AddEventPageSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = AddEventSerializer(many=True, help_text="Newest first")


class PingSerializer(serializers.Serializer):
    status = serializers.CharField()
    org_id = serializers.CharField()
    project_id = serializers.CharField(help_text="The namespace")
    user_email = serializers.CharField(allow_null=True)
