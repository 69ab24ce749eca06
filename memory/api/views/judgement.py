from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.evaluation import EvaluationListingSerializer
from memory.api.serializers.judgement import JudgedSerializer, JudgementListSerializer, JudgementsSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.evaluation import judgements
from memory.services.evaluation.judgements import Mark
from memory.types import ListFilter


class JudgementViewSet(MemosViewSet):
    """Relevance marks for hits, which form a test set of the namespace."""

    required_scope = {"create": AccessScope.WRITE, "recent": AccessScope.READ}

    @extend_schema(
        operation_id="judge",
        summary="Mark memories as relevant to a question, or not",
        request=JudgementsSerializer,
        responses={200: JudgedSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(JudgementsSerializer, request.data)
        ids = judgements.judge(
            self.scope(values["namespace"], create=False),
            query_text=values["query"],
            marks=[Mark(**mark) for mark in values["marks"]],
            now=timezone.now(),
        )
        return Response({"ids": [str(value) for value in ids]})

    @extend_schema(
        operation_id="list_judgements",
        summary="The newest judgements",
        parameters=[EvaluationListingSerializer],
        responses={200: JudgementListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(EvaluationListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        return Response({"judgements": judgements.list_judgements(self.access, wanted=wanted)})
