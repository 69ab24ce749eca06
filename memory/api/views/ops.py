from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.ops import (
    AuditListSerializer,
    CondensationListSerializer,
    ListingSerializer,
    PackListingSerializer,
    PackListSerializer,
    PipelineSerializer,
    ProceduralSerializer,
    StatsSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.jobs import schedules as schedule_runs
from memory.services.jobs import waiting
from memory.services.monitoring import listing, stats
from memory.types import ListFilter

RECENT = 20


class OpsViewSet(MemosViewSet):
    """Figures and logs of the namespaces that the key reaches."""

    required_scope = AccessScope.READ

    @extend_schema(operation_id="ops_stats", summary="Totals", responses={200: StatsSerializer})
    def stats(self, request: Request) -> Response:
        return Response(stats.totals(self.access))

    @extend_schema(
        operation_id="ops_pipeline",
        summary="Queues, schedules and newest summaries",
        responses={200: PipelineSerializer},
    )
    def pipeline(self, request: Request) -> Response:
        recent = listing.condensations(self.access, wanted=ListFilter(None, None, RECENT))
        now = timezone.now()
        return Response(
            {
                "queues": stats.queues(),
                "waiting": waiting.to_dict(waiting.queue_status(self.access)),
                "schedules": schedule_runs.list_schedules(self.access, now=now),
                "recent_condensations": recent,
            }
        )

    @extend_schema(
        operation_id="ops_audit",
        summary="Audit events",
        parameters=[ListingSerializer],
        responses={200: AuditListSerializer},
    )
    def audit(self, request: Request) -> Response:
        return Response({"events": listing.audit_events(self.access, wanted=self._filter(request))})

    @extend_schema(
        operation_id="ops_condensations",
        summary="Session summaries, every version",
        parameters=[ListingSerializer],
        responses={200: CondensationListSerializer},
    )
    def condensations(self, request: Request) -> Response:
        return Response({"condensations": listing.condensations(self.access, wanted=self._filter(request))})

    @extend_schema(
        operation_id="ops_context_packs",
        summary="Context packs that were handed over",
        parameters=[PackListingSerializer],
        responses={200: PackListSerializer},
    )
    def context_packs(self, request: Request) -> Response:
        values = self.valid(PackListingSerializer, request.query_params)
        rows = listing.context_packs(self.access, wanted=_filter_of(values), include_pack=values["include_pack"])
        return Response({"context_packs": rows})

    @extend_schema(
        operation_id="ops_procedural", summary="Registered prompts and tools", responses={200: ProceduralSerializer}
    )
    def procedural(self, request: Request) -> Response:
        return Response(listing.procedures(self.access))

    def _filter(self, request: Request) -> ListFilter:
        return _filter_of(self.valid(ListingSerializer, request.query_params))


def _filter_of(values: dict[str, Any]) -> ListFilter:
    return ListFilter(values["namespace"] or None, values["session_id"] or None, values["limit"])
