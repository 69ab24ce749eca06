from __future__ import annotations

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.documents import (
    DocumentDeletedSerializer,
    DocumentDetailSerializer,
    DocumentListingSerializer,
    DocumentListSerializer,
    DocumentPageSerializer,
    DocumentPathSerializer,
    DocumentSerializer,
    StoredDocumentSerializer,
)
from memory.api.views.base import MemosViewSet, may_lag
from memory.enums import AccessScope
from memory.services.ingestion import document_listing, documents

# The serializers have it to check it; it is no parameter of the query.
_IN_THE_PATH = OpenApiParameter("document_id", location=OpenApiParameter.QUERY, exclude=True)


class DocumentViewSet(MemosViewSet):
    """Long texts, kept as chunks that are memories."""

    required_scope = {
        "create": AccessScope.WRITE,
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "destroy": AccessScope.WRITE,
    }
    # A document is deleted for good: by those whose it is.
    shared_actions = frozenset({"create", "list", "retrieve"})

    @extend_schema(
        operation_id="put_document",
        summary="Remember a document, or its new version",
        request=DocumentSerializer,
        responses={200: StoredDocumentSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(DocumentSerializer, request.data)
        stored = documents.put_document(
            self.scope(values["namespace"]),
            document=DocumentSerializer.document_of(values),
            now=timezone.now(),
            idempotency=self.idempotency(),
        )
        return Response({**asdict(stored), "accepted": stored.accepted})

    @extend_schema(
        operation_id="list_documents",
        summary="The namespace's documents, newest first",
        parameters=[DocumentListingSerializer],
        responses={200: DocumentListSerializer},
    )
    @may_lag
    def list(self, request: Request) -> Response:
        values = self.valid(DocumentListingSerializer, request.query_params)
        rows, cursor = document_listing.list_documents(
            self.scope(values["namespace"], create=False),
            session=values["session_id"] or None,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        return Response({"documents": rows, "next_cursor": str(cursor) if cursor else None})

    @extend_schema(
        operation_id="get_document",
        summary="A document and its chunks",
        parameters=[DocumentPageSerializer, _IN_THE_PATH],
        responses={200: DocumentDetailSerializer},
    )
    def retrieve(self, request: Request, document_id: str) -> Response:
        values = self.valid(DocumentPageSerializer, {**request.query_params.dict(), "document_id": document_id})
        found = document_listing.get_document(
            self.scope(values["namespace"], create=False),
            document_id=values["document_id"],
            cursor=values["cursor"],
            limit=values["limit"],
        )
        return Response(found)

    @extend_schema(
        operation_id="delete_document",
        summary="Delete a document with its chunks",
        parameters=[DocumentPathSerializer, _IN_THE_PATH],
        responses={200: DocumentDeletedSerializer},
    )
    def destroy(self, request: Request, document_id: str) -> Response:
        values = self.valid(DocumentPathSerializer, {**request.query_params.dict(), "document_id": document_id})
        removed = documents.delete_document(
            self.scope(values["namespace"], create=False), document_id=values["document_id"], now=timezone.now()
        )
        return Response({"document_id": document_id, "deleted": removed is not None, "chunks": removed or 0})
