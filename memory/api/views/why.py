from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.why import DiagnosisSerializer, WhySerializer
from memory.api.views.base import MemosViewSet
from memory.api.views.search import build_ask
from memory.enums import AccessScope
from memory.services.recall.why import why


class WhyViewSet(MemosViewSet):
    """Explains why a memory was not returned."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create"})

    @extend_schema(
        operation_id="why",
        summary="Say why a memory did not come back for a question, or where it did",
        request=WhySerializer,
        responses={200: DiagnosisSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(WhySerializer, request.data)
        scope = self.scope(values["namespace"], create=False)
        of_read_share = self.access.reads_share_of(scope.namespace_id)
        ask = build_ask(values, now=self.now_in(values["namespace"], values["timezone"]))
        diagnosis = why(scope, ask, memory_id=values["memory_id"], of_read_share=of_read_share)
        return Response(asdict(diagnosis))
