from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import (
    FilterField,
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictNumberField,
)
from memory.enums import PackSection, Verdict

MAX_PACK_TOKENS = 200_000
ANSWERABLE_HELP = "Whether a hit's `relevance` reaches the policy's `retrieval.relevance_floor`; false without a hit"


class QuestionFields(serializers.Serializer):
    """What every question to a namespace's memory has."""

    namespace = StrictCharField(min_length=1, max_length=128)
    query = StrictCharField(min_length=1, max_length=2000)
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


class RetrievalFields(QuestionFields):
    """A question that is to be answered."""

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


class QuerySerializer(RetrievalFields):
    """A question to a namespace's memory, asked in a session."""

    session_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        help_text="Whose window and summary come along; left out: that of the day, named by its UTC date: 2026-11-22",
    )
    max_tokens = StrictIntegerField(
        min_value=1,
        max_value=MAX_PACK_TOKENS,
        required=False,
        allow_null=True,
        default=None,
        help_text="Tokens that `context_pack.text` may have; if left out or null, the server's MEMOS_PACK_MAX_TOKENS",
    )


class ChunkSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    tier = serializers.CharField()
    text = serializers.CharField()
    score = serializers.FloatField(help_text="Cosine similarity: 1 − cosine distance")
    relevance = serializers.FloatField(help_text="How likely it is what the question looks for, 0 to 1")
    retired_statements = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        help_text="[start, end) in characters of each part of the memory that holds no longer and that `text` is "
        "without; the memory's history says why",
    )
    metadata = serializers.DictField(
        help_text="Your own, and role, speaker, session_id, turn, occurred_at, created_at, overlap, final_score (what "
        "the ranking follows), rerank_score (the same within 0..1); `document` for a document's chunk, "
        "`retired_statements` (as beside it) when there are any, `later` [{memory_id, words, text, occurred_at}] when "
        "newer memories say something else in the place of words of `text`"
    )


class ShareSerializer(serializers.Serializer):
    raw = serializers.FloatField(help_text="Its own value")
    rank = serializers.IntegerField(
        allow_null=True, required=False, help_text="Of an arm: its place there; null when not among its best"
    )
    weight = serializers.FloatField(allow_null=True)
    weighted = serializers.FloatField(help_text="What it gave to the score")


class ExplanationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField(help_text="Place among the hits, from 1")
    final = serializers.FloatField(help_text="The score: what `arms` and `signals` gave sums to it")
    relevance = serializers.FloatField(help_text="How likely it is what the question looks for, 0 to 1")
    method = serializers.CharField()
    arms = serializers.DictField(child=ShareSerializer())
    signals = serializers.DictField(child=ShareSerializer())
    restated_by = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories that say the same again and are not listed for that"
    )
    reason = serializers.CharField(help_text="In a sentence, what gave at least a twentieth of the score")


class RerankDebugSerializer(serializers.Serializer):
    method = serializers.CharField()
    components = serializers.DictField(
        child=serializers.FloatField(), help_text="By arm and signal, what it gave to the score: numbers only"
    )
    explanation = ExplanationSerializer()


class DroppedSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField(help_text="Place among all candidates, before restatements and variety; from 1")
    final = serializers.FloatField(help_text="Its score, the sum of its parts")
    arms = serializers.DictField()
    signals = serializers.DictField()
    verdict = serializers.ChoiceField(
        choices=[Verdict.RESTATED, Verdict.VARIETY, Verdict.IRRELEVANT, Verdict.OUTRANKED]
    )
    needed = serializers.FloatField(help_text="The score of the last hit")
    other = serializers.UUIDField(
        allow_null=True, help_text="The memory that says the same, or the hit that it is too like"
    )
    reason = serializers.CharField()


class BreakpointSerializer(serializers.Serializer):
    section = serializers.ChoiceField(choices=PackSection.choices)
    characters = serializers.IntegerField(help_text="Code points of the text up to the section's end")
    tokens = serializers.IntegerField(help_text="Tokens of the text up to there")


class PrefixFields(serializers.Serializer):
    """Where a pack's text may be kept by a provider's prompt cache."""

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
    token_usage_original = serializers.IntegerField(help_text="Tokens of the raw material")
    token_usage_condensed = serializers.IntegerField(help_text="Tokens of `context_pack.text`")
    rerank_debug = RerankDebugSerializer(many=True, help_text="In the order of `raw_chunks`")
    dropped = DroppedSerializer(many=True, help_text="With `explain`: up to 20 candidates that did not come back")
    session_summary_id = serializers.UUIDField(allow_null=True)
    session_summary_cache_hit = serializers.BooleanField()
    session_summary_enqueued = serializers.BooleanField()
    context_pack_id = serializers.UUIDField(allow_null=True, help_text="null where no pack is kept")
    context_pack = serializers.DictField(
        help_text="All that was found; `text` is for the agent's prompt, `manifest` says what of it the text holds"
    )
    dry_run = serializers.BooleanField()
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="What did not work fully; `namespace_unknown`: there is no such namespace, and none was made",
    )
