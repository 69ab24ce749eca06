from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import (
    DegradedField,
    JsonFilterField,
    MetadataField,
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictNumberField,
)
from memory.api.serializers.ingest import GateReasonSerializer
from memory.enums import AuditEvent, Feedback, GateDecision, LinkKind, MemoryKind, MemoryState, Review, Role, Tier
from memory.retrieval.filters import MAX_TOPIC
from memory.services.memories.change import MAX_REASON_CHARS
from memory.services.memories.edit import MAX_TEXT_CHARS
from memory.services.memories.feedback import MAX_NOTE_CHARS
from memory.services.memories.read import MemoryFilter

ANY = "any"


class MemoryListingSerializer(serializers.Serializer):
    """Query parameters of the list; one that is left out or empty narrows nothing."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    session_id = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    speaker = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    role = serializers.ChoiceField(Role.choices, default="", allow_blank=True)
    tier = serializers.ChoiceField(Tier.choices, default="", allow_blank=True)
    kind = serializers.ChoiceField(MemoryKind.choices, default="", allow_blank=True)
    topic_id = serializers.IntegerField(
        min_value=0, max_value=MAX_TOPIC, default=None, allow_null=True, help_text="Number of a topic (GET /v1/tree)"
    )
    state = serializers.ChoiceField([*MemoryState.choices, (ANY, ANY)], default=MemoryState.ACTIVE)
    since = serializers.DateTimeField(default=None, help_text="It happened then or later (ISO 8601)")
    until = serializers.DateTimeField(default=None, help_text="It happened before")
    text = serializers.CharField(
        default="", allow_blank=True, max_length=500, help_text="All of these words, in any of their forms"
    )
    pinned = serializers.BooleanField(default=None, allow_null=True)
    review = serializers.BooleanField(default=None, allow_null=True, help_text="true: what waits for review")
    current = serializers.BooleanField(
        default=None, allow_null=True, help_text="true: what still holds; false: what holds no longer"
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("memories")

    @staticmethod
    def to_filter(values: dict) -> MemoryFilter:
        """Returns the validated parameters as services take them."""
        return MemoryFilter(
            session=values["session_id"] or None,
            speaker=values["speaker"] or None,
            role=values["role"] or None,
            tier=values["tier"] or None,
            kind=values["kind"] or None,
            topic=values["topic_id"],
            state=None if values["state"] == ANY else values["state"],
            since=values["since"],
            until=values["until"],
            words=values["text"] or None,
            pinned=values["pinned"],
            review=values["review"],
            current=values["current"],
            cursor=values.get("cursor"),
            limit=values.get("limit", 0),
        )


class ExportSerializer(MemoryListingSerializer):
    """Query parameters of the export: those of the list but for its pages, and a filter."""

    limit = None  # type: ignore[assignment]
    cursor = None  # type: ignore[assignment]
    filter = JsonFilterField(required=False, default=None, help_text="A filter, as JSON: what the memories must meet")
    format = serializers.ChoiceField(
        [("jsonl", "jsonl"), ("csv", "csv"), ("pam", "pam")],
        default="jsonl",
        help_text="jsonl: a memory a line, as the list has them; csv: for spreadsheets, with no formula in it; "
        "pam: Portable AI Memory 1.0, which other programs read",
    )


class HistoryPageSerializer(serializers.Serializer):
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50, help_text="Of each list, the newest")


class ReasonSerializer(serializers.Serializer):
    """The reason of a change, which is kept in the audit log."""

    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS, help_text="Why, for the audit log")


class OptionalReasonSerializer(serializers.Serializer):
    reason = StrictCharField(
        required=False, min_length=1, max_length=MAX_REASON_CHARS, help_text="Why, for the audit log"
    )


class MemoryChangeSerializer(ReasonSerializer):
    """The fields to change; a field that is left out stays as it is."""

    text = StrictCharField(required=False, min_length=1, max_length=MAX_TEXT_CHARS)
    metadata = MetadataField(required=False, help_text="Takes the place of all that is there")
    speaker = StrictCharField(required=False, allow_blank=True, max_length=128)
    importance = StrictNumberField(required=False, min_value=0, max_value=1)
    occurred_at = MomentField(required=False, help_text="ISO 8601")
    reviewed = StrictBooleanField(required=False, help_text="true: takes it off the review list")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.keys() == {"reason"}:
            names = ", ".join(name for name in self.fields.keys() if name != "reason")  # noqa: SIM118 - typed so
            raise serializers.ValidationError(f"names nothing to change: give one of {names}.")
        return attrs


class RestoreSerializer(ReasonSerializer):
    """A restoration; without a version, from the archive."""

    version_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="Say again what it said in this version of its history"
    )
    undo_supersede = StrictBooleanField(
        required=False, default=False, help_text="Take back that it, or parts of it, were superseded: all of it holds"
    )
    statements = serializers.ListField(
        child=StrictIntegerField(min_value=0, max_value=MAX_TEXT_CHARS),
        required=False,
        default=list,
        max_length=100,
        help_text="Only these retired parts of it hold again, named by where each starts in its text",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(bool(attrs[name]) for name in ("version_id", "undo_supersede", "statements")) > 1:
            raise serializers.ValidationError(
                "takes one of version_id, undo_supersede and statements: send a request for each."
            )
        return attrs


class SupersedeSerializer(ReasonSerializer):
    """The memory that holds instead: an existing one, or a text that becomes one."""

    by = serializers.UUIDField(required=False, allow_null=True, default=None, help_text="Id of the newer memory")
    text = StrictCharField(
        required=False,
        allow_null=True,
        default=None,
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        help_text="Remembered as the next turn of the same session, by the same speaker",
    )
    metadata = MetadataField(required=False, default=dict, help_text="Of the text")
    occurred_at = MomentField(
        required=False, allow_null=True, default=None, help_text="When the text was said (ISO 8601); now if left out"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["by"] is None) == (attrs["text"] is None):
            raise serializers.ValidationError("needs either by or text.")
        if attrs["by"] is not None and (attrs["metadata"] or attrs["occurred_at"]):
            raise serializers.ValidationError("metadata and occurred_at are of a new text: PATCH the memory instead.")
        return attrs


class FeedbackSerializer(serializers.Serializer):
    """An opinion; it replaces the former one of the same key."""

    kind = serializers.ChoiceField(
        Feedback.choices, error_messages={"invalid_choice": "must be one of useful, wrong, outdated."}
    )
    note = StrictCharField(required=False, allow_blank=True, max_length=MAX_NOTE_CHARS, default="")


class StandingSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    revision = serializers.IntegerField(help_text="Counts its changes; the ETag is this number in quotes")
    state = serializers.ChoiceField(MemoryState.choices)
    importance = serializers.FloatField()
    pinned = serializers.BooleanField(help_text="No sweep archives it")
    review = serializers.ChoiceField(Review.choices, allow_null=True, help_text="Why it waits for review")
    occurred_at = serializers.DateTimeField(help_text="When it happened")
    valid_from = serializers.DateTimeField(allow_null=True, help_text="Since when it holds; null: since it happened")
    valid_to = serializers.DateTimeField(allow_null=True, help_text="From then on it holds no longer; null: it holds")
    superseded_by = serializers.UUIDField(allow_null=True)


class MemorySerializer(StandingSerializer):
    kind = serializers.ChoiceField(MemoryKind.choices)
    sources = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="The memories that a fact rests on or a reply quotes, oldest first; of others none",
    )
    session_id = serializers.CharField()
    turn = serializers.IntegerField(help_text="Its place in the session; below 0 for a fact and a chunk of a document")
    role = serializers.ChoiceField(Role.choices)
    speaker = serializers.CharField(allow_blank=True)
    text = serializers.CharField()
    metadata = serializers.DictField()
    tier = serializers.ChoiceField(Tier.choices)
    tokens = serializers.IntegerField()
    retired_statements = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="[start, end) in characters of each statement of `text` that holds no longer; its history says why",
    )
    created_at = serializers.DateTimeField(help_text="When MemOS learned it")


class MemoryListSerializer(serializers.Serializer):
    memories = MemorySerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ChangedSerializer(StandingSerializer):
    """The memory's standing after the change."""

    changed = serializers.ListField(child=serializers.CharField(), help_text="Empty: it was so already")
    degraded = DegradedField(
        help_text="What did not work fully: embedding_delayed, session_window_unavailable",
    )
    verdict = serializers.ChoiceField(
        GateDecision.choices, required=False, help_text="What the gate says of a new text, speaker or metadata"
    )
    reasons = GateReasonSerializer(many=True, required=False, help_text="Why, the strongest first")


class ArchivedSerializer(ChangedSerializer):
    erased = serializers.BooleanField(help_text="false: it is out of retrieval and can be restored")
    to_erase = serializers.CharField(help_text="How it is deleted for good")


class VersionSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    revision = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()
    metadata = serializers.DictField()
    speaker = serializers.CharField(allow_null=True, allow_blank=True)
    occurred_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(help_text="Why it was changed")
    actor = serializers.CharField()
    replaced_at = serializers.DateTimeField()


class HistoryEventSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    event_type = serializers.ChoiceField(AuditEvent.choices)
    details = serializers.DictField()
    actor = serializers.CharField()
    request_id = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()


class LinkSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    kind = serializers.ChoiceField(LinkKind.choices, help_text="What memory_id is to other_id")
    other_id = serializers.UUIDField()
    reason = serializers.CharField()
    confidence = serializers.FloatField()
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()


class RetiredSerializer(serializers.Serializer):
    """A statement of the memory that no longer holds: it is not searched and not returned."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()
    by = serializers.UUIDField(help_text="The newer memory; it may have been erased since")
    by_start = serializers.IntegerField()
    by_end = serializers.IntegerField()
    reason = serializers.CharField()
    confidence = serializers.FloatField()
    valid_to = serializers.DateTimeField(
        allow_null=True,
        help_text="From then on it held no longer, in the time of what is told; null: it is only news of an end",
    )
    retired_at = serializers.DateTimeField(help_text="When MemOS learned it")
    withdrawn_at = serializers.DateTimeField(allow_null=True, help_text="Since when it counts again")


class OpinionSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(Feedback.choices)
    note = serializers.CharField(allow_blank=True)
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()


class HistorySerializer(serializers.Serializer):
    memory = MemorySerializer()
    versions = VersionSerializer(many=True)
    events = HistoryEventSerializer(many=True)
    links = LinkSerializer(many=True)
    retired = RetiredSerializer(many=True)
    feedback = OpinionSerializer(many=True)
