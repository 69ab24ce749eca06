"""The routes of MemTensor's hosted service, which its published client calls: `/api/openmem/v1/…`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.fields import MetadataField, MomentField, StrictCharField, StrictIntegerField, StrictNumberField
from memory.api.fields import StrictUUIDField as IdField
from memory.api.mem0.base import tell_outcome
from memory.api.memtensor import answers, filters
from memory.api.memtensor.cube_names import CubePlace
from memory.api.memtensor.envelope import describe_envelope, envelop
from memory.api.memtensor.memories import tell_unread_times
from memory.api.memtensor.serializers import (
    MAX_IDS,
    MAX_PAGE,
    MAX_QUERY_CHARS,
    MAX_TAGS,
    MAX_TOP_K,
    RESERVED,
    MemTensorFilterField,
    MemTensorMessagesField,
    NameField,
    OptionalNameField,
    read_chat_time,
)
from memory.api.memtensor.views import MemTensorViewSet
from memory.api.message_fields import MAX_TEXT_CHARS
from memory.api.route_tags import MEMTENSOR
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope, Role
from memory.models.keys import new_id
from memory.owners import Owners
from memory.retrieval.filters import Filter
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import read
from memory.services.memories.read import MemoryFilter
from memory.services.recall.search import Ask, search
from memory.types import Ingested, NewMemory

SAYS = "ok"
MAX_SUBJECTS, MAX_PAGE_SIZE, MAX_MESSAGES_TOLD = 20, 50, 50
COMPLETED = "completed"
_NOBODY = "is missing: name a user_id or an agent_id."


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1, "maxLength": 128},
            {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 128}, "maxItems": MAX_SUBJECTS},
        ],
        "nullable": True,
    }
)
class SubjectsField(serializers.Field):
    """A name, or a list of names. Each of them gets all of the messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "allow_null": True, "default": (), **options})

    def to_internal_value(self, data: Any) -> list[str]:
        listed = data if isinstance(data, list) else [data]
        names = serializers.ListField(child=NameField(), max_length=MAX_SUBJECTS).run_validation(listed)
        return list(dict.fromkeys(names))


class OpenMemAddSerializer(serializers.Serializer):
    """Messages to remember.

    Ignored: `async_mode`, because everything is stored before the answer is sent, and `allow_public` and the other
    `allow_…`.
    """

    messages = MemTensorMessagesField()
    user_id = SubjectsField()
    agent_id = SubjectsField()
    conversation_id = OptionalNameField(help_text="The session")
    app_id = OptionalNameField()
    source = OptionalNameField(help_text="Where it is from")  # type: ignore[assignment]
    tags = serializers.ListField(child=NameField(), required=False, allow_null=True, default=None, max_length=MAX_TAGS)
    info = MetadataField(required=False, allow_null=True, default=None, reserved=RESERVED)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["messages"] is None:
            raise serializers.ValidationError({"messages": "is missing."})
        if not (attrs["user_id"] or attrs["agent_id"]):
            raise serializers.ValidationError({"user_id": _NOBODY})
        return attrs


class SubjectSerializer(serializers.Serializer):
    user_id = OptionalNameField()
    agent_id = OptionalNameField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["user_id"]) == bool(attrs["agent_id"]):
            raise serializers.ValidationError({"user_id": "name either a user_id or an agent_id."})
        return attrs


class OpenMemSearchSerializer(SubjectSerializer):
    """A search.

    Ignored: `conversation_id`, `source`, `context_format` and all options for preferences, tools, skills, knowledge
    bases and memory views, because MemOS stores a user's memories as text.
    """

    query = StrictCharField(min_length=1, max_length=MAX_QUERY_CHARS)
    memory_limit_number = StrictIntegerField(
        min_value=1, max_value=MAX_TOP_K, required=False, allow_null=True, default=6
    )
    relativity = StrictNumberField(
        min_value=0, max_value=1, required=False, allow_null=True, default=None, help_text="The least relevance"
    )
    filter = MemTensorFilterField()


class OpenMemListSerializer(SubjectSerializer):
    """A list of memories. Ignored: `include_preference`, `include_tool_memory` and `include_memory_view`."""

    filter = MemTensorFilterField()
    page = StrictIntegerField(min_value=1, max_value=MAX_PAGE, required=False, allow_null=True, default=1)
    size = StrictIntegerField(min_value=1, max_value=MAX_PAGE_SIZE, required=False, allow_null=True, default=10)


class OpenMemMessagesSerializer(SubjectSerializer):
    """A list of messages. Ignored: `conversation_limit_number` and `source`."""

    conversation_id = OptionalNameField(help_text="Only what was said in it")
    message_limit_number = StrictIntegerField(
        min_value=1, max_value=MAX_MESSAGES_TOLD, required=False, allow_null=True, default=6, help_text="The newest"
    )


class OpenMemStatusSerializer(serializers.Serializer):
    task_id = IdField()


class OpenMemDeleteSerializer(serializers.Serializer):
    """Memories to delete, named in exactly one of these ways. Ignored: `memory_type`."""

    memory_ids = serializers.ListField(
        child=IdField(), required=False, allow_null=True, default=None, max_length=MAX_IDS
    )
    user_id = OptionalNameField()
    agent_id = OptionalNameField()
    filter = MemTensorFilterField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(value is not None and value != [] for value in attrs.values()) != 1:
            raise serializers.ValidationError({"memory_ids": f"name exactly one of {', '.join(attrs)}."})
        return attrs


class OpenMemFeedbackSerializer(serializers.Serializer):
    """Feedback on memories. Ignored: `allow_public` and the other `allow_…`."""

    feedback_content = StrictCharField(min_length=1, max_length=MAX_TEXT_CHARS)
    user_id = NameField()
    agent_id = OptionalNameField()
    app_id = OptionalNameField()
    conversation_id = OptionalNameField()
    feedback_time = MomentField(required=False, allow_null=True, default=None)


class OpenMemMemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    memory_key = serializers.CharField(allow_blank=True, help_text="Always empty")
    memory_value = serializers.CharField()
    memory_type = serializers.ChoiceField(answers.TYPES)
    conversation_id = serializers.CharField()
    status = serializers.CharField(help_text="`activated` or `archived`")
    tags = serializers.ListField(child=serializers.CharField())
    memory_time = serializers.DateTimeField(help_text="When it was said")
    create_time = serializers.DateTimeField()
    update_time = serializers.DateTimeField(help_text="As `create_time`")
    relativity = serializers.FloatField(required=False, help_text="Of a search: the relevance, 0 to 1")


class OpenMemFoundSerializer(serializers.Serializer):
    """Found memories. Only the first list is filled, because MemOS stores a user's memories as text."""

    memory_detail_list = OpenMemMemorySerializer(many=True)
    preference_detail_list = serializers.ListField(child=serializers.DictField())
    tool_memory_detail_list = serializers.ListField(child=serializers.DictField())
    skill_detail_list = serializers.ListField(child=serializers.DictField())
    preference_note = serializers.CharField(allow_blank=True)


class OpenMemPageSerializer(OpenMemFoundSerializer):
    total = serializers.IntegerField()
    size = serializers.IntegerField()
    current = serializers.IntegerField()
    pages = serializers.IntegerField()


class OpenMemMessageSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    role = serializers.CharField()
    content = serializers.CharField()
    conversation_id = serializers.CharField()
    create_time = serializers.DateTimeField(help_text="When it was said")


class OpenMemSaidSerializer(serializers.Serializer):
    message_detail_list = OpenMemMessageSerializer(many=True, help_text="Oldest first")


class OpenMemTaskSerializer(serializers.Serializer):
    task_id = serializers.UUIDField()
    status = serializers.CharField(help_text=f"Always {COMPLETED}: it is done when it is answered")


class OpenMemAddedSerializer(OpenMemTaskSerializer):
    success = serializers.BooleanField(help_text="Whether anything was stored; `notice` says what was not")


class OpenMemDeletedSerializer(serializers.Serializer):
    success = serializers.BooleanField()


@extend_schema(tags=[MEMTENSOR.name])
class OpenMemViewSet(MemTensorViewSet):
    """Memories of users and agents in the key's own namespace, as in MemTensor's hosted service."""

    required_scope = {
        **dict.fromkeys(("search_memories", "list_memories", "list_messages", "retrieve", "status"), AccessScope.READ),
        **dict.fromkeys(("add", "judge", "delete_memories"), AccessScope.WRITE),
    }

    @extend_schema(
        operation_id="openmem_add_message",
        summary="Remember messages of users and agents",
        request=OpenMemAddSerializer,
        responses={200: describe_envelope("OpenMemAdded", OpenMemAddedSerializer())},
        parameters=[IDEMPOTENCY_KEY],
    )
    def add(self, request: Request) -> Response:
        values = self.valid(OpenMemAddSerializer, request.data)
        kept = {name: values[name] for name in ("app_id", "source") if values[name] is not None}
        tags = {filters.TAGS: values["tags"]} if values["tags"] else {}
        shared = {**(values["info"] or {}), **kept, **tags}
        turns, left_out = [], set()
        for message in values["messages"]:
            content = message["content"]
            left_out |= set(content.left_out) if content else set()
            if content is not None and content.text:
                turns.append((message, content.text))
        if not turns:
            raise serializers.ValidationError({"messages": "hold no text: send files to POST /v1/documents."})
        items = []
        for user in values["user_id"] or (None,):
            for agent in values["agent_id"] or (None,):
                owners = Owners.read({filters.USER: user, filters.AGENT: agent})
                items += [_make_turn(one, text, owners, shared, values["conversation_id"]) for one, text in turns]
        return self._store(items, notice=tell_unread_times(values["messages"]), left_out=left_out)

    @extend_schema(
        operation_id="openmem_add_feedback",
        summary="Remember what a user says of memories",
        request=OpenMemFeedbackSerializer,
        responses={200: describe_envelope("OpenMemJudged", OpenMemAddedSerializer())},
        parameters=[IDEMPOTENCY_KEY],
    )
    def judge(self, request: Request) -> Response:
        values = self.valid(OpenMemFeedbackSerializer, request.data)
        kept = {"app_id": values["app_id"]} if values["app_id"] else {}
        said_at = values["feedback_time"]
        message = {"role": Role.USER, "name": None, "chat_time": said_at.isoformat() if said_at else None}
        owners = Owners.read({filters.USER: values["user_id"], filters.AGENT: values["agent_id"]})
        turn = _make_turn(message, values["feedback_content"], owners, kept, values["conversation_id"])
        return self._store([turn])

    @extend_schema(
        operation_id="openmem_search_memory",
        summary="Find the memories of a user or an agent that answer",
        request=OpenMemSearchSerializer,
        responses={200: describe_envelope("OpenMemFound", OpenMemFoundSerializer())},
    )
    def search_memories(self, request: Request) -> Response:
        values = self.valid(OpenMemSearchSerializer, request.data)
        where, place = self._place(values)
        found = []
        if place is not None:
            top_k = values["memory_limit_number"] or 6
            ask = Ask(values["query"], top_k, timezone.now(), where=where, min_relevance=values["relativity"] or 0.0)
            found = [answers.describe_hit(hit) for hit in search(place.scope, ask).hits]
        return envelop(_group(found), SAYS)

    @extend_schema(
        operation_id="openmem_get_memory",
        summary="A page of the memories of a user or an agent, newest first",
        request=OpenMemListSerializer,
        responses={200: describe_envelope("OpenMemPage", OpenMemPageSerializer())},
    )
    def list_memories(self, request: Request) -> Response:
        values = self.valid(OpenMemListSerializer, request.data)
        page, size = values["page"] or 1, values["size"] or 10
        where, place = self._place(values)
        rows, total = self._list(place, MemoryFilter(limit=size), where, offset=(page - 1) * size)
        paging = {"total": total, "size": size, "current": page, "pages": -(-total // size)}
        return envelop({**_group([answers.describe_row(row) for row in rows]), **paging}, SAYS)

    @extend_schema(
        operation_id="openmem_get_memory_by_id",
        summary="One memory",
        responses={200: describe_envelope("OpenMemOne", OpenMemMemorySerializer())},
    )
    def retrieve(self, request: Request, memory_id: uuid.UUID) -> Response:
        row = read.get_memory(self.access, memory_id=memory_id)
        return envelop(_describe(answers.describe_row(row)), SAYS)

    @extend_schema(
        operation_id="openmem_get_message",
        summary="The newest messages of a user or an agent",
        request=OpenMemMessagesSerializer,
        responses={200: describe_envelope("OpenMemSaid", OpenMemSaidSerializer())},
    )
    def list_messages(self, request: Request) -> Response:
        values = self.valid(OpenMemMessagesSerializer, request.data)
        where, place = self._place(values)
        session = values["conversation_id"]
        if session:
            owners = Owners.read({**values, "run_id": session})
            where = filters.join(where, filters.hold_session(owners.name_session(timezone.now())))
        rows, _ = self._list(place, MemoryFilter(limit=values["message_limit_number"] or 6), where)
        said = [
            {
                "id": row["id"],
                "role": "assistant" if row["role"] == Role.AGENT else row["role"],
                "content": row["text"],
                "conversation_id": session or row["session_id"],
                "create_time": row["occurred_at"],
            }
            for row in reversed(rows)
        ]
        return envelop({"message_detail_list": said}, SAYS)

    @extend_schema(
        operation_id="openmem_get_status",
        summary="Whether an addition is done",
        request=OpenMemStatusSerializer,
        responses={200: describe_envelope("OpenMemStatus", OpenMemTaskSerializer())},
    )
    def status(self, request: Request) -> Response:
        task = self.valid(OpenMemStatusSerializer, request.data)["task_id"]
        read.get_memory(self.access, memory_id=task)
        return envelop({"task_id": str(task), "status": COMPLETED}, SAYS)

    @extend_schema(
        operation_id="openmem_delete_memory",
        summary="Delete memories by their ids, of a user, of an agent, or by a filter; each can be restored",
        request=OpenMemDeleteSerializer,
        responses={200: describe_envelope("OpenMemDeleted", OpenMemDeletedSerializer())},
    )
    def delete_memories(self, request: Request) -> Response:
        values = self.valid(OpenMemDeleteSerializer, request.data)
        where, place = self._place(values)
        if values["memory_ids"]:
            self.delete_named([place.scope] if place else [], values["memory_ids"])
        elif place is not None and where is not None:
            self.delete_where(place.scope, where)
        return envelop({"success": True}, SAYS)

    def _place(self, values: Mapping[str, Any], *, create: bool = False) -> tuple[Filter | None, CubePlace | None]:
        """Return the filter of the request, for a user or an agent and by its `filter`, and the key's namespace."""
        places = self.find_places(self.reach([], values.get("user_id") or ""), create=create)
        whose = filters.hold_user(values["user_id"]) if values.get("user_id") else None
        if values.get("agent_id"):
            whose = filters.hold_agent(values["agent_id"])
        return filters.join(whose, values.get("filter")), places[0] if places else None

    def _list(
        self, place: CubePlace | None, wanted: MemoryFilter, where: Filter | None, *, offset: int = 0
    ) -> tuple[Sequence[Mapping[str, Any]], int]:
        if place is None:
            return [], 0
        return read.list_slice(place.scope, wanted=wanted, offset=offset, now=timezone.now(), where=where)

    def _store(self, turns: Sequence[NewMemory], *, notice: str = "", left_out: set[str] | None = None) -> Response:
        idempotency = self.idempotency()
        _, place = self._place({}, create=True)
        assert place is not None
        items = [(place.scope, turn) for turn in turns]
        done: Ingested = ingest_batch(items, now=timezone.now(), idempotency=idempotency)
        says = tell_outcome(place.scope, done, infer=False, left_out=left_out or ()) + notice
        task = next(iter(done.memory_ids), None) or new_id()
        return envelop({"success": bool(done.memory_ids), "task_id": str(task), "status": COMPLETED}, SAYS, says)


def _make_turn(
    message: Mapping[str, Any], text: str, owners: Owners, shared: Mapping[str, Any], conversation: str | None
) -> NewMemory:
    said_at = read_chat_time(message["chat_time"])
    timed = {answers.CHAT_TIME: message["chat_time"]} if message["chat_time"] else {}
    session = Owners.read({**owners.ids, "run_id": conversation}).name_session(said_at or timezone.now())
    metadata = {**shared, **timed, **owners.ids}
    return NewMemory(session, message["role"], text, message["name"] or "", metadata, said_at)


def _group(memories: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    empty: dict[str, list[Any]] = {
        name: [] for name in ("preference_detail_list", "tool_memory_detail_list", "skill_detail_list")
    }
    return {"memory_detail_list": [_describe(one) for one in memories], **empty, "preference_note": ""}


def _describe(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory of MemTensor's server in the form of its hosted service."""
    more = memory["metadata"]
    told = {
        "id": memory["id"],
        "memory_key": "",
        "memory_value": memory["memory"],
        "memory_type": more["memory_type"],
        "conversation_id": more["session_id"].removeprefix(f"{more['user_id']}/"),
        "status": more["status"],
        "tags": more["tags"],
        "memory_time": more["memory_time"],
        "create_time": more["created_at"],
        "update_time": more["created_at"],
    }
    return told | ({"relativity": more["relativity"]} if "relativity" in more else {})
