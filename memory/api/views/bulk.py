from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.bulk import ArchiveWhereSerializer, BulkChangeSerializer, EditWhereSerializer
from memory.api.serializers.memories import MemoryListingSerializer, MemoryListSerializer, ReasonSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, BulkChangeVerb, MemoryState
from memory.errors import Forbidden
from memory.services.memories import bulk, read


class MemoriesViewSet(MemosViewSet):
    """The memories of a namespace: listing them, and changing all that match a filter."""

    required_scope = {"list": AccessScope.READ, "partial_update": AccessScope.WRITE, "destroy": AccessScope.WRITE}
    # Bulk changes are left to the owner of the memories.
    shared_actions = frozenset({"list"})
    bodies_of_delete = ("destroy",)

    @extend_schema(
        operation_id="list_memories",
        summary="The namespace's memories, newest recorded first",
        parameters=[MemoryListingSerializer],
        responses={200: MemoryListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(MemoryListingSerializer, request.query_params)
        scope = self.scope(values["namespace"], create=False)
        wanted = MemoryListingSerializer.to_filter(values)
        if wanted.state != MemoryState.ACTIVE and self.access.reads_share_of(scope.namespace_id):
            raise Forbidden(
                f"The cube {scope.namespace!r} is shared with this key for reading: it shows active memories alone.",
                detail={"field": "state"},
            )
        rows, cursor = read.list_memories(scope, wanted=wanted, now=timezone.now())
        return Response({"memories": rows, "next_cursor": write_cursor("memories", cursor)})

    @extend_schema(
        operation_id="change_memories",
        summary="Change all memories that a filter holds for, in the background",
        request=EditWhereSerializer,
        responses={200: BulkChangeSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def partial_update(self, request: Request) -> Response:
        values = self.valid(EditWhereSerializer, request.data)
        scope, where, now = self.scope(values["namespace"], create=False), values["filter"], timezone.now()
        edit, reason = EditWhereSerializer.to_edit(values), values["reason"]
        idempotency = self.idempotency()
        if values["dry_run"]:
            self._require_reading()
            bulk.check_edit(self.access, scope, edit=edit, reason=reason)
            return Response(bulk.preview(scope, verb=BulkChangeVerb.EDIT, where=where, now=now))
        change = bulk.edit_where(
            self.access, scope, where=where, edit=edit, reason=reason, now=now, idempotency=idempotency
        )
        return Response(bulk.to_dict(change))

    @extend_schema(
        operation_id="archive_memories",
        summary="Take all memories that a filter holds for out of retrieval, in the background; it can be undone",
        request=ArchiveWhereSerializer,
        responses={200: BulkChangeSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def destroy(self, request: Request) -> Response:
        values = self.valid(ArchiveWhereSerializer, request.data)
        scope, where, now = self.scope(values["namespace"], create=False), values["filter"], timezone.now()
        idempotency = self.idempotency()
        if values["dry_run"]:
            self._require_reading()
            return Response(bulk.preview(scope, verb=BulkChangeVerb.ARCHIVE, where=where, now=now))
        change = bulk.archive_where(scope, where=where, reason=values["reason"], now=now, idempotency=idempotency)
        return Response(bulk.to_dict(change))

    def _require_reading(self) -> None:
        if not self.access.may(AccessScope.READ):
            raise Forbidden("A dry run shows some of the memories: it needs a key with the scope 'read' too.")


class BulkChangeViewSet(MemosViewSet):
    """Changes of many memories: their progress, and undoing them."""

    required_scope = {"retrieve": AccessScope.READ, "undo": AccessScope.WRITE}
    tells_stored = frozenset({"undo"})

    @extend_schema(
        operation_id="get_bulk_change",
        summary="How far a change of many memories is",
        responses={200: BulkChangeSerializer},
    )
    def retrieve(self, request: Request, change_id: uuid.UUID) -> Response:
        return Response(bulk.to_dict(bulk.find(self.access, change_id=change_id)))

    @extend_schema(
        operation_id="undo_bulk_change",
        summary="Bring back the memories that a bulk change has archived, in the background",
        request=ReasonSerializer,
        responses={200: BulkChangeSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def undo(self, request: Request, change_id: uuid.UUID) -> Response:
        reason = self.valid(ReasonSerializer, request.data)["reason"]
        change = bulk.undo(
            self.access, change_id=change_id, reason=reason, now=timezone.now(), idempotency=self.idempotency()
        )
        return Response(bulk.to_dict(change))
