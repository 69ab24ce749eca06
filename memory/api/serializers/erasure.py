from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictBooleanField, StrictCharField, StrictUUIDField
from memory.enums import ErasureStatus, ErasureTarget
from memory.services.erasure.requests import MAX_MEMORIES, Target
from memory.services.memories.change import MAX_REASON_CHARS

STATES = (*ErasureStatus.values, "dry_run")
TARGETS = ("memory_ids", "session_id", "speaker", "whole_namespace")


class ErasureSerializer(serializers.Serializer):
    """The memories to erase, selected by exactly one of memory_ids, session_id, speaker and whole_namespace."""

    namespace = StrictCharField(min_length=1, max_length=128)
    memory_ids = serializers.ListField(
        child=StrictUUIDField(),
        required=False,
        default=list,
        max_length=MAX_MEMORIES,
        error_messages={"not_a_list": "must be a list.", "max_length": "has more than {max_length} items."},
        help_text="Memories; a document that loses a chunk loses all",
    )
    session_id = StrictCharField(
        required=False, default="", min_length=1, max_length=128, help_text="All of a session, with its documents"
    )
    speaker = StrictCharField(
        required=False, default="", min_length=1, max_length=128, help_text="All turns under exactly this name"
    )
    whole_namespace = StrictBooleanField(required=False, default=False, help_text="All memories of the namespace")
    confirm = StrictCharField(
        required=False, default="", allow_blank=True, max_length=128, help_text="For a namespace: its name once more"
    )
    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS, help_text="Kept on the receipt")
    dry_run = StrictBooleanField(required=False, default=False, help_text="Only count")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in TARGETS if attrs[name]]
        if len(given) != 1:
            raise serializers.ValidationError(
                {given[1] if given else "memory_ids": f"name exactly one of {', '.join(TARGETS)}."}
            )
        if attrs["whole_namespace"] and not attrs["dry_run"] and attrs["confirm"] != attrs["namespace"]:
            raise serializers.ValidationError(
                {"confirm": "must be the namespace's name: this erases all memories of it (with dry_run it counts)."}
            )
        if not attrs["reason"].strip():
            raise serializers.ValidationError({"reason": "must not be empty."})
        return attrs

    @staticmethod
    def target_of(values: dict[str, Any]) -> Target:
        """Return the validated values in the form that services expect."""
        return Target(tuple(values["memory_ids"]), values["session_id"], values["speaker"], values["whole_namespace"])


class ErasureListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    session_id = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    speaker = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=128,
        trim_whitespace=False,
        help_text="Erasures of this speaker; needs a namespace",
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("erasures")


class HolderSerializer(serializers.Serializer):
    counted = serializers.IntegerField(required=False, allow_null=True, help_text="Held before; null: not known")
    cleared = serializers.IntegerField(required=False)
    kept = serializers.IntegerField(
        required=False, help_text="Of memory_memory: put under a legal hold while this was carried out"
    )
    left = serializers.IntegerField(required=False, help_text="Counted again at the end: 0")


class SearchProofSerializer(serializers.Serializer):
    searched = serializers.IntegerField(help_text="Erased memories that were asked for by their words and vector")
    found_before = serializers.IntegerField()
    found_after = serializers.IntegerField(help_text="0")


class WordsProofSerializer(serializers.Serializer):
    searched = serializers.IntegerField(help_text="Sentences and identifiers of erased memories that were looked for")
    said_by_others = serializers.IntegerField(help_text="Those of them that somebody else says, too")
    memory_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories of others that say some of them: they stay"
    )
    found = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Every table that was looked through, and how many of them it holds still",
    )
    left = serializers.IntegerField(help_text="Found in what the server made, and said by nobody else: 0")


class AuditKeptSerializer(serializers.Serializer):
    events = serializers.IntegerField(help_text="Audit events about what was erased, which cannot be changed")
    typed = serializers.IntegerField(
        help_text="Those of them, of earlier versions, that say what a person typed as a reason or note"
    )


class UnlearntAdapterSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    model = serializers.CharField(help_text="What servers of models called it")


class UnlearntSerializer(serializers.Serializer):
    datasets = serializers.ListField(child=serializers.UUIDField(), help_text="Stale; their files are deleted")
    adapters = UnlearntAdapterSerializer(many=True, help_text="Stale: unloaded from servers, their files deleted")


class ProofSerializer(serializers.Serializer):
    search = SearchProofSerializer()
    words = WordsProofSerializer(required=False, help_text="Where the erased words themselves were looked for")
    left = serializers.IntegerField(required=False, help_text="Sum of `left` over all holders: 0")
    counters_exact = serializers.BooleanField(
        required=False, help_text="The namespace's counters equal its rows: `manage.py doctor --recount` mends them"
    )
    audit = AuditKeptSerializer(required=False)
    training = UnlearntSerializer(required=False, help_text="What had learnt what was erased")


class ErasureReceiptSerializer(serializers.Serializer):
    id = serializers.UUIDField(allow_null=True, help_text="null: a dry run")
    status = serializers.ChoiceField(STATES)
    namespace = serializers.CharField()
    target = serializers.ChoiceField(ErasureTarget.choices)
    session_id = serializers.CharField(allow_null=True)
    reason = serializers.CharField()
    actor = serializers.CharField()
    named = serializers.IntegerField(help_text="Memories that were named, or that the target held")
    missing = serializers.IntegerField(help_text="Those of the named that are not there")
    found = serializers.IntegerField(help_text="Memories to be erased, with the other chunks of their documents")
    documents = serializers.IntegerField(help_text="Documents that are erased whole")
    notes = serializers.ListField(child=serializers.CharField())
    holders = serializers.DictField(child=HolderSerializer(), help_text="By table; redis_window: session windows")
    summaries_rebuilt = serializers.IntegerField(help_text="Summaries made again from what is left")
    proof = ProofSerializer(allow_null=True)
    waiting_for = serializers.CharField(allow_blank=True, help_text="What stands in the way; it is tried again")
    error = serializers.CharField(allow_blank=True, help_text="Why a failed erasure failed")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ErasureListSerializer(serializers.Serializer):
    erasures = ErasureReceiptSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)
