from __future__ import annotations

from itertools import islice
from typing import Any

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
    ItemOutcomeSerializer,
    Told,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.ingestion.ingest import ingest_batch
from memory.types import NewMemory, Scope


class IngestViewSet(MemosViewSet):
    """Stores turns and messages as memories."""

    required_scope = AccessScope.WRITE
    shared_actions = frozenset({"create", "batch"})

    @extend_schema(
        operation_id="ingest",
        summary="Remember one turn, or the messages of a chat",
        request=IngestSerializer,
        responses={200: IngestedSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        now = timezone.now()
        values = self.valid(IngestSerializer, request.data)
        told = IngestSerializer.to_turns(values, now=self.now_in(values["namespace"], values["timezone"]))
        done = ingest_batch(self._items(values["namespace"], told), now=now, idempotency=self.idempotency())
        return Response({**ItemOutcomeSerializer.of(told, done.outcomes), "degraded": done.degraded})

    @extend_schema(
        operation_id="ingest_batch",
        summary="Remember up to 1000 turns, all or none",
        request=IngestBatchSerializer,
        responses={200: IngestedBatchSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def batch(self, request: Request) -> Response:
        now = timezone.now()
        data: Any = request.data
        if isinstance(sent := data.get("items"), list):
            data = {**data, "items": [self.add_namespace(item) for item in sent]}
        items = self.valid(IngestBatchSerializer, data)["items"]
        told = [IngestSerializer.to_turns(item, now=self.now_in(item["namespace"], item["timezone"])) for item in items]
        turns = [turn for item, one in zip(items, told, strict=True) for turn in self._items(item["namespace"], one)]
        done = ingest_batch(turns, now=now, idempotency=self.idempotency())
        outcomes = iter(done.outcomes)
        results = [ItemOutcomeSerializer.of(one, list(islice(outcomes, len(one.memories)))) for one in told]
        return Response({"results": results, "degraded": done.degraded})

    def _items(self, namespace: str, told: Told) -> list[tuple[Scope, NewMemory]]:
        """Return the turns with their scope. No namespace is made if there are none. Raises NotFound."""
        if not told.memories:
            self.scope_if_there(namespace)
            return []
        scope = self.scope(namespace)
        return [(scope, memory) for memory in told.memories]
