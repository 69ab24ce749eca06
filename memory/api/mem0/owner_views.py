from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.mem0 import filters
from memory.api.mem0.answers import (
    AddEventPageSerializer,
    AddEventSerializer,
    Mem0DoneSerializer,
    OwnerPageSerializer,
)
from memory.api.mem0.base import (
    NAMESPACE_PARAMETER,
    Mem0ViewSet,
    describe_added,
)
from memory.api.mem0.serializers import (
    OwnersQuerySerializer,
    PageSerializer,
)
from memory.api.route_tags import MEM0
from memory.enums import AccessScope
from memory.errors import InvalidInput, NotFound
from memory.owners import Owners
from memory.retrieval.filters import Filter
from memory.services.memories import read
from memory.services.memories.owners import OWNER_KEYS, list_owners
from memory.services.memories.read import MemoryFilter


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0OwnerViewSet(Mem0ViewSet):
    """The entities of mem0's hosted API: the users, agents, apps and runs that memories belong to."""

    required_scope = {"list": AccessScope.READ, "destroy": AccessScope.WRITE, "destroy_v1": AccessScope.WRITE}

    @extend_schema(
        operation_id="mem0_list_entities",
        summary="Whom memories belong to",
        parameters=[PageSerializer],
        responses={200: OwnerPageSerializer},
    )
    def list(self, request: Request) -> Response:
        paging = self.valid(PageSerializer, request.query_params)
        scope = self.own_scope()
        size = paging["page_size"]
        found, total = list_owners(scope, offset=(paging["page"] - 1) * size, limit=size) if scope else ([], 0)
        results = [
            {
                "id": one.name,
                "name": one.name,
                "type": one.type,
                "total_memories": one.memories,
                "owner": scope.namespace if scope else "",
                "created_at": one.first.isoformat(),
                "updated_at": one.last.isoformat(),
            }
            for one in found
        ]
        return Response({**self.addresses(paging, total), "results": results})

    @extend_schema(
        operation_id="mem0_delete_entity",
        summary="Delete all memories of a user, an agent, an app or a run; each can be restored",
        responses={200: Mem0DoneSerializer},
    )
    def destroy(self, request: Request, kind: str, name: str) -> Response:
        return self._delete(kind, name)

    @extend_schema(
        operation_id="mem0_delete_entity_v1",
        summary="The same for older clients",
        responses={200: Mem0DoneSerializer},
    )
    def destroy_v1(self, request: Request, kind: str, name: str) -> Response:
        return self._delete(kind, name)

    def _delete(self, kind: str, name: str) -> Response:
        if kind not in OWNER_KEYS:
            raise InvalidInput(f"There are {', '.join(OWNER_KEYS)}, and no {kind!r}.", detail={"field": "type"})
        ids = Owners.read(self.valid(OwnersQuerySerializer, {OWNER_KEYS[kind]: name})).ids
        matched, says = self.delete_where(filters.hold_owners(ids))
        if not matched and not self._had_memories(filters.hold_owners(ids)):
            raise NotFound(f"There is no {kind} {name!r} that memories belong to.", detail={"field": "name"})
        return Response({"message": says})

    def _had_memories(self, where: Filter) -> bool:
        """Return whether deleted memories match, because clients delete an owner after deleting all of its memories."""
        scope = self.own_scope()
        if scope is None:
            return False
        wanted = MemoryFilter(state=None, limit=1)
        return read.list_slice(scope, wanted=wanted, offset=0, now=timezone.now(), where=where)[1] > 0


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0EventViewSet(Mem0ViewSet):
    """The events of mem0's hosted API: additions of memories. An addition is complete when its request is answered."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="mem0_list_events",
        summary="Additions of memories, newest first",
        parameters=[PageSerializer],
        responses={200: AddEventPageSerializer},
    )
    def list(self, request: Request) -> Response:
        paging = self.valid(PageSerializer, request.query_params)
        scope = self.own_scope()
        size = paging["page_size"]
        rows, total = (
            read.list_slice(
                scope,
                wanted=MemoryFilter(state=None, limit=size),
                offset=(paging["page"] - 1) * size,
                now=timezone.now(),
            )
            if scope
            else ([], 0)
        )
        return Response({**self.addresses(paging, total), "results": [_describe_event(row) for row in rows]})

    @extend_schema(operation_id="mem0_get_event", summary="One addition", responses={200: AddEventSerializer})
    def retrieve(self, request: Request, event_id: uuid.UUID) -> Response:
        return Response(_describe_event(read.get_memory(self.access, memory_id=event_id)))


def _describe_event(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "event_type": "ADD",
        "status": "SUCCEEDED",
        "results": [describe_added(row)],
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
    }
