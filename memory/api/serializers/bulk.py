from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.fields import FilterField, MetadataField, StrictBooleanField, StrictCharField, StrictNumberField
from memory.api.serializers.memories import MemorySerializer, ReasonSerializer
from memory.enums import BulkChangeState, BulkChangeVerb
from memory.services.memories.bulk import SAMPLE, BulkEdit
from memory.services.memories.tags import MAX_TAG_CHARS, MAX_TAGS

MAX_KEYS = 100
_LIST_MESSAGES: dict[str, Any] = {"not_a_list": "must be a list.", "max_length": "has more than {max_length} items."}


def _tags(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=StrictCharField(min_length=1, max_length=MAX_TAG_CHARS),
        required=False,
        default=list,
        max_length=MAX_TAGS,
        error_messages=_LIST_MESSAGES,
        help_text=help_text,
    )


class ArchiveWhereSerializer(ReasonSerializer):
    """The memories to archive: those of the namespace that match the filter, or all of them."""

    namespace = StrictCharField(min_length=1, max_length=128)
    filter = FilterField(required=False, default=None, help_text="What the memories must meet")
    all = StrictBooleanField(
        required=False, default=False, help_text="true: every memory of the namespace; then there is no filter"
    )
    dry_run = StrictBooleanField(
        required=False, default=False, help_text="Only count, and show some; nothing is changed"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["filter"] is None and not attrs["all"]:
            raise serializers.ValidationError(
                {"filter": "is missing or empty: say which memories, or `all: true` for every one of the namespace."}
            )
        if attrs["filter"] is not None and attrs["all"]:
            raise serializers.ValidationError({"all": "does not go with a filter: leave out one of them."})
        if not attrs["reason"].strip():
            raise serializers.ValidationError({"reason": "must not be empty."})
        return attrs


class EditWhereSerializer(ArchiveWhereSerializer):
    """The memories to change, and their new values. Fields that are left out stay as they are."""

    metadata = MetadataField(required=False, help_text="Takes the place of all that is there")
    set_metadata = MetadataField(required=False, default=dict, help_text="Keys to put in; the others stay")
    remove_metadata = serializers.ListField(
        child=StrictCharField(max_length=500),
        required=False,
        default=list,
        max_length=MAX_KEYS,
        error_messages=_LIST_MESSAGES,
        help_text="Keys to take off",
    )
    add_tags = _tags("Words to put into `metadata.tags`")
    remove_tags = _tags("Words to take out of `metadata.tags`")
    importance = StrictNumberField(required=False, min_value=0, max_value=1)
    pinned = StrictBooleanField(required=False, help_text="true: exempt them from every sweep")

    @staticmethod
    def to_edit(values: dict[str, Any]) -> BulkEdit:
        """Return the validated values in the form that services expect."""
        return BulkEdit(
            metadata=values.get("metadata"),
            set_metadata=values["set_metadata"],
            remove_metadata=tuple(values["remove_metadata"]),
            add_tags=tuple(values["add_tags"]),
            remove_tags=tuple(values["remove_tags"]),
            importance=values.get("importance"),
            pinned=values.get("pinned"),
        )


class BulkChangeSerializer(serializers.Serializer):
    id = serializers.UUIDField(
        allow_null=True, help_text="Also the `request_id` of its audit events; null of a dry run"
    )
    namespace = serializers.CharField()
    verb = serializers.ChoiceField(BulkChangeVerb.choices)
    state = serializers.ChoiceField(
        BulkChangeState.choices, help_text="As its job stands; one that failed can be replayed (POST /v1/ops/jobs)"
    )
    matched = serializers.IntegerField(help_text="Memories that it is about")
    changed = serializers.IntegerField(help_text="So far")
    unchanged = serializers.IntegerField(help_text="They were so already, or are gone")
    refused = serializers.IntegerField(help_text="They may not be changed: a legal hold, or what the gate found")
    refusals = serializers.DictField(
        child=serializers.IntegerField(), help_text="Why: error code to how many; `erased`: the new values were erased"
    )
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    sample = MemorySerializer(many=True, help_text=f"Of a dry run: up to {SAMPLE} of them, newest first; else empty")
