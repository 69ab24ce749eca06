from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import DegradedField, StrictBooleanField, StrictCharField, StrictIntegerField
from memory.api.serializers.ingest import OutcomeSerializer
from memory.api.serializers.pack import WhoseFields
from memory.api.serializers.query import CubesField, PrefixFields, QuestionFields
from memory.enums import AnswerMode, NoAnswer, Role
from memory.text.response_schemas import find_schema_fault

LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS = 16, 1000
# The defaults of `max_tokens` for quotes and for text that a model writes.
QUOTED_TOKENS, WRITTEN_TOKENS = 120, 400


@extend_schema_field({"type": "object", "additionalProperties": True, "nullable": True})
class ResponseSchemaField(serializers.Field):
    """A JSON schema (memory.text.response_schemas) that the model's answer has to follow."""

    default_error_messages = {"invalid": "must be a JSON schema, which is an object.", "required": "is missing."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        if fault := find_schema_fault(data):
            raise serializers.ValidationError({fault.place: fault.problem} if fault.place else fault.problem)
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value


class AnswerFields(QuestionFields):
    """The options of an answer."""

    top_k = StrictIntegerField(
        min_value=1,
        max_value=50,
        required=False,
        default=10,
        help_text="Memories to bring back; ten at most are quoted",
    )
    cubes = CubesField(
        help_text="Cubes that are searched beside the namespace, where alone anything is remembered; no pack is kept"
    )
    session_id = StrictCharField(
        required=False,
        min_length=1,
        max_length=128,
        help_text="The session whose window and summary come along; left out: that of the day, named by its date",
    )
    model = StrictCharField(
        required=False,
        allow_null=True,
        default=None,
        max_length=200,
        help_text="`extractive` quotes; `provider/model` names one of the configured ones. Left out: the configured "
        "one for answers, or quotes where there is none",
    )
    max_tokens = StrictIntegerField(
        min_value=LEAST_ANSWER_TOKENS,
        max_value=MOST_ANSWER_TOKENS,
        required=False,
        help_text=f"Tokens that `answer` may have; left out: {QUOTED_TOKENS} for quotes, {WRITTEN_TOKENS} for a model",
    )
    response_schema = ResponseSchemaField(
        required=False,
        allow_null=True,
        default=None,
        help_text="A JSON schema (of an object) that a model's answer is to follow; it comes in `structured_output`",
    )


class QuestionSerializer(AnswerFields):
    """A question to be answered from a namespace's memories, not only looked up."""

    remember = StrictBooleanField(
        required=False,
        default=False,
        help_text="Remember question and answer as turns of the session; needs the scope `write`",
    )


class CitationSerializer(WhoseFields):
    n = serializers.IntegerField(help_text="The memory's number in `answer`, from 1")
    memory_id = serializers.UUIDField()
    quote = serializers.CharField(allow_blank=True, help_text="Word for word as in the memory")
    speaker = serializers.CharField(allow_blank=True, help_text="Who said it; empty where that is not known")
    occurred_at = serializers.DateTimeField(help_text="When it was said")
    place = serializers.CharField(
        allow_blank=True, help_text="Of a document's chunk: its page and headings, as `page 3, Invoices > Totals`"
    )
    marked = serializers.BooleanField(
        help_text="Whether it is to be read as a quotation: it may try to steer its reader, or a newer memory says "
        "it in the place of what is quoted before it"
    )
    at = serializers.IntegerField(
        allow_null=True, help_text="Where `[n]` stands in `answer`, in characters; null where it is not written"
    )
    supported = serializers.BooleanField(
        help_text="Whether the memory says what it is cited for: its numbers, dates, names and half of the words"
    )


class UsageSerializer(serializers.Serializer):
    prompt = serializers.IntegerField(allow_null=True, help_text="Tokens of the prompt, as the provider counts them")
    completion = serializers.IntegerField(allow_null=True, help_text="Tokens of the answer")
    cached = serializers.IntegerField(allow_null=True, help_text="Tokens of the prompt that its cache held")


class RememberedTurnSerializer(OutcomeSerializer):
    role = serializers.ChoiceField(choices=Role.choices)


class CitedAnswerSerializer(PrefixFields):
    answer = serializers.CharField(
        help_text="Quotes: a line for each memory, with its number in brackets. A model: its text, with the numbers of "
        "memories in brackets. Without an answer, the sentence that says so"
    )
    citations = CitationSerializer(many=True, help_text="What `answer` cites, in order; none when it abstains")
    uncited = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences of a model, or values of its JSON, that cite no memory"
    )
    abstained = serializers.BooleanField(help_text="Whether no memory answers the question")
    reason = serializers.ChoiceField(choices=NoAnswer.choices, allow_null=True, help_text="Why it abstains")
    mode = serializers.ChoiceField(choices=AnswerMode.choices)
    model = serializers.CharField(allow_null=True, help_text="The model that wrote it, as `provider/model`")
    structured_output = serializers.DictField(allow_null=True, help_text="What follows `response_schema`")
    context_pack_id = serializers.UUIDField(allow_null=True, help_text="null where no pack is kept")
    tokens = serializers.IntegerField(help_text="Of `answer`")
    usage = UsageSerializer(help_text="Of the model's call; null where it does not say, or none was made")
    cost = serializers.FloatField(allow_null=True, help_text="Dollars of the call; null where no price is known")
    ttft_ms = serializers.IntegerField(allow_null=True, help_text="Milliseconds to the model's first token")
    remembered = RememberedTurnSerializer(
        many=True,
        allow_null=True,
        help_text="What became of question and answer as turns; null: nothing was to be kept",
    )
    degraded = DegradedField(
        help_text="What did not work fully; `llm_unavailable`, `budget_exceeded`: quotes in the place of a model's "
        "answer; `answer_cut_off`: it is longer than `max_tokens`; `namespace_unknown`: there is no such namespace",
    )
    request_id = serializers.CharField()
