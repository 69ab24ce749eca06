from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.erasure import (
    ErasureListingSerializer,
    ErasureListSerializer,
    ErasureReceiptSerializer,
    ErasureSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.erasure import receipts, requests
from memory.types import ListFilter


class ErasureViewSet(MemosViewSet):
    """Erases memories for good, in the background, and returns the receipts."""

    required_scope = AccessScope.ADMIN

    @extend_schema(
        operation_id="request_erasure",
        summary="Forget memories, a session, a speaker or a namespace for good",
        request=ErasureSerializer,
        responses={200: ErasureReceiptSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(ErasureSerializer, request.data)
        scope = self.scope(values["namespace"], create=False)
        target, reason, now = ErasureSerializer.target_of(values), values["reason"], timezone.now()
        idempotency = self.idempotency()
        if values["dry_run"]:
            return Response(requests.preview(scope, target=target, reason=reason, now=now))
        asked = requests.request(scope, target=target, reason=reason, now=now, idempotency=idempotency)
        return Response(receipts.to_dict(asked))

    @extend_schema(
        operation_id="list_erasures",
        summary="The newest erasures and their receipts",
        parameters=[ErasureListingSerializer],
        responses={200: ErasureListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(ErasureListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, values["session_id"] or None, values["limit"])
        rows, cursor = receipts.list_erasures(
            self.access, wanted=wanted, speaker=values["speaker"], cursor=values["cursor"]
        )
        return Response({"erasures": rows, "next_cursor": write_cursor("erasures", cursor)})

    @extend_schema(
        operation_id="show_erasure", summary="The receipt of one erasure", responses={200: ErasureReceiptSerializer}
    )
    def retrieve(self, request: Request, erasure_id: uuid.UUID) -> Response:
        return Response(receipts.to_dict(receipts.find(self.access, erasure_id=erasure_id)))
