from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import MetadataField, MomentField, StrictCharField
from memory.enums import GateDecision, Role
from memory.types import NewMemory, Outcome

MAX_BATCH = 1000


class IngestSerializer(serializers.Serializer):
    """One turn to remember."""

    namespace = StrictCharField(min_length=1, max_length=128, help_text="The tenant it belongs to")
    session_id = StrictCharField(min_length=1, max_length=128, help_text="The conversation it was said in")
    role = serializers.ChoiceField(
        Role.choices, error_messages={"invalid_choice": "must be one of user, agent, system, tool."}
    )
    text = StrictCharField(min_length=1, max_length=20_000, help_text="What was said or done")
    metadata = MetadataField(required=False, default=dict, help_text="Anything of your own, returned with the memory")
    speaker = StrictCharField(required=False, allow_blank=True, max_length=128, default="", help_text="Who said it")
    occurred_at = MomentField(
        required=False, allow_null=True, default=None, help_text="When it was said (ISO 8601); now if left out"
    )

    @staticmethod
    def memory_of(values: dict) -> NewMemory:
        """The validated turn as services take it."""
        return NewMemory(
            session=values["session_id"],
            role=values["role"],
            text=values["text"],
            speaker=values["speaker"],
            metadata=values["metadata"],
            occurred_at=values["occurred_at"],
        )


class IngestBatchSerializer(serializers.Serializer):
    """Turns to remember together: all or none."""

    items: serializers.ListSerializer = serializers.ListSerializer(
        child=IngestSerializer(),
        min_length=1,
        max_length=MAX_BATCH,
        error_messages={
            "not_a_list": "must be a list.",
            "required": "is missing.",
            "max_length": "has more than {max_length} items.",
            "min_length": "must not be empty.",
        },
    )


class ReasonSerializer(serializers.Serializer):
    rule = serializers.CharField(help_text="Its family before the first dot: secret.password")
    says = serializers.CharField(help_text="In a sentence, without the text")


class OutcomeSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField(
        allow_null=True,
        help_text="Of a quarantined turn its item's, which the memory keeps when it is released; null when rejected",
    )
    accepted = serializers.BooleanField(help_text="Whether it is a memory now")
    verdict = serializers.ChoiceField(GateDecision.choices, help_text="What the gate says of it")
    reasons = ReasonSerializer(many=True, help_text="Why, the strongest first; also what was noted and let through")

    @staticmethod
    def shown(outcome: Outcome) -> dict:
        """The outcome of one turn as clients see it."""
        return {
            "memory_id": str(outcome.memory_id) if outcome.memory_id else None,
            "accepted": outcome.accepted,
            "verdict": outcome.verdict.value,
            "reasons": outcome.reasons,
        }


class IngestedSerializer(OutcomeSerializer):
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="What did not work fully: embedding_delayed, session_window_unavailable",
    )


class IngestedBatchSerializer(serializers.Serializer):
    results = OutcomeSerializer(many=True, help_text="In the order of the items")
    degraded = serializers.ListField(child=serializers.CharField())
