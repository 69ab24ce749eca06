from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.fields import StrictCharField, StrictIntegerField
from memory.api.serializers.query import QuestionFields
from memory.enums import AnswerMode, NoAnswer

LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS, ANSWER_TOKENS = 16, 1000, 60


class QuestionSerializer(QuestionFields):
    """A question to a namespace's memory that is to be answered, not only looked up."""

    top_k = StrictIntegerField(
        min_value=1,
        max_value=50,
        required=False,
        default=10,
        help_text="Memories to bring back; ten at most are quoted",
    )
    session_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        help_text="The session that the context pack is of; left out: that of the day, named by its UTC date",
    )
    max_tokens = StrictIntegerField(
        min_value=LEAST_ANSWER_TOKENS,
        max_value=MOST_ANSWER_TOKENS,
        required=False,
        default=ANSWER_TOKENS,
        help_text="Tokens that `answer` may have",
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        attrs: dict[str, Any] = super().to_internal_value(data)
        if unknown := sorted(set(data) - set(self.fields.keys())):
            raise serializers.ValidationError(dict.fromkeys(unknown, "is no field of this request."))
        return attrs


class CitationSerializer(serializers.Serializer):
    n = serializers.IntegerField(help_text="The memory's number in `answer`, from 1")
    memory_id = serializers.UUIDField()
    quote = serializers.CharField(help_text="Word for word as in the memory")
    speaker = serializers.CharField(help_text="Who said it; empty where that is not known")
    occurred_at = serializers.DateTimeField(help_text="When it was said")
    marked = serializers.BooleanField(
        help_text="Whether `answer` puts it in quotation marks: it may try to steer its reader, or a newer memory says "
        "it in the place of what is quoted before it"
    )


class CitedAnswerSerializer(serializers.Serializer):
    answer = serializers.CharField(
        help_text="A line for each memory, with its number in brackets; without one, the sentence that says so"
    )
    citations = CitationSerializer(many=True, help_text="Each quote of `answer`, in order; none when it abstains")
    abstained = serializers.BooleanField(help_text="Whether no memory answers the question")
    reason = serializers.ChoiceField(choices=NoAnswer.choices, allow_null=True, help_text="Why it abstains")
    mode = serializers.ChoiceField(choices=AnswerMode.choices)
    context_pack_id = serializers.UUIDField(allow_null=True, help_text="null where no pack is kept")
    tokens = serializers.IntegerField(help_text="Of `answer`")
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="What did not work fully; `namespace_unknown`: there is no such namespace, and none was made",
    )
    request_id = serializers.CharField()
