from __future__ import annotations

import uuid
from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.parsers import StrictJSONParser
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.document_files import (
    DocumentFileFormSerializer,
    DocumentFileListingSerializer,
    DocumentFileListSerializer,
    DocumentFileSerializer,
    ReparseSerializer,
)
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
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.ingestion import document_listing, documents, file_listing, files
from memory.types import ListFilter

# The serializers validate it, but it is not a query parameter.
_IN_THE_PATH = OpenApiParameter("document_id", location=OpenApiParameter.QUERY, exclude=True)


class DocumentViewSet(MemosViewSet):
    """Documents: long texts, kept as chunks that are memories."""

    required_scope = {
        "create": AccessScope.WRITE,
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "destroy": AccessScope.WRITE,
        "reparse": AccessScope.WRITE,
    }
    tells_stored = frozenset({"reparse"})
    parser_classes = [StrictJSONParser, MultiPartParser]
    # Documents are deleted for good, so only their owner may do it.
    shared_actions = frozenset({"create", "list", "retrieve"})

    @extend_schema(
        operation_id="put_document",
        summary="Remember a document, or its new version: a text at once, a file in the background",
        request={"application/json": DocumentSerializer, "multipart/form-data": DocumentFileFormSerializer},
        responses={200: StoredDocumentSerializer, 202: DocumentFileSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        if (request.content_type or "").startswith("multipart/"):
            values = self.valid(DocumentFileFormSerializer, request.data)
            upload = DocumentFileFormSerializer.to_upload(values)
            idempotency = self.idempotency()
            scope, now = self.scope(values["namespace"]), timezone.now()
            row = files.start_file(scope, upload, now=now, idempotency=idempotency)
            return Response(file_listing.to_dict(row), status=status.HTTP_202_ACCEPTED)
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
    def list(self, request: Request) -> Response:
        values = self.valid(DocumentListingSerializer, request.query_params)
        rows, cursor = document_listing.list_documents(
            self.scope(values["namespace"], create=False),
            session=values["session_id"] or None,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        return Response({"documents": rows, "next_cursor": write_cursor("documents", cursor)})

    @extend_schema(
        operation_id="get_document",
        summary="A document and its chunks",
        parameters=[DocumentPageSerializer, _IN_THE_PATH],
        responses={200: DocumentDetailSerializer},
    )
    def retrieve(self, request: Request, document_id: str) -> Response:
        values = self.valid(DocumentPageSerializer, {**request.query_params.dict(), "document_id": document_id})
        scope = self.scope(values["namespace"], create=False)
        found = document_listing.get_document(
            scope,
            document_id=values["document_id"],
            cursor=values["cursor"],
            limit=values["limit"],
            active_only=self.access.reads_share_of(scope.namespace_id),
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

    @extend_schema(
        operation_id="reparse_document",
        summary="Read the original of a document anew, in the background",
        request=ReparseSerializer,
        responses={202: DocumentFileSerializer},
    )
    def reparse(self, request: Request, document_id: str) -> Response:
        body = request.data if isinstance(request.data, dict) else {}
        values = self.valid(ReparseSerializer, {**body, "document_id": document_id})
        scope = self.scope(values["namespace"], create=False)
        row = files.reparse_document(scope, document_id=values["document_id"], now=timezone.now())
        return Response(file_listing.to_dict(row), status=status.HTTP_202_ACCEPTED)


class DocumentFileViewSet(MemosViewSet):
    """Files that documents are parsed from: the progress of each, and its outcome."""

    required_scope = {"list": AccessScope.READ, "retrieve": AccessScope.READ}
    # A key that may add files sees their outcome. One that may only read must not learn about refused files.
    shared_actions = frozenset({"list", "retrieve"})
    share_scope = AccessScope.WRITE

    @extend_schema(
        operation_id="list_document_files",
        summary="Files that were given as documents, the newest first",
        parameters=[DocumentFileListingSerializer],
        responses={200: DocumentFileListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(DocumentFileListingSerializer, request.query_params)
        rows, cursor = file_listing.list_files(
            self.access,
            wanted=ListFilter(values["namespace"] or None, None, values["limit"]),
            document_id=values["document_id"] or None,
            cursor=values["cursor"],
        )
        return Response({"files": rows, "next_cursor": write_cursor("document-files", cursor)})

    @extend_schema(
        operation_id="get_document_file",
        summary="How far a file is, and what came of it",
        responses={200: DocumentFileSerializer},
    )
    def retrieve(self, request: Request, file_id: uuid.UUID) -> Response:
        return Response(file_listing.to_dict(file_listing.find_file(self.access, file_id=file_id)))
