from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.usage import UsageListSerializer, UsageReadSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.usage import totals
from memory.services.usage.totals import MAX_FILED, UsageFilter, UsageTotal


class UsageViewSet(MemosViewSet):
    """Tokens and cost of model calls, for the namespaces that the key reaches."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="list_usage",
        summary="Calls of models, their tokens and cost",
        parameters=[UsageReadSerializer],
        responses={(200, "application/json"): UsageListSerializer, (200, "text/csv"): OpenApiTypes.STR},
    )
    def totals(self, request: Request) -> Response | HttpResponse:
        values = self.valid(UsageReadSerializer, request.query_params)
        as_file = values["format"] == "csv"
        wanted = UsageFilter(
            since=values["from"],
            until=values["to"],
            groups=values["group"],
            namespace=values["namespace"] or None,
            limit=MAX_FILED if as_file else values["limit"],
            cursor="" if as_file else values["cursor"],
        )
        found, cursor = totals.list_totals(self.access, wanted)
        if as_file:
            response = HttpResponse(
                "".join(totals.as_csv(wanted.groups, found)), content_type="text/csv; charset=utf-8"
            )
            name = f"usage-{wanted.since}-{wanted.until}.csv"
            response["Content-Disposition"] = f'attachment; filename="{name}"'
            return response
        return Response({"usage": [_body(total) for total in found], "next_cursor": cursor})


def _body(total: UsageTotal) -> dict[str, Any]:
    return {
        **{group: value or None for group, value in total.groups.items()},
        **totals.figures_of(total),
    }
