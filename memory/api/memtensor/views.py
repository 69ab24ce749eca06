from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.memtensor import answers, filters
from memory.api.memtensor.envelope import MemTensorErrorSerializer, answer_error, describe_envelope, envelop
from memory.api.memtensor.memories import MemoryDoors
from memory.api.memtensor.serializers import (
    MAX_CUBES,
    MAX_IDS,
    MAX_PAGE_SIZE,
    AddMemorySerializer,
    DeleteMemorySerializer,
    ListAllSerializer,
    ListMemorySerializer,
    MemoryIdsSerializer,
    MemTensorFeedbackSerializer,
    NamesOfMemoriesSerializer,
    SearchMemorySerializer,
    SuggestionsSerializer,
    list_cubes,
)
from memory.api.memtensor.suggestions import suggest
from memory.api.parsers import JSONListParser
from memory.api.route_tags import MEMTENSOR
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope
from memory.errors import Forbidden, NotFound
from memory.retrieval.filters import Filter
from memory.services.memories import bulk, bulk_run, edit, read
from memory.types import Scope

REASON = "through MemTensor's API"
# A request waits this long for the memories of a filter to be archived; after that a worker continues.
ARCHIVE_SECONDS = 5.0
ADDED = describe_envelope("Added", answers.AddedToCubeSerializer(many=True))
FOUND = describe_envelope("Found", answers.MemoriesByKindSerializer())
LISTED = describe_envelope("Listed", answers.CubeMemoriesSerializer(many=True))
_IDS = {
    "type": "array",
    "items": {"type": "string", "format": "uuid"},
    "minItems": 1,
    "maxItems": MAX_IDS,
}


@dataclass(frozen=True, slots=True)
class ChangedMany:
    """Progress of a change of `count` memories. `is_waiting`: a worker still has to do the rest.

    `record` is the id of the bulk change, or None if the memories were named by their ids.
    """

    count: int
    is_waiting: bool = False
    record: uuid.UUID | None = None


class MemTensorViewSet(MemoryDoors):
    """Answers in MemTensor's envelope."""

    error_serializer = MemTensorErrorSerializer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return answer_error

    def carry_out(self, scope: Scope, change: bulk.BulkChange) -> ChangedMany:
        """Run the bulk change for a few seconds; a worker does the rest."""
        bulk_run.carry_out(
            namespace_id=scope.namespace_id, change_id=change.id, now=timezone.now, seconds=ARCHIVE_SECONDS
        )
        done = bulk.to_dict(bulk.find(self.access, change_id=change.id))
        return ChangedMany(change.matched - (done["refused"] or 0), done["finished_at"] is None, change.id)

    def delete_named(self, scopes: list[Scope], ids: list[uuid.UUID]) -> Response:
        """Delete memories of these cubes. Raises NotFound, and deletes none, if one of them is not in the cubes."""
        known = {row["id"] for scope in scopes for row in read.get_many(scope, ids)}
        if unknown := [one for one in ids if str(one) not in known]:
            raise NotFound(f"There is no memory {unknown[0]} in these cubes.", detail={"field": "memory_ids"})
        done = edit.archive(self.access, memory_ids=ids, reason=REASON, now=timezone.now(), request_id=self.request_id)
        return tell_deleted([ChangedMany(len(done))])

    def delete_where(self, scope: Scope, where: Filter) -> ChangedMany:
        """Delete the memories of a cube that match the filter."""
        return self.carry_out(scope, bulk.archive_where(scope, where=where, reason=REASON, now=timezone.now()))


def count_cubes(request: Request) -> int:
    """Return how many requests this one counts for in rate limits: one for each cube."""
    cubes = request.data.get("readable_cube_ids") if isinstance(request.data, dict) else None
    return min(MAX_CUBES, max(1, len(cubes))) if isinstance(cubes, list) else 1


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorMemoryViewSet(MemTensorViewSet):
    """Memories, at the `/product` routes of MemTensor's server."""

    required_scope = {
        **dict.fromkeys(
            ("search_memories", "list_all", "list_memories", "dashboard", "retrieve", "suggestions", "names"),
            AccessScope.READ,
        ),
        **dict.fromkeys(("add", "delete_memories", "judge"), AccessScope.WRITE),
    }
    shared_actions = frozenset(required_scope)

    count_requests = staticmethod(count_cubes)

    @extend_schema(
        operation_id="memtensor_add",
        summary="Remember messages in one or several cubes",
        request=AddMemorySerializer,
        responses={200: ADDED},
        parameters=[IDEMPOTENCY_KEY],
    )
    def add(self, request: Request) -> Response:
        return self.add_memories(self.valid(AddMemorySerializer, request.data))

    @extend_schema(
        operation_id="memtensor_search",
        summary="Find the memories of one or several cubes that answer",
        request=SearchMemorySerializer,
        responses={200: FOUND},
    )
    def search_memories(self, request: Request) -> Response:
        return self.search_cubes(self.valid(SearchMemorySerializer, request.data))

    @extend_schema(
        operation_id="memtensor_get_all",
        summary="All memories of cubes, newest first",
        request=ListAllSerializer,
        responses={200: LISTED},
    )
    def list_all(self, request: Request) -> Response:
        return self.list_everything(self.valid(ListAllSerializer, request.data))

    @extend_schema(
        operation_id="memtensor_get_memory_page",
        summary="A page of a cube's memories, by kind",
        request=ListMemorySerializer,
        responses={200: FOUND},
    )
    def list_memories(self, request: Request) -> Response:
        return self._list_page(request)

    @extend_schema(
        operation_id="memtensor_get_memory_dashboard",
        summary="The same, for dashboards",
        request=ListMemorySerializer,
        responses={200: FOUND},
    )
    def dashboard(self, request: Request) -> Response:
        return self._list_page(request)

    def _list_page(self, request: Request) -> Response:
        values = self.valid(ListMemorySerializer, request.data)
        reached, places = self.reach_one(values["mem_cube_id"], values["user_id"])
        where = filters.join(reached.where, values["filter"])
        page, size = values["page"] or 1, values["page_size"] or MAX_PAGE_SIZE
        cubes = [self.list_place(place, where, page=page, size=size) for place in places]
        total = sum(cube["total_nodes"] for cube in cubes)
        return envelop(answers.group(cubes), f"Page {page} of {-(-total // size) or 1}.")

    @extend_schema(
        operation_id="memtensor_get_memory",
        summary="One memory",
        responses={200: describe_envelope("OneMemory", answers.MemTensorMemorySerializer())},
    )
    def retrieve(self, request: Request, memory_id: uuid.UUID) -> Response:
        return envelop(answers.describe_row(read.get_memory(self.access, memory_id=memory_id)), "The memory.")

    @extend_schema(
        operation_id="memtensor_delete_memory",
        summary="Delete memories by their ids, or those that a filter holds for; each can be restored",
        request=DeleteMemorySerializer,
        responses={200: describe_envelope("Deleted", answers.DeletedSerializer())},
    )
    def delete_memories(self, request: Request) -> Response:
        values = self.valid(DeleteMemorySerializer, request.data)
        cubes = list_cubes(values, "writable_cube_ids")
        reached = self.reach(cubes, values["user_id"] or "default")
        places = self.find_places(reached)
        if values["memory_ids"]:
            return self.delete_named([place.scope for place in places], values["memory_ids"])
        session = values["session_id"] or values["conversation_id"]
        named = reached.name_session(session, timezone.now()) if session else None
        where = filters.join(
            reached.where if values["user_id"] is None else filters.hold_user(values["user_id"]),
            filters.hold_session(named) if named else None,
            values["filter"],
        )
        if where is None:
            raise serializers.ValidationError({"filter": "must not be empty: say which memories are to be deleted."})
        if shared := [place.cube_id for place in places if self.access.share_of(place.scope.namespace_id)]:
            raise Forbidden(
                f"The cube {shared[0]} is shared with this key, which may delete only single memories of it: name them "
                "in memory_ids. Nothing was deleted.",
                detail={"field": "memory_ids"},
            )
        return tell_deleted([self.delete_where(place.scope, where) for place in places])

    @extend_schema(
        operation_id="memtensor_feedback",
        summary="Remember what is said of memories",
        request=MemTensorFeedbackSerializer,
        responses={200: describe_envelope("FeedbackKept", answers.FeedbackKeptSerializer())},
        parameters=[IDEMPOTENCY_KEY],
    )
    def judge(self, request: Request) -> Response:
        return self.take_feedback(self.valid(MemTensorFeedbackSerializer, request.data))

    @extend_schema(
        operation_id="memtensor_suggestions",
        summary="Questions that a cube's memories may answer",
        request=SuggestionsSerializer,
        responses={200: describe_envelope("Suggestions", answers.SuggestedSerializer())},
    )
    def suggestions(self, request: Request) -> Response:
        values = self.valid(SuggestionsSerializer, request.data)
        reached, places = self.reach_one(values["mem_cube_id"], values["user_id"])
        # Entities are known by namespace, not by user.
        asked = [] if reached.of_user else suggest([place.scope for place in places], language=values["language"])
        says = "Name a cube: of a user alone nothing is suggested." if reached.of_user else "Suggestions."
        return envelop({"query": asked}, says)

    @extend_schema(
        operation_id="memtensor_get_user_names",
        summary="Whose memories are, by their ids",
        request=NamesOfMemoriesSerializer,
        responses={
            200: describe_envelope(
                "UserNames",
                serializers.DictField(
                    child=serializers.CharField(allow_null=True),
                    help_text="null: no user's, or not there",
                ),
            )
        },
    )
    def names(self, request: Request) -> Response:
        ids = self.valid(NamesOfMemoriesSerializer, request.data)["memory_ids"]
        owners = {row["id"]: filters.find_user(row) for row in read.get_reachable(self.access, ids)}
        return envelop({str(one): owners.get(str(one)) for one in ids}, "Whose they are.")


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorByIdsViewSet(MemTensorViewSet):
    """Memories by their ids. The body is a plain list."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"by_ids"})
    parser_classes = (JSONListParser,)

    @extend_schema(
        operation_id="memtensor_get_memory_by_ids",
        summary="Memories by their ids; those that are not there are left out",
        request={"application/json": _IDS},
        responses={200: describe_envelope("SeveralMemories", answers.MemTensorMemorySerializer(many=True))},
    )
    def by_ids(self, request: Request) -> Response:
        ids = self.valid(MemoryIdsSerializer, {"memory_ids": request.data})["memory_ids"]
        rows = read.get_reachable(self.access, ids)
        return envelop([answers.describe_row(row) for row in rows], f"{len(rows)} of {len(ids)} are there.")


def tell_deleted(done: Sequence[ChangedMany]) -> Response:
    """Answer with what was deleted in all the cubes."""
    count, is_waiting = sum(one.count for one in done), any(one.is_waiting for one in done)
    says = f"{count} {'memory' if count == 1 else 'memories'} "
    says += "are being deleted." if is_waiting else "deleted; POST /v1/memories/{memory_id}/restore brings one back."
    data = {
        "status": "in_progress" if is_waiting else "success",
        "deleted": count,
        "record_ids": [str(one.record) for one in done if one.record],
    }
    return envelop(data, says)
