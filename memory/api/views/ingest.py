from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.ingest import (
    IngestBatchSerializer,
    IngestedBatchSerializer,
    IngestedSerializer,
    IngestSerializer,
    OutcomeSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.ingest import ingest, ingest_batch
from memory.types import Scope


class IngestViewSet(MemosViewSet):
    """Takes in what was said and done."""

    required_scope = AccessScope.WRITE

    @extend_schema(
        operation_id="ingest",
        summary="Remember one turn",
        request=IngestSerializer,
        responses={200: IngestedSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(IngestSerializer, request.data)
        done = ingest(
            self.scope(values["namespace"]),
            memory=IngestSerializer.memory_of(values),
            now=timezone.now(),
            idempotency=self.idempotency(),
        )
        return Response({**OutcomeSerializer.shown(done.outcomes[0]), "degraded": done.degraded})

    @extend_schema(
        operation_id="ingest_batch",
        summary="Remember up to 1000 turns, all or none",
        request=IngestBatchSerializer,
        responses={200: IngestedBatchSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def batch(self, request: Request) -> Response:
        items = self.valid(IngestBatchSerializer, request.data)["items"]
        scopes: dict[str, Scope] = {}
        for item in items:
            if item["namespace"] not in scopes:
                scopes[item["namespace"]] = self.scope(item["namespace"])
        done = ingest_batch(
            [(scopes[item["namespace"]], IngestSerializer.memory_of(item)) for item in items],
            now=timezone.now(),
            idempotency=self.idempotency(),
        )
        results = [OutcomeSerializer.shown(outcome) for outcome in done.outcomes]
        return Response({"results": results, "degraded": done.degraded})
