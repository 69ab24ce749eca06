from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.search import FoundSerializer, SearchSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.retrieval.pack import chunk
from memory.services.recall.search import NOTHING_FOUND, Ask, search


class SearchViewSet(MemosViewSet):
    """Finds memories, and nothing else."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="search",
        summary="Find the memories that answer a question, without session or pack",
        request=SearchSerializer,
        responses={200: FoundSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(SearchSerializer, request.data)
        scope = self.scope_if_there(values["namespace"])
        found = search(scope, build_ask(values)) if scope else NOTHING_FOUND
        explained = zip(found.hits, found.explanations, strict=True)
        return Response(
            {
                "hits": [{**chunk(hit), "explanation": explanation} for hit, explanation in explained],
                "answerable": found.answerable,
                "dropped": found.dropped,
                "weights": found.retrieval.weights,
                "milliseconds": found.retrieval.milliseconds,
                "dry_run": values["dry_run"],
                "degraded": found.degraded,
            }
        )


def build_ask(values: Mapping[str, Any]) -> Ask:
    """The validated fields that every question has, as the services take them."""
    return Ask(
        text=values["query"],
        top_k=values["top_k"],
        now=timezone.now(),
        where=values["filter"],
        as_of=values["as_of"],
        valid_at=values["valid_at"],
        dry_run=values.get("dry_run", True),
        show_dropped=values.get("explain", False),
        min_relevance=values.get("min_relevance") or 0.0,
    )
