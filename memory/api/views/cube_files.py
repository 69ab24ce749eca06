from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.event_stream import EventStream, Slot, give_connection_back
from memory.api.parsers import StrictJSONParser
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.cube_files import (
    CubeDumpSerializer,
    CubeFileListingSerializer,
    CubeFileListSerializer,
    CubeFileSerializer,
    CubeLoadSerializer,
)
from memory.api.serializers.errors import ErrorSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.errors import Forbidden
from memory.services.cube_files import requests
from memory.services.cubes import find
from memory.types import ListFilter, Scope

_MEDIA_TYPE = "application/zip"


class CubeFileViewSet(MemosViewSet):
    """Cubes as files. A job writes each dump and loads each file."""

    required_scope = {
        **dict.fromkeys(("dump", "list", "retrieve", "content"), AccessScope.READ),
        **dict.fromkeys(("load", "cancel", "destroy"), AccessScope.WRITE),
    }
    tells_stored = frozenset({"cancel"})
    parser_classes = [StrictJSONParser, MultiPartParser]

    @extend_schema(
        operation_id="dump_cube",
        summary="Write a cube into a file, in the background",
        request=CubeDumpSerializer,
        responses={200: CubeFileSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def dump(self, request: Request, cube_id: uuid.UUID) -> Response:
        values = self.valid(CubeDumpSerializer, request.data)
        self._require_admin(values, ("quarantine", "audit"))
        cube = find.find_cube(self.access, cube_id)
        scope = self.scope(cube.namespace.name, create=False)
        row = requests.start_dump(
            scope,
            options=CubeDumpSerializer.to_options(values),
            now=timezone.now(),
            idempotency=self.idempotency(),
        )
        return Response(requests.to_dict(row))

    @extend_schema(
        operation_id="load_cube",
        summary="Load a cube's file, in the background; what is there already does not come again",
        request={"multipart/form-data": CubeLoadSerializer},
        responses={200: CubeFileSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def load(self, request: Request) -> Response:
        values = self.valid(CubeLoadSerializer, request.data)
        self._require_admin(values, ("policy", "procedures", "holds", "quarantine", "audit"))
        if values["holds"] is None:
            values["holds"] = self.access.may(AccessScope.ADMIN)
        name, upload = values["namespace"], CubeLoadSerializer.to_upload(values)
        options = CubeLoadSerializer.to_options(values)
        asked = {"dry_run": values["dry_run"], "now": timezone.now(), "idempotency": self.idempotency()}
        scope = self.scope_if_there(name)
        if scope is None and upload.upload_id is None:
            row = requests.start_load_into_new(lambda: self.scope(name), upload, options=options, **asked)
        else:
            # A namespace that does not exist has no uploads.
            scope = scope or Scope(0, name, self.access.actor)
            row = requests.start_load(scope, upload, options=options, **asked)
        return Response(requests.to_dict(row))

    @extend_schema(
        operation_id="list_cube_files",
        summary="Dumps and loads, the newest first",
        parameters=[CubeFileListingSerializer],
        responses={200: CubeFileListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(CubeFileListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        rows, cursor = requests.list_files(self.access, wanted=wanted, cursor=values["cursor"])
        return Response({"files": rows, "next_cursor": write_cursor("cube-files", cursor)})

    @extend_schema(
        operation_id="get_cube_file",
        summary="How far a dump or load is, and what came of it",
        responses={200: CubeFileSerializer},
    )
    def retrieve(self, request: Request, file_id: uuid.UUID) -> Response:
        return Response(requests.to_dict(requests.find_file(self.access, file_id=file_id)))

    @extend_schema(
        operation_id="download_cube_file",
        summary="The file of a dump that is done",
        responses={
            (200, _MEDIA_TYPE): OpenApiTypes.BINARY,
            409: OpenApiResponse(ErrorSerializer, "The dump is not done, or its file is no longer there."),
        },
    )
    def content(self, request: Request, file_id: uuid.UUID) -> StreamingHttpResponse:
        row = requests.find_file(self.access, file_id=file_id)
        if row.options.get("quarantine") or row.options.get("audit"):
            self._require_admin(row.options, ("quarantine", "audit"))
        slot = Slot(self.access.actor)
        try:
            row, pieces = requests.read_file(self.access, file_id=file_id, now=timezone.now())
            stream = EventStream(_hold_no_connection(pieces), slot)
        except BaseException:
            slot.give_back()
            raise
        headers = {
            "Content-Disposition": f'attachment; filename="{row.name}"',
            "Content-Length": str(row.size),
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
        return StreamingHttpResponse(stream, content_type=_MEDIA_TYPE, headers=headers)

    @extend_schema(
        operation_id="cancel_cube_file",
        summary="End a dump or load; what a load has stored stays",
        request=None,
        responses={200: CubeFileSerializer},
    )
    def cancel(self, request: Request, file_id: uuid.UUID) -> Response:
        row = requests.cancel_file(self.access, file_id=file_id, now=timezone.now())
        return Response(requests.to_dict(row))

    @extend_schema(
        operation_id="delete_cube_file", summary="Delete a dump's file, and what is listed of it", responses={204: None}
    )
    def destroy(self, request: Request, file_id: uuid.UUID) -> Response:
        requests.delete_file(self.access, file_id=file_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _require_admin(self, values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        asked = [name for name in names if values.get(name)]
        if asked and not self.access.may(AccessScope.ADMIN):
            raise Forbidden(
                f"This needs a key with the scope 'admin': {', '.join(asked)}. Leave it out, or use another."
            )


def _hold_no_connection(pieces: Iterator[bytes]) -> Generator[bytes]:
    """Yield the pieces, without holding a database connection while the client reads one."""
    for piece in pieces:
        give_connection_back()
        yield piece
