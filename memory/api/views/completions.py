from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from memory.api.event_stream import Slot, give_connection_back
from memory.api.openai_errors import openai_exception_handler
from memory.api.relayed_stream import respond
from memory.api.route_tags import OPENAI
from memory.api.serializers.completions import (
    CUBES,
    NAMESPACE,
    SESSION,
    ChatCompletionSerializer,
)
from memory.api.serializers.errors import OpenAIErrorSerializer
from memory.api.serializers.query import MAX_CUBES, CubesField
from memory.api.views.cubes_beside import CubesBeside
from memory.enums import AccessScope
from memory.errors import Forbidden
from memory.services.gateway.completions import ChatCompletion, complete, context_of, stream
from memory.services.gateway.models import choose_model
from memory.services.gateway.turns import ChatTurn, recall
from memory.services.tenancy.namespaces import default_namespace
from memory.text.completion_messages import Message, hash_beginning
from memory.types import compose_name

MAX_NAME = 128
NAMESPACE_HEADER, SESSION_HEADER, CUBES_HEADER = "X-MemOS-Namespace", "X-MemOS-Session", "X-MemOS-Cubes"
CONTEXT_HEADER, GATE_HEADER = "X-MemOS-Context", "X-MemOS-Gate"
HEADERS = [
    OpenApiParameter(
        NAMESPACE_HEADER,
        {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        OpenApiParameter.HEADER,
        description=f"Whose memory it is; without it `metadata.{NAMESPACE}`, then the key's default",
    ),
    OpenApiParameter(
        SESSION_HEADER,
        {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        OpenApiParameter.HEADER,
        description=f"The conversation; without it `metadata.{SESSION}`, then that of the `user`, then that of its "
        "first messages",
    ),
    OpenApiParameter(
        CUBES_HEADER,
        {"type": "string"},
        OpenApiParameter.HEADER,
        description="Ids of cubes that are searched as well, with commas between them, 20 at most; without it "
        f"`metadata.{CUBES}`, as a text or a list. What is said is remembered in the namespace alone",
    ),
]


def answers_of_models(error: type[Serializer]) -> dict[Any, Any]:
    """Return the OpenAPI responses of a route that passes on a model's answer."""
    return {
        (200, "application/json"): OpenApiTypes.OBJECT,
        (200, "text/event-stream"): OpenApiTypes.STR,
        502: OpenApiResponse(error, "The provider refuses the server's key, or failed itself."),
        "4XX": OpenApiResponse(error, "What the provider refused, as it said it."),
        "5XX": OpenApiResponse(error, "The provider failed."),
    }


class OpenAIViewSet(CubesBeside):
    """The base of views that answer and report errors as OpenAI's API does."""

    error_serializer: type[Serializer] = OpenAIErrorSerializer
    takes_unknown_fields = True

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return openai_exception_handler


@extend_schema(tags=[OPENAI.name])
class ChatCompletionViewSet(OpenAIViewSet):
    """OpenAI's chat completions, with a memory."""

    required_scope = AccessScope.WRITE

    @staticmethod
    def count_requests(request: Request) -> int:
        """Count each cube as a request in rate limits."""
        metadata = request.data.get("metadata") if isinstance(request.data, Mapping) else None
        listed = _list_cubes(request, metadata if isinstance(metadata, Mapping) else {})
        return min(MAX_CUBES, max(1, len(listed))) if isinstance(listed, list) else 1

    @extend_schema(
        operation_id="chat_completions",
        summary="A chat completion as OpenAI's API has it, with what is remembered, and remembered itself",
        request=ChatCompletionSerializer,
        responses=answers_of_models(OpenAIErrorSerializer),
        parameters=HEADERS,
    )
    def create(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        asked = self.read_completion(request, request.data)
        context = context_header(asked)
        if asked.body.get("stream"):
            return respond(request._request, self.access.actor, lambda: stream(asked), headers=context)
        with Slot(self.access.actor):
            give_connection_back()
            answer = complete(asked)
        if answer.memos["gate"]:
            context[GATE_HEADER] = _to_header(answer.memos["gate"])
        return HttpResponse(answer.content, content_type=answer.content_type, headers=context)

    def read_completion(self, request: Request, data: Any, *, is_aside: bool = False) -> ChatCompletion:
        """Read the completion that `data` asks for, and recall memories in the request's namespace and session.

        `is_aside` has the meaning that it has in `ChatTurn`.
        """
        values = self.valid(ChatCompletionSerializer, data)
        if not self.access.may(AccessScope.READ):
            raise Forbidden("To recall and remember, the key needs the scope 'read' too.")
        namespace = self.name_namespace(request, values)
        now = self.now_in(namespace)
        session = _name_session(request, values, self.access.actor)
        beside = self.find_beside(_read_cubes(request, values["metadata"] or {}), home=namespace)
        there = self.scope_if_there(namespace)
        # Checked before a namespace is made, so that a refused request makes none.
        model = choose_model(values["model"], there.namespace_id if there else None)
        scope = there or self.scope(namespace)
        clock = partial(timezone.localtime, timezone=now.tzinfo)
        turn = ChatTurn(scope, session, values["messages"], clock, beside, is_aside)
        given = recall(turn)
        request._request.empty_recall = given is not None and not given.numbers  # type: ignore[attr-defined]
        return ChatCompletion(turn, _strip_own_metadata(data), model, given)

    def name_namespace(self, request: Request, values: Mapping[str, Any]) -> str:
        """Return the namespace that the request names, else the key's default. Raises ValidationError."""
        named = read_name(request, NAMESPACE_HEADER, values["metadata"] or {}, NAMESPACE)
        return named or default_namespace(self.access) or _missing_namespace()


def _name_session(request: Request, values: Mapping[str, Any], actor: str) -> str:
    named = read_name(request, SESSION_HEADER, values["metadata"] or {}, SESSION)
    return named or _session_of(values["user"], values["messages"], actor)


def read_name(request: Request, header: str, metadata: Mapping[str, Any], field: str) -> str | None:
    """Read a name from the header, else from the metadata. Returns None if neither has it. Raises ValidationError."""
    place, name = (header, _decode(request.headers[header])) if header in request.headers else (
        f"metadata.{field}", metadata.get(field)
    )  # fmt: skip
    if name is None:
        return None
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or "\0" in name:
        raise ValidationError({place: f"must be a text of 1 to {MAX_NAME} characters."})
    return compose_name(name)


def _decode(header: str) -> str:
    """Decode a header in UTF-8, which Django reads as Latin-1. Other headers are returned unchanged."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _list_cubes(request: Request, metadata: Mapping[str, Any]) -> Any:
    """Return the cubes as the request names them. The value is not validated and may be no list."""
    named = request.headers.get(CUBES_HEADER, metadata.get(CUBES))
    return [part.strip() for part in named.split(",") if part.strip()] if isinstance(named, str) else named


def _read_cubes(request: Request, metadata: Mapping[str, Any]) -> list[uuid.UUID]:
    listed = _list_cubes(request, metadata)
    if listed is None:
        return []
    try:
        return list(CubesField().run_validation(listed))
    except ValidationError as error:
        place = CUBES_HEADER if CUBES_HEADER in request.headers else f"metadata.{CUBES}"
        raise ValidationError({place: error.detail}) from error


def _session_of(user: str | None, messages: Sequence[Message], actor: str) -> str:
    """Return the session of the user, else one made from a hash of the actor and the conversation's first messages."""
    if not user:
        return f"chat:{hash_beginning(messages, actor)}"
    name = compose_name(f"user:{user}")
    return name if len(name) <= MAX_NAME else f"user:{hashlib.sha256(user.encode()).hexdigest()}"


def _missing_namespace() -> str:
    problem = f"is missing, as is `metadata.{NAMESPACE}`, and the key reaches several namespaces without a default."
    raise ValidationError({NAMESPACE_HEADER: problem})


def _strip_own_metadata(data: Any) -> dict[str, Any]:
    """Return the request without the metadata that is meant for MemOS only."""
    metadata = data.get("metadata")
    own = (NAMESPACE, SESSION, CUBES)
    if not isinstance(metadata, Mapping) or not set(own) & set(metadata):
        return dict(data)
    rest = {name: value for name, value in metadata.items() if name not in own}
    others = {name: value for name, value in data.items() if name != "metadata"}
    return {**others, "metadata": rest} if rest else others


def context_header(asked: ChatCompletion) -> dict[str, str]:
    """Return the header that says which context the model was given."""
    return {CONTEXT_HEADER: _to_header(context_of(asked))}


def _to_header(value: Any) -> str:
    """Encode a value as JSON in ASCII for use in a header."""
    return json.dumps(value, separators=(",", ":"))
