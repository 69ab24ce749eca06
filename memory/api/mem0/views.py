from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.mem0 import filters
from memory.api.mem0.answers import (
    AddedListSerializer,
    AddedSerializer,
    FoundMemoriesSerializer,
    HitMemorySerializer,
    Mem0DoneSerializer,
    Mem0MemorySerializer,
    MemoryEventSerializer,
    MemoryPageSerializer,
    OpinionKeptSerializer,
    PingSerializer,
    UpdatedMemorySerializer,
)
from memory.api.mem0.base import (
    NAMESPACE_PARAMETER,
    REASON,
    Mem0ViewSet,
    count_memories,
    describe_added,
    narrow,
    tell_changes,
    tell_outcome,
)
from memory.api.mem0.serializers import (
    TOP_K,
    AddMemoriesSerializer,
    DeleteManySerializer,
    DeleteMemoriesSerializer,
    DeleteOneSerializer,
    ListMemoriesSerializer,
    Mem0FeedbackSerializer,
    OwnersPageSerializer,
    PageSerializer,
    SearchMemoriesSerializer,
    SearchMemoriesV1Serializer,
    UpdateManySerializer,
    UpdateMemorySerializer,
)
from memory.api.route_tags import MEM0
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope, Feedback
from memory.models.keys import new_id
from memory.owners import CATEGORIES, EXPIRATION, OWNERS, Owners, own_metadata
from memory.retrieval.filters import Condition, Filter, MemoryField, Operator
from memory.services.memories import edit, feedback
from memory.services.memories.edit_many import Correction, edit_many


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0MemoriesViewSet(Mem0ViewSet):
    """The collection of memories in mem0's hosted API."""

    required_scope = {
        **dict.fromkeys(
            ("ping", "search_memories", "search_v1", "search_v2", "list", "list_v1", "list_v2"), AccessScope.READ
        ),
        **dict.fromkeys(("add", "add_v1", "delete_all", "update_many", "delete_many"), AccessScope.WRITE),
    }
    bodies_of_delete = ("delete_many",)

    @extend_schema(operation_id="mem0_ping", summary="Whether the key is good", responses={200: PingSerializer})
    def ping(self, request: Request) -> Response:
        scope = self.own_scope()
        project = scope.namespace if scope else "default"
        return Response({"status": "ok", "org_id": "memos", "project_id": project, "user_email": None})

    @extend_schema(
        operation_id="mem0_add_memories",
        summary="Remember messages of a user, an agent, an app or a run",
        request=AddMemoriesSerializer,
        responses={200: AddedSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def add(self, request: Request) -> Response:
        return Response(self._add(request))

    @extend_schema(
        operation_id="mem0_add_memories_v1",
        summary="The same for older clients",
        request=AddMemoriesSerializer,
        responses={200: AddedListSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def add_v1(self, request: Request) -> Response:
        added = self._add(request)
        return Response({"message": added["message"], "results": added["results"]})

    def _add(self, request: Request) -> dict[str, Any]:
        values = self.valid(AddMemoriesSerializer, request.data)
        scope, done, rows, left_out = self.add_messages(values, split=True)
        known = next((one.memory_id for one in done.outcomes if one.memory_id), None)
        return {
            "message": tell_outcome(scope, done, infer=values["infer"], left_out=left_out),
            "status": "SUCCEEDED",
            "event_id": str(known or new_id()),
            "results": [describe_added(row) for row in rows],
        }

    @extend_schema(
        operation_id="mem0_search_memories",
        summary="Find the memories that answer",
        request=SearchMemoriesSerializer,
        responses={200: FoundMemoriesSerializer},
    )
    def search_memories(self, request: Request) -> Response:
        return Response({"results": self._search(request)})

    @extend_schema(
        operation_id="mem0_search_memories_v2",
        summary="The same for older clients",
        request=SearchMemoriesSerializer,
        responses={200: HitMemorySerializer(many=True)},
    )
    def search_v2(self, request: Request) -> Response:
        return Response(self._search(request))

    @extend_schema(
        operation_id="mem0_search_memories_v1",
        summary="The same for the oldest clients, with the ids beside the question",
        request=SearchMemoriesV1Serializer,
        responses={200: HitMemorySerializer(many=True)},
    )
    def search_v1(self, request: Request) -> Response:
        values = self.valid(SearchMemoriesV1Serializer, request.data)
        where = filters.hold_owners(Owners.read(values).ids)
        return Response(self.search(where, values, top_k=values["top_k"] or values["limit"] or TOP_K))

    def _search(self, request: Request) -> Sequence[dict[str, Any]]:
        values = self.valid(SearchMemoriesSerializer, request.data)
        hits = self.search(values["filters"], values, top_k=values["top_k"] or TOP_K)
        if not values["fields"]:
            return hits
        kept = {"id", "memory", *values["fields"]}
        return [{name: value for name, value in hit.items() if name in kept} for hit in hits]

    @extend_schema(
        operation_id="mem0_list_memories",
        summary="The memories for which filters hold",
        request=ListMemoriesSerializer,
        parameters=[PageSerializer],
        responses={200: MemoryPageSerializer},
    )
    def list(self, request: Request) -> Response:
        return Response(self._list(request))

    @extend_schema(
        operation_id="mem0_list_memories_v2",
        summary="The same for older clients",
        request=ListMemoriesSerializer,
        parameters=[PageSerializer],
        responses={200: Mem0MemorySerializer(many=True)},
    )
    def list_v2(self, request: Request) -> Response:
        return Response(self._list(request)["results"])

    def _list(self, request: Request) -> dict[str, Any]:
        paging = self.valid(PageSerializer, request.query_params)
        values = self.valid(ListMemoriesSerializer, request.data)
        where = filters.join(values["filters"], *narrow(values), *_between(values["start_date"], values["end_date"]))
        return self.page(where, paging, current=True if values["latest_only"] else None)

    @extend_schema(
        operation_id="mem0_list_memories_v1",
        summary="The memories of a user, an agent, an app or a run, for older clients",
        parameters=[OwnersPageSerializer],
        responses={200: Mem0MemorySerializer(many=True)},
    )
    def list_v1(self, request: Request) -> Response:
        values = self.valid(OwnersPageSerializer, request.query_params)
        where = filters.join(filters.hold_owners(Owners.read(values).ids), *narrow({"show_expired": False}))
        return Response(self.page(where, values)["results"])

    @extend_schema(
        operation_id="mem0_delete_memories",
        summary="Delete the memories of a user, an agent, an app or a run, or all with `*` for each of them; each can "
        "be restored",
        parameters=[DeleteMemoriesSerializer],
        responses={200: Mem0DoneSerializer},
    )
    def delete_all(self, request: Request) -> Response:
        values = self.valid(DeleteMemoriesSerializer, request.query_params)
        ids = Owners.read(values).ids
        # `*` for every owner is how mem0's clients ask for all memories of the project.
        is_all = ids == dict.fromkeys(OWNERS, filters.ANY)
        _, says = self.delete_where(None if is_all else filters.hold_owners(ids))
        return Response({"message": says})

    @extend_schema(
        operation_id="mem0_update_memories",
        summary="Correct several memories, all or none",
        request=UpdateManySerializer,
        responses={200: Mem0DoneSerializer},
    )
    def update_many(self, request: Request) -> Response:
        wanted = self.valid(UpdateManySerializer, request.data)["memories"]
        corrections = [correct(self.find(one["memory_id"]), one) for one in wanted]
        done = edit_many(self.access, corrections, reason=REASON, now=timezone.now(), request_id=self.request_id)
        says = f"Successfully updated {count_memories(len(wanted))}"
        return Response({"message": f"{says}.{marked}" if (marked := tell_changes(done)) else says})

    @extend_schema(
        operation_id="mem0_delete_several",
        summary="Delete several memories; each can be restored",
        request=DeleteManySerializer,
        responses={200: Mem0DoneSerializer},
    )
    def delete_many(self, request: Request) -> Response:
        ids = [one["memory_id"] for one in self.valid(DeleteManySerializer, request.data)["memories"]]
        done = edit.archive(self.access, memory_ids=ids, reason=REASON, now=timezone.now(), request_id=self.request_id)
        return Response({"message": f"Successfully deleted {count_memories(len(done))}"})


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0MemoryViewSet(Mem0ViewSet):
    """Single memories in mem0's hosted API."""

    required_scope = {
        **dict.fromkeys(("retrieve", "history"), AccessScope.READ),
        **dict.fromkeys(("update", "destroy", "judge"), AccessScope.WRITE),
    }
    tells_stored = frozenset({"update"})

    @extend_schema(operation_id="mem0_get_memory", summary="One memory", responses={200: Mem0MemorySerializer})
    def retrieve(self, request: Request, memory_id: uuid.UUID) -> Response:
        return Response(self.describe_one(memory_id))

    @extend_schema(
        operation_id="mem0_update_memory",
        summary="Correct a memory; its former version is kept",
        request=UpdateMemorySerializer,
        responses={200: UpdatedMemorySerializer},
    )
    def update(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(UpdateMemorySerializer, request.data)
        correction = correct(self.find(memory_id), values)
        done = edit_many(self.access, [correction], reason=REASON, now=timezone.now(), request_id=self.request_id)
        told = self.describe_one(memory_id)
        return Response(
            {**told, "text": told["memory"], "message": f"Memory updated successfully!{tell_changes(done)}"}
        )

    @extend_schema(
        operation_id="mem0_delete_memory",
        summary="Delete a memory; it can be restored",
        parameters=[DeleteOneSerializer],
        responses={200: Mem0DoneSerializer},
    )
    def destroy(self, request: Request, memory_id: uuid.UUID) -> Response:
        linked = self.valid(DeleteOneSerializer, request.query_params)["delete_linked"]
        return self.delete_one(memory_id, linked=linked)

    @extend_schema(
        operation_id="mem0_get_memory_history",
        summary="What became of a memory, oldest first",
        responses={200: MemoryEventSerializer(many=True)},
    )
    def history(self, request: Request, memory_id: uuid.UUID) -> Response:
        return Response(self.list_history(memory_id))

    @extend_schema(
        operation_id="mem0_give_feedback",
        summary="Say what one thinks of a memory",
        request=Mem0FeedbackSerializer,
        responses={200: OpinionKeptSerializer},
    )
    def judge(self, request: Request) -> Response:
        values = self.valid(Mem0FeedbackSerializer, request.data)
        kind = Feedback.USEFUL if values["feedback"] == "POSITIVE" else Feedback.WRONG
        feedback.give_feedback(
            self.access,
            memory_id=values["memory_id"],
            kind=kind,
            note=values["feedback_reason"] or "",
            now=timezone.now(),
        )
        return Response(
            {
                "id": str(values["memory_id"]),
                "feedback": values["feedback"],
                "feedback_reason": values["feedback_reason"],
                "message": f"The feedback is kept as {kind.value!r}.",
            }
        )


def correct(row: dict[str, Any], values: dict[str, Any]) -> Correction:
    """Return the correction of a memory. Its own metadata is replaced, and its owners stay."""
    metadata = None
    if values.keys() & {"metadata", "expiration_date"}:
        kept = {name: value for name, value in row["metadata"].items() if name in (*OWNERS, CATEGORIES)}
        own = values.get("metadata")
        metadata = {**(own_metadata(row["metadata"]) if own is None else own), **kept}
        expiration = values.get("expiration_date", row["metadata"].get(EXPIRATION))
        metadata |= {EXPIRATION: expiration} if expiration else {}
    return Correction(uuid.UUID(row["id"]), values.get("text"), metadata, values.get("timestamp"))


def _between(start: Any, end: Any) -> list[Filter]:
    parts: list[Filter] = []
    if start is not None:
        parts.append(Condition(MemoryField.OCCURRED, Operator.GTE, start))
    if end is not None:
        parts.append(Condition(MemoryField.OCCURRED, Operator.LTE, end))
    return parts
