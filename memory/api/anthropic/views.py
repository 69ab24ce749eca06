from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.anthropic.authentication import AnthropicKeyAuthentication
from memory.api.anthropic.errors import anthropic_exception_handler
from memory.api.anthropic.request import list_counted, thinks, to_completion
from memory.api.anthropic.serializers import (
    AnthropicErrorSerializer,
    AnthropicMessageSerializer,
    CountedMessagesSerializer,
    TokenCountSerializer,
)
from memory.api.anthropic.writer import MessageWriter
from memory.api.event_stream import Slot, give_connection_back
from memory.api.relayed_stream import respond
from memory.api.route_tags import ANTHROPIC
from memory.api.serializers.completions import CUBES, NAMESPACE, SESSION
from memory.api.translated_answer import write_events, write_whole
from memory.api.views.completions import HEADERS, ChatCompletionViewSet, answers_of_models, context_header
from memory.enums import AccessScope
from memory.services.gateway.completions import ChatCompletion
from memory.text.tokens import count_tokens

# Claude Code sends the id of its conversation in this header, and identifies itself at the start of `User-Agent`.
CLAUDE_CODE_SESSION_HEADER = "X-Claude-Code-Session-Id"
CLAUDE_CODE_AGENT = "claude-cli/"


@extend_schema(tags=[ANTHROPIC.name])
class MessageViewSet(ChatCompletionViewSet):
    """Anthropic's Messages API, with a memory. The model is called through chat completions."""

    authentication_classes = (AnthropicKeyAuthentication,)
    required_scope = {"create": AccessScope.WRITE, "count": AccessScope.READ}  # type: ignore[assignment]
    error_serializer = AnthropicErrorSerializer

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return anthropic_exception_handler

    @extend_schema(
        operation_id="create_message",
        summary="A message as Anthropic's API has it, with what is remembered, and remembered itself",
        request=AnthropicMessageSerializer,
        responses=answers_of_models(AnthropicErrorSerializer),
        parameters=HEADERS,
    )
    def create(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        data: Any = request.data
        values = self.valid(AnthropicMessageSerializer, data)
        asked = self._read_message(request, values)
        writer = MessageWriter(f"msg_{uuid.uuid4().hex}", asked.model.label, wants_thinking=thinks(data))
        if values["stream"]:
            return respond(
                request._request,
                self.access.actor,
                lambda: write_events(request._request, asked, writer),
                headers=context_header(asked),
            )
        with Slot(self.access.actor):
            give_connection_back()
            write_whole(asked, writer)
        return Response(writer.message, headers=context_header(asked))

    @extend_schema(
        operation_id="count_message_tokens",
        summary="How many tokens a message would send",
        request=CountedMessagesSerializer,
        responses={200: TokenCountSerializer},
    )
    def count(self, request: Request) -> Response:
        data: Any = request.data
        self.valid(CountedMessagesSerializer, data)
        tokens = sum(count_tokens(text, settings.MEMOS_TOKENIZER) for text in list_counted(data))
        return Response({"input_tokens": tokens})

    def _read_message(self, request: Request, values: Mapping[str, Any]) -> ChatCompletion:
        given = values["metadata"] or {}
        metadata = {name: value for name, value in given.items() if name in (NAMESPACE, SESSION, CUBES)}
        if CLAUDE_CODE_SESSION_HEADER in request.headers:
            metadata.setdefault(SESSION, request.headers[CLAUDE_CODE_SESSION_HEADER])
        named = {"model": values["model"], "metadata": metadata, "user": given.get("user_id")}
        data: Any = request.data
        body = to_completion(data) | {name: value for name, value in named.items() if value}
        asked = self.read_completion(request, body, is_aside=_is_aside(request, values))
        # Anthropic allows longer user ids than providers of chat completions accept in `user`.
        return replace(asked, body={name: value for name, value in asked.body.items() if name != "user"})


def _is_aside(request: Request, values: Mapping[str, Any]) -> bool:
    """Return whether Claude Code asks on its own behalf, as for a conversation's title or to test the model."""
    if not request.headers.get("User-Agent", "").startswith(CLAUDE_CODE_AGENT) or values["tools"]:
        return False
    return values["max_tokens"] == 1 or bool((values["output_config"] or {}).get("format"))
