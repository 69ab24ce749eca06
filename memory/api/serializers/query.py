from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.fields import (
    DegradedField,
    FilterField,
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictNumberField,
    StrictUUIDField,
    ZoneField,
)
from memory.api.serializers.explanation import DroppedSerializer, RerankDebugSerializer
from memory.api.serializers.pack import BreakpointSerializer, ChunkSerializer, ContextPackSerializer

MAX_QUERY_CHARS = 2000
MAX_PACK_TOKENS = 200_000
MAX_CUBES = 20
ANSWERABLE_HELP = "Whether a hit's `relevance` reaches the policy's `retrieval.relevance_floor`; false without a hit"


class QuestionFields(serializers.Serializer):
    """The fields of every question to a namespace's memory."""

    namespace = StrictCharField(min_length=1, max_length=128)
    query = StrictCharField(min_length=1, max_length=MAX_QUERY_CHARS)
    top_k = StrictIntegerField(min_value=1, max_value=50, required=False, default=6, help_text="Memories to bring back")
    filter = FilterField(
        required=False, allow_null=True, default=None, help_text="What the memories that are searched must meet"
    )
    as_of = MomentField(
        required=False, allow_null=True, default=None, help_text="What was recorded and believed by then (ISO 8601)"
    )
    valid_at = MomentField(
        required=False,
        allow_null=True,
        default=None,
        help_text="What holds at that time, in the time of what is told; left out: what holds now (ISO 8601)",
    )
    timezone = ZoneField()


class RetrievalFields(QuestionFields):
    """A question for which memories are retrieved."""

    dry_run = StrictBooleanField(required=False, default=False, help_text="Answer, but store and count nothing")
    explain = StrictBooleanField(
        required=False, default=False, help_text="List in `dropped` the best candidates that did not come back"
    )
    min_relevance = StrictNumberField(
        min_value=0,
        max_value=1,
        required=False,
        allow_null=True,
        default=None,
        help_text="Leave out hits whose `relevance` is below; left out or null: none",
    )


class CubesField(serializers.ListField):
    """The ids of cubes to search in addition to a namespace."""

    default_error_messages = {"not_a_list": "must be a list.", "max_length": "has more than {max_length} cubes."}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{
                "required": False,
                "default": list,
                "max_length": MAX_CUBES,
                "help_text": "Cubes that are searched as well: the key's own, and those shared with whose key it is",
                **options,
            },
            child=StrictUUIDField(),
        )


class QuerySerializer(RetrievalFields):
    """A question to a namespace's memory, asked in a session."""

    cubes = CubesField(
        help_text="Cubes that are searched beside the namespace, whose the session is; then no pack is kept"
    )

    session_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        help_text="Whose window and summary come along; left out: that of the day, named by its date: 2026-11-22",
    )
    max_tokens = StrictIntegerField(
        min_value=1,
        max_value=MAX_PACK_TOKENS,
        required=False,
        allow_null=True,
        default=None,
        help_text="Tokens that `context_pack.text` may have; if left out or null, the server's MEMOS_PACK_MAX_TOKENS",
    )
    lean = StrictBooleanField(
        required=False,
        default=False,
        help_text="Say each text once in `raw_chunks` and once in `context_pack.text`: what else of the pack repeats "
        "them, `condensed_summary` and `rerank_debug` are empty",
    )


class PrefixFields(serializers.Serializer):
    """The part of a pack's text that a provider's prompt cache may keep."""

    prefix_sha256 = serializers.CharField(
        help_text="Of the beginning of `context_pack.text` that no question changes: instructions, tools and durable "
        "memories. While it is the same, a provider's prompt cache has that beginning"
    )
    prefix_tokens = serializers.IntegerField(help_text="Tokens of that beginning; 0: there is none")
    breakpoints = BreakpointSerializer(
        many=True, help_text="Where the sections of `context_pack.text` end, those that it has"
    )


class AnswerSerializer(PrefixFields):
    id = serializers.UUIDField(allow_null=True, help_text="The pack's; of an answer without one its own; null: dry run")
    source_tier = serializers.CharField()
    similarity = serializers.FloatField(help_text="The best cosine similarity")
    answerable = serializers.BooleanField(help_text=ANSWERABLE_HELP)
    raw_chunks = ChunkSerializer(many=True)
    condensed_summary = serializers.CharField()
    token_usage_original = serializers.IntegerField(
        help_text="Tokens of the session's whole history, and of what comes from elsewhere"
    )
    token_usage_condensed = serializers.IntegerField(help_text="Tokens of `context_pack.text`")
    rerank_debug = RerankDebugSerializer(many=True, help_text="In the order of `raw_chunks`")
    dropped = DroppedSerializer(many=True, help_text="With `explain`: up to 20 candidates that did not come back")
    session_summary_id = serializers.UUIDField(allow_null=True)
    session_summary_cache_hit = serializers.BooleanField()
    session_summary_enqueued = serializers.BooleanField()
    context_pack_id = serializers.UUIDField(allow_null=True, help_text="null where no pack is kept")
    context_pack = ContextPackSerializer()
    dry_run = serializers.BooleanField()
    degraded = DegradedField(
        help_text="What did not work fully; `namespace_unknown`: there is no such namespace, and none was made",
    )
