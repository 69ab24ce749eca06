from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.quarantine import (
    QuarantinedWholeSerializer,
    QuarantineListingSerializer,
    QuarantineListSerializer,
    ReviewedSerializer,
    ReviewSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, QuarantineState
from memory.services.ingestion import quarantine
from memory.services.ingestion.quarantine import QuarantineFilter, Reviewed


class QuarantineViewSet(MemosViewSet):
    """Texts that the gate quarantined. Keys that only read never see them, because agents must not."""

    tells_stored = frozenset({"recent", "retrieve"})
    required_scope = {
        "recent": AccessScope.WRITE,
        "retrieve": AccessScope.WRITE,
        "release": AccessScope.ADMIN,
        "discard": AccessScope.ADMIN,
    }

    @extend_schema(
        operation_id="list_quarantine",
        summary="What the gate kept apart, newest first",
        parameters=[QuarantineListingSerializer],
        responses={200: QuarantineListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(QuarantineListingSerializer, request.query_params)
        wanted = QuarantineFilter(
            namespace=values["namespace"] or None,
            state=QuarantineState(values["state"]) if values["state"] else None,
            rule=values["rule"] or None,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        rows, cursor = quarantine.list_items(self.access, wanted=wanted)
        return Response({"items": rows, "next_cursor": write_cursor("quarantine", cursor)})

    @extend_schema(
        operation_id="get_quarantined",
        summary="One of them, with its text",
        responses={200: QuarantinedWholeSerializer},
    )
    def retrieve(self, request: Request, item_id: uuid.UUID) -> Response:
        return Response(quarantine.item(self.access, item_id=item_id))

    @extend_schema(
        operation_id="release_quarantined",
        summary="Make it the memory or document that it would have been",
        request=ReviewSerializer,
        responses={200: ReviewedSerializer},
    )
    def release(self, request: Request, item_id: uuid.UUID) -> Response:
        values = self.valid(ReviewSerializer, request.data)
        return _answer(
            quarantine.release(
                self.access, item_id=item_id, note=values["note"], now=timezone.now(), request_id=self.request_id
            )
        )

    @extend_schema(
        operation_id="discard_quarantined",
        summary="Delete its text; that it was there, and why, stays",
        request=ReviewSerializer,
        responses={200: ReviewedSerializer},
    )
    def discard(self, request: Request, item_id: uuid.UUID) -> Response:
        values = self.valid(ReviewSerializer, request.data)
        return _answer(
            quarantine.discard(
                self.access, item_id=item_id, note=values["note"], now=timezone.now(), request_id=self.request_id
            )
        )


def _answer(reviewed: Reviewed) -> Response:
    return Response({**quarantine.whole(reviewed.item), "degraded": list(reviewed.degraded)})
