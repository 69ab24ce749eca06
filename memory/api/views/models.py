"""Lists the chat models as OpenAI's API does, or as Anthropic's does for requests with `anthropic-version`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.anthropic.authentication import AnthropicKeyAuthentication
from memory.api.anthropic.errors import anthropic_exception_handler
from memory.api.anthropic.serializers import (
    AnthropicErrorSerializer,
    AnthropicModelListSerializer,
    AnthropicModelSerializer,
    ModelPageSerializer,
)
from memory.api.authentication import KeyAuthentication
from memory.api.route_tags import OPENAI
from memory.api.serializers.completions import ModelListSerializer, ModelSerializer
from memory.api.views.completions import OpenAIViewSet
from memory.enums import AccessScope
from memory.services.gateway.models import choose_model, list_models

VERSION_HEADER = "Anthropic-Version"
# Anthropic's clients read this date as unknown.
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"
_VERSION = OpenApiParameter(
    VERSION_HEADER, str, OpenApiParameter.HEADER, description="Sent: the answer has the form of Anthropic's API"
)


@extend_schema(tags=[OPENAI.name])
class ModelViewSet(OpenAIViewSet):
    """The chat models that `/v1/chat/completions`, `/v1/responses` and `/v1/messages` accept."""

    authentication_classes = (AnthropicKeyAuthentication, KeyAuthentication)
    required_scope = AccessScope.READ
    error_serializer = AnthropicErrorSerializer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        """Return the handler of the API whose client sent the request."""
        return anthropic_exception_handler if _is_of_anthropic(self.request) else super().get_exception_handler()

    @extend_schema(
        operation_id="list_models",
        summary="The chat models that are configured",
        parameters=[_VERSION, ModelPageSerializer],
        responses={
            200: PolymorphicProxySerializer(
                "ChatModelList", [ModelListSerializer, AnthropicModelListSerializer], resource_type_field_name=None
            )
        },
    )
    def show_all(self, request: Request) -> Response:
        names = list_models()
        if _is_of_anthropic(request):
            return Response(_list_page(names, self.valid(ModelPageSerializer, request.query_params)))
        return Response({"object": "list", "data": [_model(name) for name in names]})

    @extend_schema(
        operation_id="retrieve_model",
        summary="One chat model",
        parameters=[_VERSION],
        responses={
            200: PolymorphicProxySerializer(
                "ChatModel", [ModelSerializer, AnthropicModelSerializer], resource_type_field_name=None
            )
        },
    )
    def retrieve(self, request: Request, model: str) -> Response:
        chosen = choose_model(model)
        name = model if model in list_models() else chosen.label
        return Response(_anthropic_model(name) if _is_of_anthropic(request) else _model(name))


def _is_of_anthropic(request: Request) -> bool:
    return VERSION_HEADER in request.headers


def _list_page(names: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page after `after_id`, or the one before `before_id`. Raises ValidationError."""
    for field in ("after_id", "before_id"):
        if values[field] and values[field] not in names:
            raise ValidationError({field: "is no model that is listed here."})
    after, before, limit = values["after_id"], values["before_id"], values["limit"]
    rest = names[names.index(after) + 1 :] if after else names
    rest = rest[: rest.index(before)] if before and before in rest else rest
    page = rest[-limit:] if before and not after else rest[:limit]
    return {
        "data": [_anthropic_model(name) for name in page],
        "has_more": len(page) < len(rest),
        "first_id": page[0] if page else None,
        "last_id": page[-1] if page else None,
    }


def _model(name: str) -> dict[str, Any]:
    provider, _, own = name.partition("/")
    return {"id": name, "object": "model", "created": 0, "owned_by": provider if own else "memos"}


def _anthropic_model(name: str) -> dict[str, Any]:
    said = {"type": "model", "id": name, "display_name": name}
    return {**said, "created_at": _UNKNOWN_DATE, "lifecycle": "active"}
