from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.parsers import StrictJSONParser
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.imports import (
    ImportFileSerializer,
    ImportListingSerializer,
    ImportListSerializer,
    ImportSerializer,
    ImportTextSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.imports import requests
from memory.types import ListFilter, Scope


class ImportViewSet(MemosViewSet):
    """Imports exports of other programs, each in a job."""

    required_scope = {
        "create": AccessScope.WRITE,
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "cancel": AccessScope.WRITE,
    }
    tells_stored = frozenset({"cancel"})
    parser_classes = [StrictJSONParser, MultiPartParser]

    @extend_schema(
        operation_id="start_import",
        summary="Take in, in the background, what another program exported; what came before does not come again",
        request={"application/json": ImportTextSerializer, "multipart/form-data": ImportFileSerializer},
        responses={200: ImportSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        is_form = (request.content_type or "").startswith("multipart/")
        serializer = ImportFileSerializer if is_form else ImportTextSerializer
        values = self.valid(serializer, request.data)
        upload, now, idempotency = serializer.to_upload(values), timezone.now(), self.idempotency()
        name, actor = values["namespace"], self.access.actor
        there = self.scope_if_there(name)
        # A namespace that does not exist yet has the default policy and no uploads.
        scope = there or Scope(0, name, actor)
        if values["preview"]:
            return Response(requests.preview_import(scope, upload, now=now))
        if there is None and upload.upload_id is None:
            row = requests.start_import_into_new(
                lambda: self.scope(name), upload, actor=actor, now=now, idempotency=idempotency
            )
        else:
            row = requests.start_import(scope, upload, now=now, idempotency=idempotency)
        return Response(requests.to_dict(row))

    @extend_schema(
        operation_id="list_imports",
        summary="Imports, the newest first",
        parameters=[ImportListingSerializer],
        responses={200: ImportListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(ImportListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        rows, cursor = requests.list_imports(self.access, wanted=wanted, cursor=values["cursor"])
        return Response({"imports": rows, "next_cursor": write_cursor("imports", cursor)})

    @extend_schema(
        operation_id="get_import",
        summary="How far an import is, and what came of it",
        responses={200: ImportSerializer},
    )
    def retrieve(self, request: Request, import_id: uuid.UUID) -> Response:
        return Response(requests.to_dict(requests.find_import(self.access, import_id=import_id)))

    @extend_schema(
        operation_id="cancel_import",
        summary="End an import; what it has taken in stays",
        request=None,
        responses={200: ImportSerializer},
    )
    def cancel(self, request: Request, import_id: uuid.UUID) -> Response:
        row = requests.cancel_import(self.access, import_id=import_id, now=timezone.now())
        return Response(requests.to_dict(row))
