from __future__ import annotations

import uuid

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.event_stream import EventStream, Slot, give_connection_back
from memory.api.serializers.activation import (
    ActivationBuildAnswerSerializer,
    ActivationBuildSerializer,
    ActivationCacheSerializer,
    ActivationListingSerializer,
    ActivationListSerializer,
    ActivationLoadSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, ActivationEngine, CubeKind, PromptForm
from memory.services.activation import build, caches, export, figures
from memory.services.cubes import find
from memory.types import ListFilter, Scope


class ActivationViewSet(MemosViewSet):
    """Caches of what a language model has computed for a cube's prefix, kept in files."""

    required_scope = {
        **dict.fromkeys(("list", "retrieve", "download"), AccessScope.READ),
        **dict.fromkeys(("create", "load", "destroy"), AccessScope.WRITE),
    }

    @extend_schema(
        operation_id="list_activation",
        summary="The caches of a cube's prefix, and what they were worth",
        parameters=[ActivationListingSerializer],
        responses={200: ActivationListSerializer},
    )
    def list(self, request: Request, cube_id: uuid.UUID) -> Response:
        values, scope = self.valid(ActivationListingSerializer, request.query_params), self._scope(cube_id)
        wanted = ListFilter(scope.namespace, None, values["limit"])
        rows, cursor = caches.list_caches(self.access, wanted=wanted, cursor=values["cursor"])
        return Response(
            {
                "caches": [caches.to_dict(row) for row in rows],
                "figures": figures.read_figures(scope, now=timezone.now()),
                "next_cursor": write_cursor("caches", cursor),
            }
        )

    @extend_schema(
        operation_id="build_activation",
        summary="Have a cube's prefix computed, in the background, and again whenever it changes",
        request=ActivationBuildSerializer,
        responses={202: ActivationBuildAnswerSerializer},
    )
    def create(self, request: Request, cube_id: uuid.UUID) -> Response:
        values = self.valid(ActivationBuildSerializer, request.data)
        cube = find.find_cube(self.access, cube_id)
        find.require_kind(cube, CubeKind.ACTIVATION)
        asked = build.request_build(
            self._scope(cube_id),
            engine=ActivationEngine(values["engine"]),
            form=PromptForm(values["form"]),
            model=values["model"],
            now=timezone.now(),
        )
        return Response(asked, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="get_activation",
        summary="One cache",
        responses={200: ActivationCacheSerializer},
    )
    def retrieve(self, request: Request, cube_id: uuid.UUID, cache_id: uuid.UUID) -> Response:
        return Response(caches.to_dict(caches.find_cache(self._scope(cube_id), cache_id=cache_id)))

    @extend_schema(
        operation_id="use_activation",
        summary="Load a cache into a slot of its server now; answers do that by themselves",
        request=None,
        responses={200: ActivationLoadSerializer},
    )
    def load(self, request: Request, cube_id: uuid.UUID, cache_id: uuid.UUID) -> Response:
        return Response(export.load_now(self._scope(cube_id), cache_id=cache_id))

    @extend_schema(
        operation_id="download_activation",
        summary="A cache's file; it holds what its memories say, as tokens",
        responses={
            (200, "application/octet-stream"): OpenApiResponse(
                OpenApiTypes.BINARY, "Safetensors of the engine `transformers`, or a file of llama.cpp's server."
            )
        },
    )
    def download(self, request: Request, cube_id: uuid.UUID, cache_id: uuid.UUID) -> StreamingHttpResponse:
        scope, slot = self._scope(cube_id), Slot(self.access.actor)
        try:
            row, pieces = export.open_file(scope, cache_id=cache_id, now=timezone.now())
            stream = EventStream(pieces, slot)
            # The file is opened before the answer begins, so it is sent to its end even if it is deleted meanwhile.
            stream.advance(pieces)
        except BaseException:
            slot.give_back()
            raise
        give_connection_back()
        headers = {
            "Content-Disposition": f'attachment; filename="{row.file}"',
            "Content-Length": str(row.bytes),
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
        return StreamingHttpResponse(stream, content_type="application/octet-stream", headers=headers)

    @extend_schema(
        operation_id="drop_activation",
        summary="Take a cache away, with its file; it is not built again",
        responses={200: ActivationCacheSerializer},
    )
    def destroy(self, request: Request, cube_id: uuid.UUID, cache_id: uuid.UUID) -> Response:
        return Response(caches.drop_cache(self._scope(cube_id), cache_id=cache_id, now=timezone.now()))

    def _scope(self, cube_id: uuid.UUID) -> Scope:
        """Return the scope of the cube. Raises NotFound."""
        cube = find.find_cube(self.access, cube_id)
        return self._note_namespace(find.scope_of(self.access, cube, request_id=self.request_id))
