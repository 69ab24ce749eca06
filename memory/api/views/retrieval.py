from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.knowledge_errors import knowledge_exception_handler
from memory.api.serializers.query import MAX_QUERY_CHARS
from memory.api.serializers.retrieval import KnowledgeErrorSerializer, RecordsSerializer, RetrievalSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.retrieval.pack import chunk
from memory.services.recall.search import Ask, search


class RetrievalViewSet(MemosViewSet):
    """Dify's External Knowledge API. A knowledge base is a namespace."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create"})
    error_serializer = KnowledgeErrorSerializer
    takes_unknown_fields = True

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return knowledge_exception_handler

    @extend_schema(
        operation_id="retrieval",
        summary="Records for a knowledge base of Dify",
        request=RetrievalSerializer,
        responses={200: RecordsSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(RetrievalSerializer, request.data)
        setting = values["retrieval_setting"]
        ask = Ask(
            text=values["query"][:MAX_QUERY_CHARS],
            top_k=setting["top_k"],
            now=self.now_in(values["knowledge_id"]),
            where=values["filter"],
            min_relevance=setting["score_threshold"] or 0.0,
        )
        found = search(self.scope(values["knowledge_id"], create=False), ask)
        return Response({"records": [_record(chunk(hit)) for hit in found.hits], "degraded": found.degraded})


def _record(hit: Mapping[str, Any]) -> dict[str, Any]:
    metadata = hit["metadata"]
    document = metadata.get("document")
    title = (document.get("title") or document.get("document_id")) if isinstance(document, dict) else None
    return {
        "content": hit["text"],
        "score": hit["relevance"],
        "title": str(title or metadata["session_id"]),
        "metadata": {**metadata, "memory_id": hit["id"]},
    }
