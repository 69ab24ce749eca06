from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.training import (
    AdapterListingSerializer,
    AdapterListSerializer,
    AdapterRetireSerializer,
    AdapterSerializer,
    AdapterTrainingSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.training import adapters, serving
from memory.types import ListFilter


class AdapterViewSet(MemosViewSet):
    """LoRA adapters trained on memories: training, listing, activating and retiring them."""

    required_scope = {
        "create": AccessScope.ADMIN,
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "activate": AccessScope.ADMIN,
        "retire": AccessScope.ADMIN,
    }

    @extend_schema(
        operation_id="train_adapter",
        summary="Train, in the background, an adapter on a data set; it may be activated when it passes its evaluation",
        request=AdapterTrainingSerializer,
        responses={200: AdapterSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(AdapterTrainingSerializer, request.data)
        row = adapters.start_training(
            self.scope(values["namespace"], create=False),
            name=values["name"],
            dataset_id=values["dataset_id"],
            options=AdapterTrainingSerializer.to_options(values),
            now=timezone.now(),
        )
        return Response(adapters.describe_adapters([row])[0])

    @extend_schema(
        operation_id="list_adapters",
        summary="Adapters, the newest first",
        parameters=[AdapterListingSerializer],
        responses={200: AdapterListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(AdapterListingSerializer, request.query_params)
        wanted = ListFilter(values["namespace"] or None, None, values["limit"])
        rows, cursor = adapters.list_adapters(self.access, wanted=wanted, cursor=values["cursor"])
        return Response({"adapters": rows, "next_cursor": write_cursor("adapters", cursor)})

    @extend_schema(
        operation_id="get_adapter",
        summary="How an adapter stands, and what it was measured by",
        responses={200: AdapterSerializer},
    )
    def retrieve(self, request: Request, adapter_id: uuid.UUID) -> Response:
        row = adapters.find_adapter(self.access, adapter_id=adapter_id)
        return Response(adapters.describe_adapters([row])[0])

    @extend_schema(
        operation_id="activate_adapter",
        summary="Put an adapter to use: checked, and loaded into the servers of the settings",
        request=None,
        responses={200: AdapterSerializer},
    )
    def activate(self, request: Request, adapter_id: uuid.UUID) -> Response:
        row = serving.activate(self.access, adapter_id=adapter_id, now=timezone.now())
        return Response(adapters.describe_adapters([row])[0])

    @extend_schema(
        operation_id="retire_adapter",
        summary="Take an adapter out of use, and unload it",
        request=AdapterRetireSerializer,
        responses={200: AdapterSerializer},
    )
    def retire(self, request: Request, adapter_id: uuid.UUID) -> Response:
        values = self.valid(AdapterRetireSerializer, request.data)
        row = serving.retire(
            self.access, adapter_id=adapter_id, delete_files=values["delete_files"], now=timezone.now()
        )
        return Response(adapters.describe_adapters([row])[0])
