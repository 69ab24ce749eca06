"""Requests in the form of mem0's API. Each serializer names the fields that MemOS ignores."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import (
    MetadataField,
    MomentField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictNumberField,
    StrictUUIDField,
)
from memory.api.mem0.filters import read_filters, read_plain_filters
from memory.api.message_fields import MAX_TEXT_CHARS, ContentField, RoleField
from memory.owners import KEYS, OWNERS
from memory.retrieval.filters import Filter, FilterError

MAX_MESSAGES, MAX_CHANGES, MAX_PAGE_SIZE, MAX_TOP_K = 1000, 1000, 1000, 100
PAGE_SIZE, TOP_K, MAX_PAGE = 100, 10, 10_000
_NOBODY = f"must name whose it is: one of {', '.join(OWNERS)}."
FEEDBACK = ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE")
EVENTS = ("ADD", "UPDATE", "DELETE")


class OwnerField(StrictCharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "min_length": 1, "max_length": 128, "default": None,
                            **options})  # fmt: skip


class OwnersSerializer(serializers.Serializer):
    """The owners of a memory."""

    user_id = OwnerField()
    agent_id = OwnerField()
    app_id = OwnerField()
    run_id = OwnerField()


@extend_schema_field({"type": "string", "example": "2026-12-31"})
class ExpirationField(serializers.Field):
    """A date such as `2026-12-31`. The memory is found until the end of that day (UTC)."""

    default_error_messages = {"invalid": "must be a date such as 2026-12-31.", "null": "must not be null."}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d(T.*)?", data):
            self.fail("invalid")
        try:
            return date.fromisoformat(data[:10]).isoformat()
        except ValueError:
            self.fail("invalid")

    def to_representation(self, value: str) -> str:
        return value


@extend_schema_field(
    {"anyOf": [{"type": "string"}, {"type": "number"}], "description": "ISO 8601, or seconds since 1970"}
)
class TimestampOrSecondsField(MomentField):
    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return super().to_internal_value(value)
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError):
            self.fail("invalid")


@extend_schema_field({"type": "object", "additionalProperties": {}, "description": "mem0's filter language"})
class Mem0FilterField(serializers.Field):
    """mem0's filters, parsed. In a query string they are JSON, or a dict as Python prints it."""

    def __init__(self, read: Callable[[Any], Filter | None] = read_filters, **options: Any) -> None:
        super().__init__(**options)
        self._read = read

    def to_internal_value(self, data: Any) -> Filter | None:
        try:
            return self._read(data)
        except FilterError as error:
            raise serializers.ValidationError({error.place: error.problem} if error.place else error.problem) from error

    def to_representation(self, value: Any) -> Any:
        return value


class Mem0TurnSerializer(serializers.Serializer):
    role = RoleField(required=False, default="user")
    content = ContentField()
    name = StrictCharField(required=False, allow_null=True, max_length=128, default=None, help_text="Who says it")


class AddMemoriesSerializer(OwnersSerializer):
    """Messages to remember.

    Ignored: options of mem0's extraction and classification (`custom_instructions`, `custom_categories`, `includes`,
    `structured_data_schema` and the like), and `async_mode`, because everything is stored before the answer is sent.
    """

    messages = Mem0TurnSerializer(many=True, min_length=1, max_length=MAX_MESSAGES)  # type: ignore[call-arg]
    metadata = MetadataField(required=False, allow_null=True, default=None, reserved=KEYS)
    infer = StrictBooleanField(required=False, allow_null=True, default=None)
    timestamp = TimestampOrSecondsField(required=False, allow_null=True, default=None)
    expiration_date = ExpirationField(required=False, allow_null=True, default=None)
    filters = OwnersSerializer(required=False, allow_null=True, default=None, help_text="Another place for the ids")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in OWNERS:
            attrs[name] = attrs[name] or (attrs["filters"] or {}).get(name)
        if not any(attrs[name] for name in OWNERS):
            raise serializers.ValidationError({"user_id": _NOBODY})
        return attrs


class _NarrowedSerializer(serializers.Serializer):
    categories = serializers.ListField(
        child=StrictCharField(max_length=200), required=False, allow_null=True, default=None, max_length=50
    )
    show_expired = StrictBooleanField(required=False, allow_null=True, default=False)


class SearchMemoriesSerializer(_NarrowedSerializer):
    """A search.

    Ignored: `rerank` and `keyword_search` (words and meaning are always searched), `reference_date`, `latest_only`
    (superseded memories are never found), `version` and `output_format`.
    """

    query = StrictCharField(min_length=1, max_length=2000)
    filters = Mem0FilterField(help_text="Must name a user, agent, app or run")
    metadata = MetadataField(required=False, allow_null=True, default=None)
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=TOP_K)
    threshold = StrictNumberField(
        min_value=0, max_value=1, required=False, allow_null=True, default=None, help_text="The least relevance"
    )
    fields = serializers.ListField(child=StrictCharField(max_length=100), required=False, allow_null=True, default=None)  # type: ignore[assignment]


class SearchMemoriesV1Serializer(OwnersSerializer, _NarrowedSerializer):
    """A search in version 1 of the API. Ids that are left out do not narrow it."""

    query = StrictCharField(min_length=1, max_length=2000)
    metadata = MetadataField(required=False, allow_null=True, default=None)
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=None)
    limit = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=None)
    threshold = StrictNumberField(min_value=0, max_value=1, required=False, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not any(attrs[name] for name in OWNERS):
            raise serializers.ValidationError({"user_id": _NOBODY})
        return attrs


class PageSerializer(serializers.Serializer):
    page = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, required=False, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=MAX_PAGE_SIZE, required=False, default=PAGE_SIZE)


class ListMemoriesSerializer(_NarrowedSerializer):
    filters = Mem0FilterField(help_text="Must name a user, agent, app or run")
    start_date = MomentField(required=False, allow_null=True, default=None, help_text="Created at that time or later")
    end_date = MomentField(required=False, allow_null=True, default=None, help_text="Created by that time")
    latest_only = StrictBooleanField(
        required=False, allow_null=True, default=False, help_text="Without memories that were superseded"
    )


class OwnersQuerySerializer(serializers.Serializer):
    """The owners whose memories are meant. All given ids must match, and ids that are left out do not matter."""

    user_id = OwnerField(allow_null=False)
    agent_id = OwnerField(allow_null=False)
    app_id = OwnerField(allow_null=False)
    run_id = OwnerField(allow_null=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not any(attrs.get(name) for name in OWNERS):
            raise serializers.ValidationError({"user_id": _NOBODY})
        return attrs


class OwnersPageSerializer(OwnersQuerySerializer, PageSerializer):
    pass


class DeleteMemoriesSerializer(OwnersQuerySerializer):
    filters = StrictCharField(
        required=False, max_length=2000, help_text="The ids as one object, as JSON or as Python writes it"
    )

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(said := data.get("filters"), str):
            data = {**{name: str(value) for name, value in _read_object(said).items()}, **data}
        # If a misspelt id were ignored, more would be deleted than was meant.
        if unknown := sorted(set(data) - set(self.fields) - {"org_id", "project_id", "source"}):
            raise serializers.ValidationError(dict.fromkeys(unknown, "is not supported here: name ids only."))
        return super().to_internal_value(data)


def _read_object(text: str) -> dict[str, Any]:
    """Read the object in a query parameter: JSON, or a dict as Python prints it, as mem0's Python client sends."""
    for read in (orjson.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, dict) and all(isinstance(name, str) for name in found):
            return found
    raise serializers.ValidationError({"filters": "must be an object with ids."})


class UpdateMemorySerializer(serializers.Serializer):
    text = StrictCharField(required=False, min_length=1, max_length=MAX_TEXT_CHARS)
    metadata = MetadataField(required=False, help_text="It takes the place of the client's own", reserved=KEYS)
    timestamp = TimestampOrSecondsField(required=False)
    expiration_date = ExpirationField(required=False, allow_null=True, help_text="null takes it away")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.keys() & {"text", "metadata", "timestamp", "expiration_date"}:
            raise serializers.ValidationError("Give text, metadata, timestamp or expiration_date.")
        return attrs


class MemoryUpdateSerializer(UpdateMemorySerializer):
    memory_id = StrictUUIDField()


class UpdateManySerializer(serializers.Serializer):
    memories = MemoryUpdateSerializer(many=True, min_length=1, max_length=MAX_CHANGES)  # type: ignore[call-arg]


class MemoryToDeleteSerializer(serializers.Serializer):
    memory_id = StrictUUIDField()


class DeleteManySerializer(serializers.Serializer):
    memories = MemoryToDeleteSerializer(many=True, min_length=1, max_length=MAX_CHANGES)  # type: ignore[call-arg]


class DeleteOneSerializer(serializers.Serializer):
    delete_linked = serializers.BooleanField(
        required=False, default=False, help_text="Also the memories that this one superseded"
    )


class Mem0FeedbackSerializer(serializers.Serializer):
    memory_id = StrictUUIDField()
    feedback = serializers.ChoiceField(FEEDBACK, help_text="NEGATIVE and VERY_NEGATIVE: the memory is wrong")
    feedback_reason = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=500, default=None)


class SearchServerSerializer(_NarrowedSerializer):
    """A search on the open-source server."""

    query = StrictCharField(min_length=1, max_length=2000)
    user_id = OwnerField()
    agent_id = OwnerField()
    run_id = OwnerField()
    filters = Mem0FilterField(read_plain_filters, required=False, allow_null=True, default=None)
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=None)
    limit = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=None)
    threshold = StrictNumberField(min_value=0, max_value=1, required=False, allow_null=True, default=None)

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        said = data.get("filters")
        named = {name for name in OWNERS if values.get(name) or (isinstance(said, dict) and said.get(name))}
        if not named:
            raise serializers.ValidationError({"user_id": _NOBODY})
        return values
