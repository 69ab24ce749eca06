from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import FilterField, MomentField, StrictBooleanField, StrictCharField, StrictIntegerField
from memory.enums import Verdict

MAX_PACK_TOKENS = 200_000


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


class QuerySerializer(RetrievalFields):
    """A question to a namespace's memory, asked in a session."""

    session_id = StrictCharField(min_length=1, max_length=128)
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
    metadata = serializers.DictField(
        help_text="Your own, and role, speaker, session_id, turn, occurred_at, created_at, overlap, rerank_score; "
        "`document` for a document's chunk"
    )


class ExplanationSerializer(serializers.Serializer):
    method = serializers.CharField()
    components = serializers.DictField(
        help_text="Each arm's raw score, rank, weight and weighted share; the shares sum to `final`"
    )


class DroppedSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField(help_text="Place among all candidates, before restatements and variety; from 1")
    final = serializers.FloatField(help_text="Its score, the sum of its parts")
    arms = serializers.DictField()
    signals = serializers.DictField()
    verdict = serializers.ChoiceField(choices=[Verdict.RESTATED, Verdict.VARIETY, Verdict.OUTRANKED])
    needed = serializers.FloatField(help_text="The score of the last hit")
    other = serializers.UUIDField(
        allow_null=True, help_text="The memory that says the same, or the hit that it is too like"
    )
    reason = serializers.CharField()


class AnswerSerializer(serializers.Serializer):
    id = serializers.UUIDField(allow_null=True)
    source_tier = serializers.CharField()
    similarity = serializers.FloatField(help_text="The best cosine similarity")
    raw_chunks = ChunkSerializer(many=True)
    condensed_summary = serializers.CharField()
    token_usage_original = serializers.IntegerField(help_text="Tokens of the raw material")
    token_usage_condensed = serializers.IntegerField(help_text="Tokens of `context_pack.text`")
    rerank_debug = ExplanationSerializer(many=True)
    dropped = DroppedSerializer(many=True, help_text="With `explain`: up to 20 candidates that did not come back")
    session_summary_id = serializers.UUIDField(allow_null=True)
    session_summary_cache_hit = serializers.BooleanField()
    session_summary_enqueued = serializers.BooleanField()
    context_pack_id = serializers.UUIDField(allow_null=True, help_text="null for a dry run, which keeps no pack")
    context_pack = serializers.DictField(
        help_text="All that was found; `text` is for the agent's prompt, `manifest` says what of it the text holds"
    )
    dry_run = serializers.BooleanField()
    degraded = serializers.ListField(child=serializers.CharField())
