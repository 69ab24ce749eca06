"""Requests and answers in the form of hindsight's API. Each serializer names the fields that MemOS ignores."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import (
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictNumberField,
    StrictUUIDField,
)
from memory.api.hindsight.tags import TagMatch
from memory.api.message_fields import MAX_TEXT_CHARS
from memory.api.serializers.answer import ResponseSchemaField
from memory.api.serializers.ingest import OutcomeSerializer
from memory.enums import MemoryState

MAX_ITEMS, MAX_TAGS, MAX_OFFSET = 1000, 20, 10_000
# Number of memories that each budget returns.
BUDGETS = {"low": 10, "mid": 25, "high": 50}
FACT_TYPES = ("world", "experience", "observation")
STATES = {"valid": MemoryState.ACTIVE, "invalidated": MemoryState.ARCHIVED}
_GROUPS_SAY = "is not supported: give `tags` and `tags_match`. Memories that a group excludes would come back."
_WINDOW_SAYS = "is not supported: say the time in `query`."


class TagsField(serializers.ListField):
    child = StrictCharField(min_length=1, max_length=128)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, "max_length": MAX_TAGS, **options})


@extend_schema_field(
    {
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
            {"type": "array", "items": {"type": "object", "required": ["type"]}},
        ],
        "description": "Text, or blocks of text",
    }
)
class BlocksField(serializers.Field):
    """Text, or a list of blocks of type `text`, read as one text."""

    default_error_messages = {
        "required": "is missing.",
        "invalid": "must be text, or a list of blocks of the type `text`.",
        "other": "has a block that is no text: images and files are not read. Send files to POST /v1/documents.",
        "empty": "must not be empty.",
        "long": f"has more than {MAX_TEXT_CHARS} characters.",
    }

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, list):
            if not all(isinstance(block, dict) for block in data):
                self.fail("invalid")
            if any(block.get("type") != "text" or not isinstance(block.get("text"), str) for block in data):
                self.fail("other")
            data = "\n".join(block["text"] for block in data)
        if not isinstance(data, str):
            self.fail("invalid")
        if not data.strip():
            self.fail("empty")
        if len(data) > MAX_TEXT_CHARS:
            self.fail("long")
        return StrictCharField(trim_whitespace=False).run_validation(data)


@extend_schema_field({"type": "string", "nullable": True, "description": "ISO 8601, or `unset` for none"})
class TimestampField(MomentField):
    def to_internal_value(self, value: Any) -> datetime | None:  # type: ignore[override]
        return None if value == "unset" else super().to_internal_value(value)


class RetainItemSerializer(serializers.Serializer):
    """An item to remember.

    Ignored: `entities` and `resolve_entities` (MemOS finds entities itself), `observation_scopes` and `strategy`.
    """

    content = BlocksField()
    timestamp = TimestampField(required=False, allow_null=True, default=None)
    context = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=2000, default=None)  # type: ignore[assignment]
    document_id = StrictCharField(
        required=False, allow_null=True, min_length=1, max_length=128, default=None, help_text="The session it goes to"
    )
    metadata = serializers.DictField(
        child=StrictCharField(allow_blank=True, max_length=2000), required=False, allow_null=True, default=None
    )
    tags = TagsField()
    update_mode = serializers.ChoiceField(
        ["append"], required=False, allow_null=True, default=None, help_text="Earlier contents of a document stay"
    )


class RetainSerializer(serializers.Serializer):
    """Items to remember. They are stored before the answer is sent, even with `async`."""

    items = RetainItemSerializer(many=True, min_length=1, max_length=MAX_ITEMS)  # type: ignore[call-arg]
    document_tags = TagsField()
    operation_id = StrictUUIDField(
        required=False, allow_null=True, default=None, help_text="As an Idempotency-Key: sent again, stored once"
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        return {**super().get_fields(), "async": StrictBooleanField(required=False, allow_null=True, default=False)}


class RetainedSerializer(serializers.Serializer):
    success = serializers.BooleanField()
    bank_id = serializers.CharField()
    items_count = serializers.IntegerField(help_text="Of the items, how many are memories now")
    operation_id = serializers.UUIDField(allow_null=True)
    outcomes = OutcomeSerializer(many=True, help_text="What the gate says of each item, in their order")

    def get_fields(self) -> dict[str, serializers.Field]:
        return {**super().get_fields(), "async": serializers.BooleanField(help_text="Always false: it is done")}


class HindsightQuestionSerializer(serializers.Serializer):
    query = StrictCharField(min_length=1, max_length=2000)
    budget = serializers.ChoiceField(list(BUDGETS), required=False, allow_null=True, default="mid")
    tags = TagsField()
    tags_match = serializers.ChoiceField(TagMatch.choices, required=False, allow_null=True, default=TagMatch.ANY)
    tag_groups = serializers.JSONField(required=False, allow_null=True, default=None, help_text=f"It {_GROUPS_SAY}")

    def validate_tag_groups(self, value: Any) -> None:
        if value:
            raise serializers.ValidationError(_GROUPS_SAY)


class MinScoresSerializer(serializers.Serializer):
    semantic = StrictNumberField(required=False, allow_null=True, default=None)
    keyword = StrictNumberField(required=False, allow_null=True, default=None)
    reranker = StrictNumberField(required=False, allow_null=True, default=None)
    final = StrictNumberField(required=False, allow_null=True, default=None)


class BankRecallSerializer(HindsightQuestionSerializer):
    """A question to a bank. Ignored: `trace`, `prefer_observations`, `query_timestamp` and `include`."""

    types = serializers.ListField(
        child=serializers.ChoiceField(FACT_TYPES), required=False, allow_null=True, default=None
    )
    max_tokens = StrictIntegerField(min_value=1, max_value=200_000, required=False, allow_null=True, default=4096)
    min_scores = MinScoresSerializer(required=False, allow_null=True, default=None)
    temporal_window = serializers.JSONField(required=False, allow_null=True, default=None, help_text=_WINDOW_SAYS)

    def validate_temporal_window(self, value: Any) -> None:
        if value:
            raise serializers.ValidationError(_WINDOW_SAYS)


class BankScoresSerializer(serializers.Serializer):
    final = serializers.FloatField(help_text="The relevance, 0 to 1")
    reranker = serializers.FloatField(allow_null=True)
    semantic = serializers.FloatField(help_text="Cosine similarity")
    keyword = serializers.FloatField(help_text="BM25")


class BankMemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField()
    type = serializers.ChoiceField(FACT_TYPES, help_text="`experience`: an agent's own; `world`: all others")
    context = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    occurred_start = serializers.DateTimeField()
    occurred_end = serializers.DateTimeField(allow_null=True)
    mentioned_at = serializers.DateTimeField()
    document_id = serializers.CharField(allow_null=True)
    metadata = serializers.DictField(child=serializers.CharField(), allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())


class BankHitSerializer(BankMemorySerializer):
    scores = BankScoresSerializer()


class BankRecallAnswerSerializer(serializers.Serializer):
    results = BankHitSerializer(many=True, help_text="Best first")


class ReflectIncludeSerializer(serializers.Serializer):
    facts = serializers.DictField(required=False, allow_null=True, default=None)


class ReflectSerializer(HindsightQuestionSerializer):
    """A question to be answered. Options for mental models, directives and tool calls are ignored."""

    context = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=1000, default=None)  # type: ignore[assignment]
    max_tokens = StrictIntegerField(min_value=1, required=False, allow_null=True, default=None)
    include = ReflectIncludeSerializer(required=False, allow_null=True, default=None)
    response_schema = ResponseSchemaField(required=False, allow_null=True, default=None)


class BasedOnSerializer(serializers.Serializer):
    memories = BankMemorySerializer(many=True)
    mental_models = serializers.ListField(child=serializers.DictField())
    directives = serializers.ListField(child=serializers.DictField())


class TokensSpentSerializer(serializers.Serializer):
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()


class ReflectedSerializer(serializers.Serializer):
    text = serializers.CharField(allow_blank=True)
    based_on = BasedOnSerializer(allow_null=True, help_text="With `include.facts`: the memories that are cited")
    structured_output = serializers.DictField(allow_null=True)
    usage = TokensSpentSerializer()


class MemoryUnitListingSerializer(serializers.Serializer):
    q = StrictCharField(required=False, min_length=1, max_length=200, help_text="Words that must all be in it")
    type = serializers.ChoiceField(FACT_TYPES, required=False)
    document_id = StrictCharField(required=False, min_length=1, max_length=128)
    state = serializers.ChoiceField(list(STATES), required=False, default="valid")
    limit = serializers.IntegerField(min_value=1, max_value=1000, required=False, default=100)
    offset = serializers.IntegerField(min_value=0, max_value=MAX_OFFSET, required=False, default=0)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        values: dict[str, Any] = super().to_internal_value(data)
        if unknown := sorted(set(data) - set(self.fields)):
            raise serializers.ValidationError(dict.fromkeys(unknown, "is not supported here; recall takes `tags`."))
        return values


class MemoryUnitSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField()
    context = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    date = serializers.CharField()
    fact_type = serializers.ChoiceField(FACT_TYPES)
    document_id = serializers.CharField(allow_null=True)
    mentioned_at = serializers.DateTimeField()
    occurred_start = serializers.DateTimeField()
    tags = serializers.ListField(child=serializers.CharField())
    metadata = serializers.DictField(child=serializers.CharField())
    state = serializers.ChoiceField(list(STATES))


class MemoryUnitListSerializer(serializers.Serializer):
    items = MemoryUnitSerializer(many=True, help_text="Newest recorded first")
    total = serializers.IntegerField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()


class BankSerializer(serializers.Serializer):
    """A bank to create. Its configuration (missions, dispositions, retrieval arms) is ignored."""

    name = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=200, default=None)


class BankDeletedSerializer(serializers.Serializer):
    success = serializers.BooleanField()
    message = serializers.CharField()
    deleted_count = serializers.IntegerField(help_text="Memories; each can be restored")


class DispositionSerializer(serializers.Serializer):
    skepticism = serializers.IntegerField(min_value=1, max_value=5)
    literalism = serializers.IntegerField(min_value=1, max_value=5)
    empathy = serializers.IntegerField(min_value=1, max_value=5)


class BankProfileSerializer(serializers.Serializer):
    bank_id = serializers.CharField()
    name = serializers.CharField()
    disposition = DispositionSerializer(help_text="Always the middle: MemOS has none")
    mission = serializers.CharField(allow_blank=True, help_text="Always empty: MemOS has none")
