from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from memory.api.fields import DegradedField, MetadataField, MomentField, StrictCharField, ZoneField
from memory.api.message_fields import MAX_TEXT_CHARS, Content, ContentField, RoleField
from memory.enums import GateDecision, Role
from memory.types import NewMemory, Outcome, session_of_day

MAX_BATCH = 1000
_LIST_MESSAGES: dict[str, Any] = {
    "not_a_list": "must be a list.",
    "required": "is missing.",
    "max_length": "has more than {max_length} items.",
    "min_length": "must not be empty.",
}


# Error for fields of a single text that cannot be combined with `messages`.
_NOT_WITH_MESSAGES = "must not come with `messages`: each message has its own."


class MessageSerializer(serializers.Serializer):
    """A message as chat SDKs send it. Other fields, such as tool_calls, are ignored."""

    open_fields = True
    role = RoleField()
    content = ContentField(required=False, default=None)
    name = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=128, default=None, help_text="Who says it"
    )


class IngestSerializer(serializers.Serializer):
    """A turn to remember, or the messages of a chat: either `text` or `messages`."""

    namespace = StrictCharField(min_length=1, max_length=128, help_text="The tenant it belongs to")
    session_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        help_text="The conversation it was said in; left out: that of the day, named by its date: 2026-11-22",
    )
    role = RoleField(required=False, default=Role.USER.value)
    text = StrictCharField(required=False, min_length=1, max_length=MAX_TEXT_CHARS, help_text="What was said or done")
    messages: serializers.ListSerializer = serializers.ListSerializer(
        child=MessageSerializer(),
        required=False,
        min_length=1,
        max_length=MAX_BATCH,
        error_messages=_LIST_MESSAGES,
        help_text="Instead of `text`: a turn for each, in this order, all or none",
    )
    metadata = MetadataField(required=False, default=dict, help_text="Anything of your own, returned with the memory")
    speaker = StrictCharField(required=False, allow_blank=True, max_length=128, default="", help_text="Who said it")
    occurred_at = MomentField(
        required=False, allow_null=True, default=None, help_text="When it was said (ISO 8601); now if left out"
    )
    timezone = ZoneField(help_text="In which the day of a session without `session_id` begins (IANA name)")

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        problems = _shape_problems(data) if isinstance(data, Mapping) else {}
        try:
            values: dict[str, Any] = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**error.detail, **problems}) from error  # type: ignore[dict-item]
        if problems:
            raise serializers.ValidationError(problems)
        return values

    @staticmethod
    def to_turns(values: dict[str, Any], *, now: datetime) -> Told:
        """Return the validated turn, or each message that holds text, with the skipped parts.

        Without a session_id the session is that of the day, in the time zone of `now`.
        """
        session = values.get("session_id") or session_of_day(values["occurred_at"] or now, now.tzinfo)
        common = {"session": session, "metadata": values["metadata"], "occurred_at": values["occurred_at"]}
        if "messages" not in values:
            memory = NewMemory(role=values["role"], text=values["text"], speaker=values["speaker"], **common)
            return Told([memory])
        memories, kept, skipped = [], [], []
        for place, message in enumerate(values["messages"]):
            content = message["content"] or Content()
            if content.text:
                memories.append(
                    NewMemory(role=message["role"], text=content.text, speaker=message["name"] or "", **common)
                )
                kept.append(place)
            if content.left_out or not content.text:
                says = f"parts that are no text are not kept: {', '.join(content.left_out)}"
                skipped.append({"field": f"messages[{place}]", "says": says if content.left_out else "holds no text"})
        return Told(memories, kept, skipped)


def _shape_problems(data: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the problems of a request that has both `text` and `messages`, or neither."""
    if "messages" not in data:
        return {} if "text" in data else {"text": ["is missing; a list of chat messages goes into `messages`."]}
    return {name: [_NOT_WITH_MESSAGES] for name in ("text", "role", "speaker") if name in data}


@dataclass(frozen=True, slots=True)
class Told:
    """The turns of a request, in order. For messages also their `places` among them, and the skipped parts.

    `places` is None for a single text. An entry of `skipped` is {field, says}.
    """

    memories: list[NewMemory]
    places: list[int] | None = None
    skipped: list[dict[str, str]] = field(default_factory=list)


class IngestBatchSerializer(serializers.Serializer):
    """Turns to remember together: all of them or none."""

    items: serializers.ListSerializer = serializers.ListSerializer(
        child=IngestSerializer(),
        min_length=1,
        max_length=MAX_BATCH,
        error_messages=_LIST_MESSAGES,
    )

    def validate_items(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        turns = sum(len(item.get("messages", (item,))) for item in items)
        if turns > MAX_BATCH:
            raise serializers.ValidationError(f"has {turns} turns, with those of `messages`; the limit is {MAX_BATCH}.")
        return items


# The component's name in the OpenAPI document.
@extend_schema_serializer(component_name="Reason")
class GateReasonSerializer(serializers.Serializer):
    rule = serializers.CharField(help_text="Its family before the first dot: secret.password")
    says = serializers.CharField(help_text="In a sentence, without the text")


class OutcomeSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField(
        allow_null=True,
        help_text="Of a quarantined turn its item's, which the memory keeps when it is released; null when rejected. "
        "Of messages: the first one's",
    )
    accepted = serializers.BooleanField(help_text="Whether it is a memory now; of messages, whether each turn is")
    verdict = serializers.ChoiceField(
        GateDecision.choices, help_text="What the gate says of it; of messages, the strictest verdict"
    )
    reasons = GateReasonSerializer(many=True, help_text="Why, the strongest first; also what was noted and let through")

    @staticmethod
    def to_dict(outcome: Outcome) -> dict[str, Any]:
        """Return the outcome of a turn in the form for clients."""
        return {
            "memory_id": str(outcome.memory_id) if outcome.memory_id else None,
            "accepted": outcome.accepted,
            "verdict": outcome.verdict.value,
            "reasons": outcome.reasons,
        }


class MessageOutcomeSerializer(OutcomeSerializer):
    field = serializers.CharField(help_text="Which message: messages[0]")


class SkippedSerializer(serializers.Serializer):
    field = serializers.CharField(help_text="Which message: messages[0]")
    says = serializers.CharField(help_text="What of it is not kept")


class ItemOutcomeSerializer(OutcomeSerializer):
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The memories that were made, in order")
    messages = MessageOutcomeSerializer(many=True, required=False, help_text="Of `messages`: what became of each turn")
    skipped = SkippedSerializer(many=True, required=False, help_text="Of `messages`: what is not kept")

    @staticmethod
    def of(told: Told, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Return the outcome of a text or of messages in the form for clients."""
        memory_ids = [str(outcome.memory_id) for outcome in outcomes if outcome.accepted and outcome.memory_id]
        if told.places is None:
            return {**OutcomeSerializer.to_dict(outcomes[0]), "memory_ids": memory_ids}
        strictest = max(outcomes, key=lambda outcome: _STRICTNESS[outcome.verdict], default=None)
        named = [outcome.memory_id for outcome in outcomes if outcome.memory_id]
        return {
            "memory_id": str(named[0]) if named else None,
            "accepted": bool(outcomes) and all(outcome.accepted for outcome in outcomes),
            "verdict": (strictest.verdict if strictest else GateDecision.ACCEPT).value,
            "reasons": strictest.reasons if strictest else [],
            "memory_ids": memory_ids,
            "messages": [
                {"field": f"messages[{place}]", **OutcomeSerializer.to_dict(outcome)}
                for place, outcome in zip(told.places, outcomes, strict=True)
            ],
            "skipped": told.skipped,
        }


_STRICTNESS = {verdict: place for place, verdict in enumerate(GateDecision)}


class IngestedSerializer(ItemOutcomeSerializer):
    degraded = DegradedField(
        help_text="What did not work fully: embedding_delayed, session_window_unavailable",
    )


class IngestedBatchSerializer(serializers.Serializer):
    results = ItemOutcomeSerializer(many=True, help_text="In the order of the items")
    degraded = DegradedField()
