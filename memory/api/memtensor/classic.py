"""The classic routes of MemTensor's API. On two paths shared with mem0, a field for cubes marks its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.mem0.answers import (
    AddedListSerializer,
    FoundMemoriesSerializer,
    Mem0ErrorSerializer,
    ServerMemoryListSerializer,
)
from memory.api.mem0.base import NAMESPACE_PARAMETER, Mem0ViewSet
from memory.api.mem0.serializers import AddMemoriesSerializer, OwnersPageSerializer, SearchServerSerializer
from memory.api.mem0.server import Mem0ServerViewSet
from memory.api.memtensor.envelope import MemTensorErrorSerializer, describe_envelope, envelop, wrap_error
from memory.api.memtensor.memories import MemoryDoors
from memory.api.memtensor.serializers import (
    AddMemorySerializer,
    ListAllSerializer,
    OptionalNameField,
    SearchMemorySerializer,
)
from memory.api.memtensor.views import ADDED, FOUND, LISTED, MemTensorViewSet
from memory.api.permissions import scope_needed
from memory.api.route_tags import MEM0, MEMTENSOR
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope
from memory.postgresql import reach

# Fields that mem0's clients never send. A request with one of them on a shared path is for MemTensor's API.
ADD_FIELDS = ("mem_cube_id", "memory_content", "doc_path")
LIST_FIELDS = ("mem_cube_id",)
SEARCH_FIELDS = ("install_cube_ids", "readable_cube_ids", "mem_cube_id")
# Settings in a configuration that are always in effect.
_SO_ALREADY = ("enable_textual_memory", "enable_mem_scheduler")
_SHOWN_NAMES = 100


class ClassicListingSerializer(serializers.Serializer):
    """Query parameters of the list."""

    mem_cube_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=128,
                                        trim_whitespace=False)  # fmt: skip
    user_id = serializers.CharField(required=False, default="default", max_length=128, trim_whitespace=False)


class ConfigureSerializer(serializers.Serializer):
    """Any configuration that MemTensor's clients send."""

    open_fields = True
    user_id = OptionalNameField()


class ConfiguredSerializer(serializers.Serializer):
    applied = serializers.ListField(child=serializers.CharField(), help_text="What is so already")
    ignored = serializers.ListField(child=serializers.CharField(), help_text="What this request cannot set")


class SharedAddSerializer(serializers.Serializer):
    """The request of mem0's clients, or that of MemTensor's."""

    either = (AddMemoriesSerializer, AddMemorySerializer)


class SharedSearchSerializer(serializers.Serializer):
    """The request of mem0's clients, or that of MemTensor's."""

    either = (SearchServerSerializer, SearchMemorySerializer)


class SharedAddedSerializer(serializers.Serializer):
    """The answer for mem0's clients, or that for MemTensor's."""

    either = (AddedListSerializer, ADDED)


class SharedListedSerializer(serializers.Serializer):
    """The answer for mem0's clients, or that for MemTensor's."""

    either = (ServerMemoryListSerializer, LISTED)


class SharedFoundSerializer(serializers.Serializer):
    """The answer for mem0's clients, or that for MemTensor's."""

    either = (FoundMemoriesSerializer, FOUND)


class EitherShape(OpenApiSerializerExtension):
    """Describes a serializer with `either` as one of those shapes."""

    target_class = "memory.api.memtensor.classic.SharedAddSerializer"

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        return {"anyOf": [auto_schema.resolve_serializer(one, direction).ref for one in self.target.either]}


class EitherFoundRequest(EitherShape):
    target_class = "memory.api.memtensor.classic.SharedSearchSerializer"


class EitherAdded(EitherShape):
    target_class = "memory.api.memtensor.classic.SharedAddedSerializer"


class EitherListed(EitherShape):
    target_class = "memory.api.memtensor.classic.SharedListedSerializer"


class EitherFound(EitherShape):
    target_class = "memory.api.memtensor.classic.SharedFoundSerializer"


class SharedErrorSerializer(MemTensorErrorSerializer, Mem0ErrorSerializer):
    """The error shape of the shared routes, for clients of both APIs."""


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class SharedRoutesViewSet(MemoryDoors, Mem0ServerViewSet):
    """`/memories` and `/search`. Requests are for mem0's open-source server unless they have a field of MemTensor's."""

    error_serializer = SharedErrorSerializer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        handle = Mem0ViewSet.get_exception_handler(self)

        def answer(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
            answered = handle(error, context)
            if answered is not None:
                body = orjson.loads(answered.content)
                answered.content = orjson.dumps(wrap_error(body, answered.status_code))
            return answered

        return answer

    @extend_schema(
        operation_id="mem0_server_add",
        summary="Remember messages; with `mem_cube_id`, `memory_content` or `doc_path` as MemTensor's server does",
        request=SharedAddSerializer,
        responses={200: SharedAddedSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        if not _has_any(request.data, ADD_FIELDS):
            return super().create(request)
        self._reach_shares()
        return self.add_memories(self.valid(AddMemorySerializer, request.data))

    @extend_schema(
        operation_id="mem0_server_list",
        summary="The memories of a user, an agent or a run; with `mem_cube_id` those of a cube",
        parameters=[OwnersPageSerializer, ClassicListingSerializer],
        responses={200: SharedListedSerializer},
    )
    def list(self, request: Request) -> Response:
        if not _has_any(request.query_params, LIST_FIELDS):
            return super().list(request)
        self._reach_shares()
        return list_classic(self, request)

    @extend_schema(
        operation_id="mem0_server_search",
        summary="Find the memories that answer; with cubes as MemTensor's server does",
        request=SharedSearchSerializer,
        responses={200: SharedFoundSerializer},
    )
    def search_memories(self, request: Request) -> Response:
        if not _has_any(request.data, SEARCH_FIELDS):
            return super().search_memories(request)
        self._reach_shares()
        return self.search_cubes(self.valid(SearchMemorySerializer, request.data))

    def _reach_shares(self) -> None:
        """Let the request reach cubes that are shared with the caller, which mem0's routes do not."""
        needed = scope_needed(self)
        assert needed is not None
        self._access = self.access.reach_shares(needed)
        reach.allow(self._access)


@extend_schema(tags=[MEMTENSOR.name])
class ClassicViewSet(MemTensorViewSet):
    """The classic routes on paths that no other API uses."""

    required_scope = {
        **dict.fromkeys(("list_memories", "search_memories"), AccessScope.READ),
        "create": AccessScope.WRITE,
        "configure": AccessScope.ADMIN,
    }
    shared_actions = frozenset({"list_memories", "search_memories", "create"})

    @extend_schema(
        operation_id="memtensor_configure",
        summary="Says what of a configuration holds; nothing is changed",
        request=ConfigureSerializer,
        responses={200: describe_envelope("Configured", ConfiguredSerializer())},
    )
    def configure(self, request: Request) -> Response:
        self.valid(ConfigureSerializer, request.data)
        sent = dict(request.data)
        applied = [name for name in _SO_ALREADY if sent.get(name) is True]
        ignored = sorted(name[:128] for name in sent if name not in applied)[:_SHOWN_NAMES]
        says = (
            "Nothing was changed: settings of the server and PUT /v1/policy configure MemOS. What was sent is not kept."
        )
        return envelop({"applied": applied, "ignored": ignored}, says)

    @extend_schema(
        operation_id="memtensor_classic_add",
        summary="Remember messages",
        request=AddMemorySerializer,
        responses={200: ADDED},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        return self.add_memories(self.valid(AddMemorySerializer, request.data))

    @extend_schema(
        operation_id="memtensor_classic_list",
        summary="The memories of a cube, or of a user",
        parameters=[ClassicListingSerializer],
        responses={200: LISTED},
    )
    def list_memories(self, request: Request) -> Response:
        return list_classic(self, request)

    @extend_schema(
        operation_id="memtensor_classic_search",
        summary="Find the memories that answer",
        request=SearchMemorySerializer,
        responses={200: FOUND},
    )
    def search_memories(self, request: Request) -> Response:
        return self.search_cubes(self.valid(SearchMemorySerializer, request.data))


def list_classic(view: MemoryDoors, request: Request) -> Response:
    """List all memories of a cube or of a user."""
    values = view.valid(ClassicListingSerializer, request.query_params)
    asked = {"user_id": values["user_id"], "mem_cube_id": values["mem_cube_id"] or None}
    return view.list_everything(view.valid(ListAllSerializer, asked))


def _has_any(data: Any, names: tuple[str, ...]) -> bool:
    return isinstance(data, Mapping) and any(name in data for name in names)
