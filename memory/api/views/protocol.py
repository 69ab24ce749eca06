from __future__ import annotations

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.protocol import (
    ContentSerializer,
    GroupQuerySerializer,
    RecallSerializer,
    TakenInSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.recall import protocol
from memory.services.recall.search import NAMESPACE_UNKNOWN


class ProtocolViewSet(MemosViewSet):
    """The three-tier protocol. A group is a namespace."""

    required_scope = {"ingest": AccessScope.WRITE, "query": AccessScope.READ}

    @extend_schema(
        operation_id="three_tier_ingest",
        summary="Remember a content",
        request=ContentSerializer,
        responses={200: TakenInSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def ingest(self, request: Request) -> Response:
        values = self.valid(ContentSerializer, request.data)
        done = protocol.take_in(
            self.scope(values["group_id"]),
            content=values["content"],
            now=timezone.now(),
            idempotency=self.idempotency(),
        )
        memory_id = str(done.memory_id) if done.memory_id else None
        return Response({**asdict(done), "verdict": done.verdict.value, "memory_id": memory_id})

    @extend_schema(
        operation_id="three_tier_query",
        summary="What is hot, and what is nearest",
        request=GroupQuerySerializer,
        responses={200: RecallSerializer},
    )
    def query(self, request: Request) -> Response:
        values = self.valid(GroupQuerySerializer, request.data)
        scope = self.scope_if_there(values["group_id"])
        found = protocol.recall(scope, query=values["query"], now=self.now_in(scope.namespace)) if scope else []
        degraded = [] if scope else [NAMESPACE_UNKNOWN]
        return Response({"results": [asdict(recalled) for recalled in found], "degraded": degraded})
