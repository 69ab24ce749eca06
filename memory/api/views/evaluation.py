from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.evaluation import (
    CompareSerializer,
    ComparisonSerializer,
    EvaluationDetailSerializer,
    EvaluationListingSerializer,
    EvaluationListSerializer,
    EvaluationRunDetailSerializer,
    EvaluationRunSerializer,
    EvaluationSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.evaluation.comparison import compare
from memory.services.evaluation import runs
from memory.types import ListFilter


class EvaluationViewSet(MemosViewSet):
    """Measures retrieval in the background, and lists and compares the results."""

    required_scope = {
        "create": AccessScope.ADMIN,
        "recent": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "compare": AccessScope.READ,
    }

    @extend_schema(
        operation_id="request_evaluation",
        summary="Queue an evaluation of a dataset, or of a namespace by its judgements",
        request=EvaluationSerializer,
        responses={200: EvaluationRunSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(EvaluationSerializer, request.data)
        run = runs.request(
            self.access,
            scope=self.scope(values["namespace"], create=False) if values["namespace"] else None,
            dataset=values["dataset"],
            options=EvaluationSerializer.options_of(values),
            label=values["label"],
            now=timezone.now(),
        )
        return Response(runs.to_dict(run))

    @extend_schema(
        operation_id="list_evaluations",
        summary="The newest evaluations",
        parameters=[EvaluationListingSerializer],
        responses={200: EvaluationListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(EvaluationListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        return Response({"evaluations": runs.list_runs(self.access, wanted=wanted)})

    @extend_schema(
        operation_id="show_evaluation",
        summary="One evaluation, with its results if asked for",
        parameters=[EvaluationDetailSerializer],
        responses={200: EvaluationRunDetailSerializer},
    )
    def retrieve(self, request: Request, run_id: uuid.UUID) -> Response:
        include = self.valid(EvaluationDetailSerializer, request.query_params)["include_results"]
        run = runs.find(self.access, run_id=run_id)
        return Response({**runs.to_dict(run), "results": runs.results(run) if include else None})

    @extend_schema(
        operation_id="compare_evaluations",
        summary="Two finished evaluations, with a bootstrap interval of every difference",
        parameters=[CompareSerializer],
        responses={200: ComparisonSerializer},
    )
    def compare(self, request: Request) -> Response:
        values = self.valid(CompareSerializer, request.query_params)
        compared = compare(
            self.access, base_id=values["base"], run_id=values["run"], tolerance=values["tolerance"] / 100
        )
        return Response(compared.to_dict())
