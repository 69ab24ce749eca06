from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.webhooks import (
    DeliveryListingSerializer,
    DeliveryListSerializer,
    DeliverySerializer,
    NewWebhookSerializer,
    ReplayedSerializer,
    RotationSerializer,
    WebhookChangeSerializer,
    WebhookCreateSerializer,
    WebhookListingSerializer,
    WebhookListSerializer,
    WebhookSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, DeliveryState
from memory.services.webhooks import endpoints, log


class WebhookViewSet(MemosViewSet):
    """Addresses to which the events of a namespace are sent, and the log of deliveries."""

    required_scope = AccessScope.ADMIN

    @extend_schema(
        operation_id="list_webhooks",
        summary="Webhooks, newest first",
        parameters=[WebhookListingSerializer],
        responses={200: WebhookListSerializer},
    )
    def recent(self, request: Request) -> Response:
        values = self.valid(WebhookListingSerializer, request.query_params)
        rows, cursor = endpoints.list_webhooks(
            self.access, namespace=values["namespace"] or None, cursor=values["cursor"], limit=values["limit"]
        )
        now = timezone.now()
        return Response(
            {
                "webhooks": [endpoints.to_dict(row, now=now) for row in rows],
                "next_cursor": write_cursor("webhooks", cursor),
            }
        )

    @extend_schema(
        operation_id="create_webhook",
        summary="Have an address told of what happens from now on",
        request=WebhookCreateSerializer,
        responses={201: NewWebhookSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(WebhookCreateSerializer, request.data)
        scope, now = self.scope(values["namespace"], create=False), timezone.now()
        row, secret = endpoints.create_webhook(
            self.access,
            scope,
            url=values["url"],
            types=values["types"],
            description=values["description"],
            includes_text=values["include_text"],
            now=now,
        )
        body = {**endpoints.to_dict(row, now=now), "secret": secret}
        return Response(body, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="show_webhook", summary="One webhook", responses={200: WebhookSerializer})
    def retrieve(self, request: Request, webhook_id: uuid.UUID) -> Response:
        row = endpoints.find_webhook(self.access, webhook_id=webhook_id)
        return Response(endpoints.to_dict(row, now=timezone.now()))

    @extend_schema(
        operation_id="change_webhook",
        summary="Change a webhook, or enable it again",
        request=WebhookChangeSerializer,
        responses={200: WebhookSerializer},
    )
    def partial_update(self, request: Request, webhook_id: uuid.UUID) -> Response:
        values = self.valid(WebhookChangeSerializer, request.data)
        if "include_text" in values:
            values["includes_text"] = values.pop("include_text")
        now = timezone.now()
        row = endpoints.change_webhook(
            self.access, webhook_id=webhook_id, wanted=values, now=now, request_id=self.request_id
        )
        return Response(endpoints.to_dict(row, now=now))

    @extend_schema(operation_id="delete_webhook", summary="Delete a webhook and its log", responses={204: None})
    def destroy(self, request: Request, webhook_id: uuid.UUID) -> Response:
        endpoints.delete_webhook(self.access, webhook_id=webhook_id, now=timezone.now(), request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="rotate_webhook_secret",
        summary="A new secret; the former one signs as well for a while",
        request=RotationSerializer,
        responses={200: NewWebhookSerializer},
    )
    def rotate(self, request: Request, webhook_id: uuid.UUID) -> Response:
        hours, now = self.valid(RotationSerializer, request.data)["keep_hours"], timezone.now()
        row, secret = endpoints.rotate_secret(
            self.access, webhook_id=webhook_id, keep_hours=hours, now=now, request_id=self.request_id
        )
        return Response({**endpoints.to_dict(row, now=now), "secret": secret})

    @extend_schema(
        operation_id="test_webhook",
        summary="Send a test event; the log of deliveries shows what came of it",
        request=None,
        responses={202: DeliverySerializer},
    )
    def test(self, request: Request, webhook_id: uuid.UUID) -> Response:
        row = log.send_test(self.access, webhook_id=webhook_id, now=timezone.now())
        return Response(log.to_dict(row), status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="list_deliveries",
        summary="What a webhook was told, newest first",
        parameters=[DeliveryListingSerializer],
        responses={200: DeliveryListSerializer},
    )
    def deliveries(self, request: Request, webhook_id: uuid.UUID) -> Response:
        values = self.valid(DeliveryListingSerializer, request.query_params)
        webhook = endpoints.find_webhook(self.access, webhook_id=webhook_id)
        state = DeliveryState(values["state"]) if values["state"] else None
        rows, cursor = log.list_deliveries(webhook, state=state, cursor=values["cursor"], limit=values["limit"])
        return Response(
            {"deliveries": [log.to_dict(row) for row in rows], "next_cursor": write_cursor("deliveries", cursor)}
        )

    @extend_schema(
        operation_id="replay_delivery",
        summary="Send one delivery again, under the same id",
        request=None,
        responses={202: DeliverySerializer},
    )
    def replay(self, request: Request, webhook_id: uuid.UUID, delivery_id: uuid.UUID) -> Response:
        row = log.replay_delivery(self.access, webhook_id=webhook_id, delivery_id=delivery_id, now=timezone.now())
        return Response(log.to_dict(row), status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        operation_id="replay_failed_deliveries",
        summary="Send all deliveries again that failed for good",
        request=None,
        responses={202: ReplayedSerializer},
    )
    def replay_failed(self, request: Request, webhook_id: uuid.UUID) -> Response:
        count = log.replay_failed(self.access, webhook_id=webhook_id, now=timezone.now())
        return Response({"replayed": count}, status=status.HTTP_202_ACCEPTED)
