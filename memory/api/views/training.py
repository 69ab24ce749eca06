from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.event_stream import EventStream, Slot, give_connection_back
from memory.api.serializers.errors import ErrorSerializer
from memory.api.serializers.training import (
    TrainingDatasetListSerializer,
    TrainingDatasetSerializer,
    TrainingExportSerializer,
    TrainingListingSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.training import datasets
from memory.types import ListFilter

_FILE = OpenApiParameter(
    "file", str, OpenApiParameter.PATH, enum=[*datasets.FILES, datasets.MANIFEST], description="Of the data set"
)


class TrainingExportViewSet(MemosViewSet):
    """Data sets for training models, made from a namespace's memories if its policy consents."""

    required_scope = AccessScope.ADMIN

    @extend_schema(
        operation_id="start_training_export",
        summary="Make, in the background, a data set to train a model on",
        request=TrainingExportSerializer,
        responses={200: TrainingDatasetSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(TrainingExportSerializer, request.data)
        scope = self.scope(values["namespace"], create=False)
        row = datasets.start_export(scope, TrainingExportSerializer.to_options(values), now=timezone.now())
        return Response(datasets.describe_datasets([row])[0])

    @extend_schema(
        operation_id="list_training_exports",
        summary="Training data sets, the newest first",
        parameters=[TrainingListingSerializer],
        responses={200: TrainingDatasetListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(TrainingListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        rows, cursor = datasets.list_datasets(self.access, wanted=wanted, cursor=values["cursor"])
        return Response({"exports": rows, "next_cursor": write_cursor("exports", cursor)})

    @extend_schema(
        operation_id="get_training_export",
        summary="How far a training data set is, and what it holds",
        responses={200: TrainingDatasetSerializer},
    )
    def retrieve(self, request: Request, dataset_id: uuid.UUID) -> Response:
        row = datasets.find_dataset(self.access, dataset_id=dataset_id)
        return Response(datasets.describe_datasets([row])[0])

    @extend_schema(
        operation_id="delete_training_export",
        summary="Delete the files of a training data set, or end one that is not made yet",
        responses={200: TrainingDatasetSerializer},
    )
    def destroy(self, request: Request, dataset_id: uuid.UUID) -> Response:
        row = datasets.drop_dataset(self.access, dataset_id=dataset_id, now=timezone.now())
        return Response(datasets.describe_datasets([row])[0])

    @extend_schema(
        operation_id="read_training_file",
        summary="A file of a training data set, in TRL's formats, or its manifest",
        parameters=[_FILE],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.STR, "A line of JSON each."),
            (200, "application/json"): OpenApiTypes.OBJECT,
            409: OpenApiResponse(ErrorSerializer, "It is not made yet, was dropped, or a memory of it has changed."),
        },
    )
    def read_file(self, request: Request, dataset_id: uuid.UUID, file: str) -> StreamingHttpResponse:
        slot = Slot(self.access.actor)
        try:
            size, pieces = datasets.read_file(self.access, dataset_id=dataset_id, name=file, now=timezone.now())
            stream = EventStream(_hold_no_connection(pieces), slot)
        except BaseException:
            slot.give_back()
            raise
        kind = "application/json" if file == datasets.MANIFEST else "application/x-ndjson"
        headers = {
            "Content-Disposition": f'attachment; filename="{file}"',
            # A client sees from the length that a file was cut off because it was deleted meanwhile.
            "Content-Length": str(size),
            "Cache-Control": "no-store",
        }
        return StreamingHttpResponse(stream, content_type=kind, headers=headers)


def _hold_no_connection(pieces: Iterator[bytes]) -> Generator[bytes]:
    """Yield the pieces, without holding a database connection while the client reads one."""
    for piece in pieces:
        give_connection_back()
        yield piece
