from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes, throttle_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.authentication import KeyAuthentication
from memory.api.permissions import MetricsReader
from memory.api.serializers.ops import HealthSerializer, ReadySerializer
from memory.metrics import exposition
from memory.services.monitoring import health as service


@extend_schema(operation_id="health", summary="Whether the web process answers", responses=HealthSerializer)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
@throttle_classes([])
def health(request: Request) -> Response:
    return Response({"status": "ok"})


@extend_schema(operation_id="health_live", summary="The same, by the name probes use", responses=HealthSerializer)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
@throttle_classes([])
def live(request: Request) -> Response:
    return Response({"status": "ok"})


@extend_schema(
    operation_id="health_ready",
    summary="Whether requests can be served: 503 when they cannot",
    responses={200: ReadySerializer, 503: ReadySerializer},
)
@api_view(["GET"])
@authentication_classes([])
@permission_classes([AllowAny])
@throttle_classes([])
def ready(request: Request) -> Response:
    report = service.report()
    body = {"status": report.status, "checks": report.checks}
    return Response(body, status=503 if report.status == "unavailable" else 200)


@extend_schema(exclude=True)
@api_view(["GET"])
@authentication_classes([KeyAuthentication])
@permission_classes([MetricsReader])
@throttle_classes([])
def metrics(request: Request) -> HttpResponse:
    return HttpResponse(exposition(service.gauges()), content_type="text/plain; version=0.0.4; charset=utf-8")
