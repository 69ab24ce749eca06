from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.mem0 import filters
from memory.api.mem0.answers import (
    AddedListSerializer,
    FoundMemoriesSerializer,
    Mem0DoneSerializer,
    Mem0MemorySerializer,
    MemoryEventSerializer,
    ServerMemoryListSerializer,
)
from memory.api.mem0.base import (
    NAMESPACE_PARAMETER,
    REASON,
    Mem0ViewSet,
    describe_added,
    narrow,
    tell_changes,
    tell_outcome,
)
from memory.api.mem0.serializers import (
    AddMemoriesSerializer,
    DeleteMemoriesSerializer,
    OwnersPageSerializer,
    SearchServerSerializer,
    UpdateMemorySerializer,
)
from memory.api.mem0.views import correct
from memory.api.route_tags import MEM0
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope
from memory.owners import OWNERS, Owners
from memory.services.memories.edit_many import edit_many


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0ServerViewSet(Mem0ViewSet):
    """The routes of mem0's open-source server. A memory has all the ids that were sent with it."""

    required_scope = {
        **dict.fromkeys(("list", "retrieve", "search_memories", "history"), AccessScope.READ),
        **dict.fromkeys(("create", "update", "destroy", "delete_all"), AccessScope.WRITE),
        "reset": AccessScope.ADMIN,
    }

    @extend_schema(
        operation_id="mem0_server_add",
        summary="Remember messages",
        request=AddMemoriesSerializer,
        responses={200: AddedListSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(AddMemoriesSerializer, request.data)
        scope, done, rows, left_out = self.add_messages(values, split=False)
        says = tell_outcome(scope, done, infer=values["infer"], left_out=left_out)
        return Response({"message": says, "results": [describe_added(row) for row in rows]})

    @extend_schema(
        operation_id="mem0_server_list",
        summary="The memories of a user, an agent or a run",
        parameters=[OwnersPageSerializer],
        responses={200: ServerMemoryListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(OwnersPageSerializer, request.query_params)
        where = filters.join(filters.hold_owners(Owners.read(values).ids), *narrow({"show_expired": False}))
        return Response({"results": self.page(where, values)["results"]})

    @extend_schema(
        operation_id="mem0_server_delete_all",
        summary="Delete the memories of a user, an agent or a run; each can be restored",
        parameters=[DeleteMemoriesSerializer],
        responses={200: Mem0DoneSerializer},
    )
    def delete_all(self, request: Request) -> Response:
        values = self.valid(DeleteMemoriesSerializer, request.query_params)
        return Response({"message": self.delete_where(filters.hold_owners(Owners.read(values).ids))[1]})

    @extend_schema(operation_id="mem0_server_get", summary="One memory", responses={200: Mem0MemorySerializer})
    def retrieve(self, request: Request, memory_id: uuid.UUID) -> Response:
        return Response(self.describe_one(memory_id))

    @extend_schema(
        operation_id="mem0_server_update",
        summary="Correct a memory; its former version is kept",
        request=UpdateMemorySerializer,
        responses={200: Mem0DoneSerializer},
    )
    def update(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(UpdateMemorySerializer, request.data)
        correction = correct(self.find(memory_id), values)
        done = edit_many(self.access, [correction], reason=REASON, now=timezone.now(), request_id=self.request_id)
        return Response({"message": f"Memory updated successfully!{tell_changes(done)}"})

    @extend_schema(
        operation_id="mem0_server_delete",
        summary="Delete a memory; it can be restored",
        responses={200: Mem0DoneSerializer},
    )
    def destroy(self, request: Request, memory_id: uuid.UUID) -> Response:
        return self.delete_one(memory_id)

    @extend_schema(
        operation_id="mem0_server_history",
        summary="What became of a memory, oldest first",
        responses={200: MemoryEventSerializer(many=True)},
    )
    def history(self, request: Request, memory_id: uuid.UUID) -> Response:
        return Response(self.list_history(memory_id))

    @extend_schema(
        operation_id="mem0_server_search",
        summary="Find the memories that answer",
        request=SearchServerSerializer,
        responses={200: FoundMemoriesSerializer},
    )
    def search_memories(self, request: Request) -> Response:
        values = self.valid(SearchServerSerializer, request.data)
        ids = {name: values[name] for name in OWNERS if values.get(name)}
        where = filters.join(filters.hold_owners(ids) if ids else None, values["filters"])
        return Response({"results": self.search(where, values, top_k=values["top_k"] or values["limit"] or 10)})

    @extend_schema(
        operation_id="mem0_server_reset",
        summary="Delete all memories of the namespace; each can be restored",
        request=None,
        responses={200: Mem0DoneSerializer},
    )
    def reset(self, request: Request) -> Response:
        return Response({"message": self.delete_where(None)[1]})
