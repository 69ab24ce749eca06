from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.event_stream import Slot, give_connection_back
from memory.api.openai_errors import openai_exception_handler
from memory.api.relayed_stream import respond
from memory.api.route_tags import OPENAI
from memory.api.serializers.completions import (
    NAMESPACE,
    SESSION,
    ChatCompletionSerializer,
    ModelListSerializer,
    ModelSerializer,
)
from memory.api.serializers.errors import OpenAIErrorSerializer
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.errors import Forbidden
from memory.services.gateway.completions import ChatCompletion, complete, context_of, stream
from memory.services.gateway.models import choose_model, list_models
from memory.services.gateway.turns import ChatTurn, recall
from memory.services.tenancy.namespaces import only_namespace
from memory.types import session_of_day

MAX_NAME = 128
NAMESPACE_HEADER, SESSION_HEADER = "X-MemOS-Namespace", "X-MemOS-Session"
CONTEXT_HEADER = "X-MemOS-Context"
_HEADERS = [
    OpenApiParameter(
        NAMESPACE_HEADER,
        {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        OpenApiParameter.HEADER,
        description=f"Whose memory it is; without it `metadata.{NAMESPACE}`, then the key's only namespace",
    ),
    OpenApiParameter(
        SESSION_HEADER,
        {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        OpenApiParameter.HEADER,
        description=f"The conversation; without it `metadata.{SESSION}`, then that of the `user`, then that of the day",
    ),
]


class OpenAIViewSet(MemosViewSet):
    """Answers as OpenAI's API does, errors too."""

    error_serializer = OpenAIErrorSerializer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return openai_exception_handler


@extend_schema(tags=[OPENAI.name])
class ChatCompletionViewSet(OpenAIViewSet):
    """Chat completions of OpenAI's API, with a memory."""

    required_scope = AccessScope.WRITE

    @extend_schema(
        operation_id="chat_completions",
        summary="A chat completion as OpenAI's API has it, with what is remembered, and remembered itself",
        request=ChatCompletionSerializer,
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/event-stream"): OpenApiTypes.STR,
            502: OpenApiResponse(OpenAIErrorSerializer, "The provider refuses the server's key, or failed itself."),
            "4XX": OpenApiResponse(OpenAIErrorSerializer, "What the provider refused, as it said it."),
            "5XX": OpenApiResponse(OpenAIErrorSerializer, "The provider failed."),
        },
        parameters=_HEADERS,
    )
    def create(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        asked = self._read_completion(request)
        context = {CONTEXT_HEADER: _header(asked)}
        if asked.body.get("stream"):
            return respond(request._request, self.access.actor, lambda: stream(asked), headers=context)
        with Slot(self.access.actor):
            give_connection_back()
            content, content_type = complete(asked)
        return HttpResponse(content, content_type=content_type, headers=context)

    def _read_completion(self, request: Request) -> ChatCompletion:
        values = self.valid(ChatCompletionSerializer, request.data)
        if not self.access.may(AccessScope.READ):
            raise Forbidden("To recall and remember, the key needs the scope 'read' too.")
        place = _place(request, values)
        namespace = place.namespace or only_namespace(self.access) or _missing_namespace()
        there = self.scope_if_there(namespace)
        # Before a namespace is made: a request that is refused makes none.
        model = choose_model(values["model"], there.namespace_id if there else None)
        scope = there or self.scope(namespace)
        turn = ChatTurn(scope, place.session, values["messages"], timezone.now)
        given = recall(turn)
        request._request.empty_recall = given is not None and not given.numbers  # type: ignore[attr-defined]
        return ChatCompletion(turn, _strip_own_metadata(request.data), model, given)


@extend_schema(tags=[OPENAI.name])
class ModelViewSet(OpenAIViewSet):
    """The chat models that `/v1/chat/completions` takes."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="list_models", summary="The chat models that are configured", responses={200: ModelListSerializer}
    )
    def show_all(self, request: Request) -> Response:
        return Response({"object": "list", "data": [_model(name) for name in list_models()]})

    @extend_schema(operation_id="retrieve_model", summary="One chat model", responses={200: ModelSerializer})
    def retrieve(self, request: Request, model: str) -> Response:
        return Response(_model(choose_model(model).label))


@dataclass(frozen=True, slots=True)
class _Addressed:
    """Where the request says that it belongs; `namespace` is None where it does not."""

    namespace: str | None
    session: str


def _place(request: Request, values: Mapping[str, Any]) -> _Addressed:
    metadata = values["metadata"] or {}
    session = _read_name(request, SESSION_HEADER, metadata, SESSION) or _session_of(values["user"])
    return _Addressed(_read_name(request, NAMESPACE_HEADER, metadata, NAMESPACE), session)


def _read_name(request: Request, header: str, metadata: Mapping[str, Any], field: str) -> str | None:
    place, name = (header, request.headers[header]) if header in request.headers else (
        f"metadata.{field}", metadata.get(field)
    )  # fmt: skip
    if name is None:
        return None
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or "\0" in name:
        raise ValidationError({place: f"must be a text of 1 to {MAX_NAME} characters."})
    return name


def _session_of(user: str | None) -> str:
    """The session of a user, the same every day; without one, that of the day."""
    if not user:
        return session_of_day(timezone.now())
    name = f"user:{user}"
    return name if len(name) <= MAX_NAME else f"user:{hashlib.sha256(user.encode()).hexdigest()}"


def _missing_namespace() -> str:
    raise ValidationError(
        {NAMESPACE_HEADER: f"is missing, as is `metadata.{NAMESPACE}`, and the key reaches more than one namespace."}
    )


def _strip_own_metadata(data: Any) -> dict[str, Any]:
    """The request without what is meant for MemOS alone."""
    metadata = data.get("metadata")
    if not isinstance(metadata, Mapping) or not {NAMESPACE, SESSION} & set(metadata):
        return dict(data)
    rest = {name: value for name, value in metadata.items() if name not in (NAMESPACE, SESSION)}
    others = {name: value for name, value in data.items() if name != "metadata"}
    return {**others, "metadata": rest} if rest else others


def _header(asked: ChatCompletion) -> str:
    """As JSON in ASCII, as a header wants it."""
    return json.dumps(context_of(asked), separators=(",", ":"))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": name.partition("/")[0]}
