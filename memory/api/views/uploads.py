from __future__ import annotations

import io
import uuid

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.parsers import BytesParser, StrictJSONParser
from memory.api.serializers.uploads import UploadSerializer, UploadStartSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.imports import uploads


class UploadViewSet(MemosViewSet):
    """Files that are too large for one request. Only the caller who began an upload may send its parts and use it."""

    required_scope = dict.fromkeys(("create", "retrieve", "destroy"), AccessScope.WRITE)
    parser_classes = [StrictJSONParser]

    @extend_schema(
        operation_id="start_upload",
        summary="Announce a file that comes in parts, to be imported or loaded",
        request=UploadStartSerializer,
        responses={200: UploadSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(UploadStartSerializer, request.data)
        name = values["namespace"]
        file = {"name": values["name"], "size": values["bytes"], "sha256": values["sha256"], "now": timezone.now()}
        if (scope := self.scope_if_there(name)) is None:
            row = uploads.start_upload_into_new(lambda: self.scope(name), **file)
        else:
            row = uploads.start_upload(scope, **file)
        return Response(uploads.to_dict(row))

    @extend_schema(
        operation_id="get_upload", summary="Which parts of an upload are here", responses={200: UploadSerializer}
    )
    def retrieve(self, request: Request, upload_id: uuid.UUID) -> Response:
        return Response(uploads.to_dict(uploads.find_upload(self.access, upload_id=upload_id)))

    @extend_schema(operation_id="delete_upload", summary="Delete an upload that nothing uses", responses={204: None})
    def destroy(self, request: Request, upload_id: uuid.UUID) -> Response:
        uploads.delete_upload(self.access, upload_id=upload_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class UploadPartViewSet(MemosViewSet):
    """The parts of an uploaded file."""

    required_scope = {"update": AccessScope.WRITE}
    parser_classes = [BytesParser]

    @extend_schema(
        operation_id="send_upload_part",
        summary="Send a part of a file; one that is sent again takes its place",
        request={BytesParser.media_type: OpenApiTypes.BINARY},
        responses={204: None},
    )
    def update(self, request: Request, upload_id: uuid.UUID, number: int) -> Response:
        body = request.data
        # A request without a body has no stream.
        stream = body if hasattr(body, "read") else io.BytesIO()
        uploads.store_part(self.access, upload_id=upload_id, number=number, read=stream.read)
        return Response(status=status.HTTP_204_NO_CONTENT)
