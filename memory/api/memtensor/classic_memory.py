"""Reads, corrects and deletes a single memory of a cube for the classic routes of MemTensor's API."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.fields import StrictCharField
from memory.api.mem0.base import tell_changes
from memory.api.memtensor import answers
from memory.api.memtensor.envelope import describe_envelope, envelop
from memory.api.memtensor.views import REASON, ChangedMany, MemTensorViewSet, tell_deleted
from memory.api.message_fields import MAX_TEXT_CHARS
from memory.api.preconditions import IF_MATCH, terms_of
from memory.api.route_tags import MEMTENSOR
from memory.api.schema import IDEMPOTENCY_KEY
from memory.enums import AccessScope
from memory.errors import NotFound
from memory.services.memories import edit, read

ONE = describe_envelope("ClassicMemory", answers.MemTensorMemorySerializer())


class ClassicUpdateSerializer(serializers.Serializer):
    """A corrected memory. Ignored: `id` and `metadata` of MemTensor's memory items."""

    memory = StrictCharField(min_length=1, max_length=MAX_TEXT_CHARS, help_text="What it says from now on")


@extend_schema(tags=[MEMTENSOR.name])
class ClassicMemoryViewSet(MemTensorViewSet):
    """A memory of a cube, at `/memories/{mem_cube_id}/{memory_id}`."""

    required_scope = {
        "retrieve": AccessScope.READ,
        **dict.fromkeys(("update", "destroy"), AccessScope.WRITE),
    }
    shared_actions = frozenset(required_scope)
    tells_stored = frozenset({"update"})

    @extend_schema(operation_id="memtensor_classic_get", summary="One memory of a cube", responses={200: ONE})
    def retrieve(self, request: Request, mem_cube_id: str, memory_id: uuid.UUID) -> Response:
        return envelop(answers.describe_row(self._find(mem_cube_id, memory_id)), "The memory.")

    @extend_schema(
        operation_id="memtensor_classic_update",
        summary="Correct what a memory says; the former text is kept as a version",
        request=ClassicUpdateSerializer,
        responses={200: ONE},
        parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    )
    def update(self, request: Request, mem_cube_id: str, memory_id: uuid.UUID) -> Response:
        values = self.valid(ClassicUpdateSerializer, request.data)
        self._find(mem_cube_id, memory_id)
        terms = terms_of(request, idempotency=self.idempotency())
        done = edit.edit(
            self.access, memory_id=memory_id, text=values["memory"], reason=REASON, now=timezone.now(), terms=terms
        )
        says = f"The memory was corrected.{tell_changes([done])}"
        return envelop(answers.describe_row(self._find(mem_cube_id, memory_id)), says)

    @extend_schema(
        operation_id="memtensor_classic_delete",
        summary="Delete a memory; it can be restored",
        responses={200: describe_envelope("ClassicDeleted", answers.DeletedSerializer())},
    )
    def destroy(self, request: Request, mem_cube_id: str, memory_id: uuid.UUID) -> Response:
        self._find(mem_cube_id, memory_id)
        now = timezone.now()
        done = edit.archive(self.access, memory_ids=[memory_id], reason=REASON, now=now, request_id=self.request_id)
        return tell_deleted([ChangedMany(len(done))])

    def _find(self, cube_id: str, memory_id: uuid.UUID) -> dict[str, Any]:
        [place] = self.find_places(self.reach([cube_id], cube_id))
        reached = read.get_reachable(self.access, [memory_id])
        rows = [row for row in reached if row["namespace"] == place.scope.namespace]
        if not rows:
            raise NotFound(f"There is no memory {memory_id} in the cube {cube_id!r}.", detail={"field": "memory_id"})
        return rows[0]
