"""Deletes all memories of a cube under a record, with which the deletion can be undone."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.memtensor import answers
from memory.api.memtensor.envelope import describe_envelope, envelop
from memory.api.memtensor.serializers import NameField, NotDoneField, OptionalNameField
from memory.api.memtensor.views import ARCHIVE_SECONDS, REASON, MemTensorViewSet, tell_deleted
from memory.api.route_tags import MEMTENSOR
from memory.enums import AccessScope
from memory.errors import NotFound
from memory.services.memories import bulk, bulk_run
from memory.services.tenancy.idempotency import find_answer
from memory.types import Idempotency, Scope


class DeleteRecordSerializer(serializers.Serializer):
    mem_cube_id = NameField(help_text="All memories of this cube are deleted")
    record_id = NameField(help_text="The client's name for this deletion: sent again, it deletes nothing more")
    hard_delete = NotDoneField("is not done here: POST /v1/erasures forgets for good, with a receipt.")


class RecoverRecordSerializer(serializers.Serializer):
    mem_cube_id = NameField()
    delete_record_id = OptionalNameField(help_text="The client's name for the deletion, or one of its `record_ids`")
    record_id = OptionalNameField(help_text="The same")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs["delete_record_id"] or attrs["record_id"]):
            raise serializers.ValidationError({"delete_record_id": "is missing: name the deletion."})
        return attrs


class RecoveredSerializer(serializers.Serializer):
    status = serializers.ChoiceField(answers.PROGRESS)
    recovered = serializers.IntegerField()


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorRecordViewSet(MemTensorViewSet):
    """Deletes all memories of a cube under a record, and restores them by that record."""

    # These routes do not reach shared cubes, because bulk changes are left to the owner.
    required_scope = AccessScope.WRITE

    @extend_schema(
        operation_id="memtensor_delete_by_record",
        summary="Delete all memories of a cube, under a record by which they are recovered",
        request=DeleteRecordSerializer,
        responses={200: describe_envelope("RecordDeleted", answers.DeletedSerializer())},
    )
    def delete_all(self, request: Request) -> Response:
        values = self.valid(DeleteRecordSerializer, request.data)
        scope = self._find_scope(values["mem_cube_id"])
        key = _name_record(scope, values["record_id"])
        change = bulk.archive_where(scope, where=None, reason=REASON, now=timezone.now(), idempotency=key)
        return tell_deleted([self.carry_out(scope, change)])

    @extend_schema(
        operation_id="memtensor_recover_by_record",
        summary="Bring back the memories that a record has deleted",
        request=RecoverRecordSerializer,
        responses={200: describe_envelope("RecordRecovered", RecoveredSerializer())},
    )
    def recover(self, request: Request) -> Response:
        values = self.valid(RecoverRecordSerializer, request.data)
        scope = self._find_scope(values["mem_cube_id"])
        deleted = self._find_change(scope, values["delete_record_id"] or values["record_id"])
        # A deletion that is still under way has to finish before it can be undone.
        bulk_run.carry_out(
            namespace_id=scope.namespace_id, change_id=deleted, now=timezone.now, seconds=ARCHIVE_SECONDS
        )
        done = self.carry_out(scope, bulk.undo(self.access, change_id=deleted, reason=REASON, now=timezone.now()))
        says = f"{done.count} memories " + ("are being recovered." if done.is_waiting else "recovered.")
        data = {"status": "in_progress" if done.is_waiting else "success", "recovered": done.count}
        return envelop(data, says)

    def _find_scope(self, cube_id: str) -> Scope:
        [place] = self.find_places(self.reach([cube_id], cube_id))
        return place.scope

    def _find_change(self, scope: Scope, record_id: str) -> uuid.UUID:
        """Return the id of the record's bulk change. Raises NotFound, also for a record of another cube."""
        known = find_answer(_name_record(scope, record_id))
        try:
            identity = uuid.UUID(known.answer["id"] if known else record_id)
            change = bulk.find(self.access, change_id=identity)
        except (ValueError, NotFound):
            change = None
        if change is None or change.namespace_id != scope.namespace_id:
            raise NotFound(
                f"There is no record {record_id!r} of a deletion in this cube (any more).",
                detail={"field": "delete_record_id"},
            )
        return identity


def _name_record(scope: Scope, record_id: str) -> Idempotency:
    """Return the key that stores a client's record: the same for all callers, and without the record's name."""
    digest = hashlib.sha256(record_id.encode()).hexdigest()
    return Idempotency(f"memtensor-records:{scope.namespace_id}", digest, digest, keep_forever=True)
