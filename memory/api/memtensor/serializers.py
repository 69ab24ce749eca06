"""Requests in the form of MemTensor's API. Each serializer names the fields that MemOS ignores."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

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
from memory.api.memtensor.filters import TAGS, read_filter
from memory.api.message_fields import MAX_TEXT_CHARS, Content, ContentField, RoleField
from memory.owners import KEYS
from memory.retrieval.filters import FilterError

MAX_CUBES, MAX_MESSAGES, MAX_TURNS, MAX_TAGS, MAX_IDS = 20, 1000, 1000, 20, 200
MAX_TOP_K, MAX_PAGE, MAX_PAGE_SIZE = 100, 10_000, 1000
MAX_QUERY_CHARS, MAX_CHAT_CHARS = 2000, 8000
RESERVED = (*KEYS, TAGS)
# Formats besides ISO 8601, from the datasets that MemTensor's scripts read.
_CHAT_TIME_FORMS = ("%I:%M %p on %d %B, %Y UTC", "%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M")
MEMORY_TYPES = ("text_mem", "act_mem", "para_mem", "pref_mem")
_NO_PATHS = (
    "is not read: this server opens no paths. Send a text in `memory_content`, or the file to POST /v1/documents."
)


class NameField(StrictCharField):
    """A name of 1 to 128 characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_length": 1, "max_length": 128, **options})


class OptionalNameField(NameField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})


class CubeNamesField(serializers.ListField):
    """Cubes, each by its id or by the name of its namespace."""

    default_error_messages = {"not_a_list": "must be a list.", "max_length": "has more than {max_length} cubes."}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{"required": False, "allow_null": True, "default": None, "max_length": MAX_CUBES, **options},
            child=NameField(),
        )


@extend_schema_field(
    {"type": "string", "maxLength": 0, "nullable": True, "description": "Refused: this server opens no paths"}
)
class RefusedPathField(serializers.Field):
    """A path on the server, which is never opened. Only null and an empty path are allowed."""

    default_error_messages = {"path": _NO_PATHS}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})

    def to_internal_value(self, data: Any) -> None:
        if data != "":
            self.fail("path")


class NotDoneField(StrictBooleanField):
    """A flag for a feature that MemOS does not have. true is refused with `says`."""

    def __init__(self, says: str, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})
        self._says = says

    def to_internal_value(self, data: Any) -> bool:
        if super().to_internal_value(data):
            raise serializers.ValidationError(self._says)
        return False


class OptionalFlagField(StrictBooleanField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})


@extend_schema_field({"type": "object", "additionalProperties": {}, "nullable": True,
                      "description": "MemTensor's filter language"})  # fmt: skip
class MemTensorFilterField(serializers.Field):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})

    def to_internal_value(self, data: Any) -> Any:
        try:
            return read_filter(data)
        except FilterError as error:
            raise serializers.ValidationError({error.place: error.problem} if error.place else error.problem) from error

    def to_representation(self, value: Any) -> Any:
        return value


def read_chat_time(text: str | None) -> datetime | None:
    """Return the time that a `chat_time` names, in UTC unless it has an offset, or None if MemOS cannot parse it."""
    if not text:
        return None
    for form in _CHAT_TIME_FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    with suppress(serializers.ValidationError):
        return MomentField().run_validation(text)
    return None


class MemTensorMessageSerializer(serializers.Serializer):
    role = RoleField(required=False, default="user")
    content = ContentField()
    name = OptionalNameField(help_text="Who says it")
    chat_time = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=100, default=None,
        help_text="When it was said: ISO 8601, or as `01:56 PM on 08 May, 2023`; kept as it is written",
    )  # fmt: skip


@extend_schema_field(
    {
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
            {"type": "array", "maxItems": MAX_MESSAGES, "minItems": 1, "items": {"type": "object"}},
        ],
        "nullable": True,
        "description": "A text, or messages {role, content, name, chat_time}; parts that are no text are left out",
    }
)
class MemTensorMessagesField(serializers.Field):
    """Messages, validated. It is None if there are none."""

    default_error_messages = {
        "invalid": "must be a text or a list of messages.",
        "empty": "must not be empty.",
        "many": f"has more than {MAX_MESSAGES} messages.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": None, **options})

    def to_internal_value(self, data: Any) -> list[dict[str, Any]]:
        if isinstance(data, str):
            data = [{"content": data}]
        if not isinstance(data, list):
            self.fail("invalid")
        if not data or data == [{"content": ""}]:
            self.fail("empty")
        if len(data) > MAX_MESSAGES:
            self.fail("many")
        return MemTensorMessageSerializer(many=True).run_validation(data)


class WhoSerializer(serializers.Serializer):
    """The user and the session of a request."""

    user_id = NameField()
    session_id = OptionalNameField()
    conversation_id = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=128, default=None, help_text="The same"
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        values: dict[str, Any] = super().to_internal_value(data)
        conversation = values.pop("conversation_id")
        return {**values, "session_id": values["session_id"] or conversation or None}


class AddMemorySerializer(WhoSerializer):
    """Messages to remember.

    Ignored: `chat_history` (the session's own turns are used), `async_mode` and `mode`, because everything is stored
    and can be found before the answer is sent.
    """

    user_id = NameField(required=False, default="default", help_text="Whose it is")
    task_id = OptionalNameField()
    manager_user_id = OptionalNameField()
    project_id = OptionalNameField()
    writable_cube_ids = CubeNamesField(help_text="Each of them remembers all of it")
    mem_cube_id = OptionalNameField(help_text="The same for one")
    async_mode = serializers.ChoiceField(["async", "sync"], required=False, allow_null=True, default=None)
    mode = serializers.ChoiceField(["fast", "fine"], required=False, allow_null=True, default=None)
    messages = MemTensorMessagesField()
    memory_content = StrictCharField(
        required=False, allow_null=True, min_length=1, max_length=MAX_TEXT_CHARS, default=None,
        help_text="Instead of `messages`: what the user says",
    )  # fmt: skip
    doc_path = RefusedPathField()
    source = OptionalNameField(help_text="Where it is from")  # type: ignore[assignment]
    custom_tags = serializers.ListField(
        child=NameField(), required=False, allow_null=True, default=None, max_length=MAX_TAGS
    )
    info = MetadataField(required=False, allow_null=True, default=None, reserved=RESERVED)
    is_feedback = NotDoneField("is not done here: send what is said of memories to POST /product/feedback.")
    is_upload_skill = NotDoneField("is not done: MemOS keeps no skills. Send their texts as messages.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["messages"] is None) == (attrs["memory_content"] is None):
            raise serializers.ValidationError({"messages": "send either `messages` or `memory_content`."})
        if attrs["memory_content"] is not None:
            content = Content(attrs["memory_content"])
            attrs["messages"] = [{"role": "user", "content": content, "name": None, "chat_time": None}]
        cubes = list_cubes(attrs, "writable_cube_ids")
        if len(attrs["messages"]) * max(1, len(cubes)) > MAX_TURNS:
            raise serializers.ValidationError(
                {"messages": f"are more than {MAX_TURNS} when each of {len(cubes)} cubes remembers them: send fewer."}
            )
        return attrs


class SearchMemorySerializer(WhoSerializer):
    """A search.

    Ignored: `session_id`, `mode`, `dedup`, `rerank`, `chat_history`, `threshold`, `neighbor_discovery`,
    `reference_time` and all options for tools and skills, which MemOS stores as text.
    """

    query = StrictCharField(min_length=1, max_length=MAX_QUERY_CHARS)
    user_id = NameField(required=False, default="default")
    readable_cube_ids = CubeNamesField(help_text="All of them are searched")
    install_cube_ids = CubeNamesField(help_text="The same, as the classic route has it")
    mem_cube_id = OptionalNameField(help_text="The same for one")
    top_k = StrictIntegerField(min_value=1, max_value=MAX_TOP_K, required=False, default=10)
    relativity = StrictNumberField(
        min_value=0, max_value=1, required=False, allow_null=True, default=None, help_text="The least relevance"
    )
    filter = MemTensorFilterField()
    search_memory_type = serializers.ChoiceField(["All"], required=False, allow_null=True, default=None)
    include_preference = OptionalFlagField(help_text="false: `pref_mem` stays empty")
    pref_top_k = StrictIntegerField(
        min_value=0, max_value=MAX_TOP_K, required=False, default=6, help_text="So many preferences besides, at most"
    )
    internet_search = OptionalFlagField(help_text="Not done: `message` says so")


class ListAllSerializer(serializers.Serializer):
    user_id = NameField(required=False, default="default")
    mem_cube_ids = CubeNamesField()
    mem_cube_id = OptionalNameField(help_text="The same for one")
    memory_type = serializers.ChoiceField(MEMORY_TYPES, required=False, allow_null=True, default=None)
    search_query = StrictCharField(
        required=False, allow_null=True, min_length=1, max_length=MAX_QUERY_CHARS, default=None,
        help_text="Only what answers it",
    )  # fmt: skip


class ListMemorySerializer(serializers.Serializer):
    user_id = NameField(required=False, default="default")
    mem_cube_id = OptionalNameField()
    filter = MemTensorFilterField()
    page = StrictIntegerField(min_value=1, max_value=MAX_PAGE, required=False, allow_null=True, default=None)
    page_size = StrictIntegerField(min_value=1, max_value=MAX_PAGE_SIZE, required=False, allow_null=True, default=None)


class MemoryIdsSerializer(serializers.Serializer):
    memory_ids = serializers.ListField(child=StrictUUIDField(), min_length=1, max_length=MAX_IDS)


class DeleteMemorySerializer(serializers.Serializer):
    writable_cube_ids = CubeNamesField()
    mem_cube_id = OptionalNameField(help_text="The same for one")
    user_id = OptionalNameField(help_text="Only what belongs to this user")
    session_id = OptionalNameField(help_text="Only what was said in this session")
    conversation_id = OptionalNameField(help_text="The same")
    memory_ids = serializers.ListField(
        child=StrictUUIDField(), required=False, allow_null=True, default=None, max_length=MAX_IDS
    )
    file_ids = serializers.ListField(
        child=NameField(), required=False, allow_null=True, default=None, max_length=0,
        help_text="Refused: DELETE /v1/documents/{document_id} deletes a document",
        error_messages={"max_length": "is not done here: DELETE /v1/documents/… deletes a document."},
    )  # fmt: skip
    filter = MemTensorFilterField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        narrows = [name for name in ("filter", "user_id", "session_id", "conversation_id") if attrs[name] is not None]
        if not attrs["memory_ids"] and not narrows:
            raise serializers.ValidationError(
                {"memory_ids": "name what is to be deleted: memory_ids, a filter, a user_id or a session_id."}
            )
        if attrs["memory_ids"] and attrs["filter"] is not None:
            raise serializers.ValidationError({"filter": "must not come with `memory_ids`."})
        return attrs


class MemTensorFeedbackSerializer(WhoSerializer):
    """Feedback on memories. Ignored: `history`, `async_mode` and `task_id`."""

    feedback_content = StrictCharField(min_length=1, max_length=MAX_TEXT_CHARS)
    feedback_time = MomentField(required=False, allow_null=True, default=None)
    retrieved_memory_ids = serializers.ListField(
        child=StrictUUIDField(), required=False, allow_null=True, default=None, max_length=MAX_IDS
    )
    writable_cube_ids = CubeNamesField()
    mem_cube_id = OptionalNameField(help_text="The same for one")
    corrected_answer = OptionalFlagField(help_text="Not done: `message` says so")
    info = MetadataField(required=False, allow_null=True, default=None, reserved=RESERVED)


class SuggestionsSerializer(serializers.Serializer):
    user_id = NameField(required=False, default="default")
    mem_cube_id = OptionalNameField()
    language = serializers.ChoiceField(["zh", "en"], required=False, default="zh")


class NamesOfMemoriesSerializer(serializers.Serializer):
    memory_ids = serializers.ListField(child=StrictUUIDField(), min_length=1, max_length=MAX_IDS)


def list_cubes(values: Mapping[str, Any], *names: str) -> list[str]:
    """List the cubes that a request names: those in the first of these fields that has any, else in `mem_cube_id`."""
    for name in names:
        if values.get(name):
            return list(values[name])
    return [values["mem_cube_id"]] if values.get("mem_cube_id") else []
