from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.event_stream import Slot, give_connection_back
from memory.api.openai_responses.request import list_items, to_completion
from memory.api.openai_responses.serializers import DeletedResponseSerializer, ResponseSerializer
from memory.api.openai_responses.talk import Talk, go_on, go_on_in, name_in, refers, resolve
from memory.api.openai_responses.tools import Tools, read_tools
from memory.api.openai_responses.writer import ResponseWriter
from memory.api.relayed_stream import respond
from memory.api.route_tags import OPENAI
from memory.api.serializers.completions import CUBES, NAMESPACE, SESSION
from memory.api.serializers.errors import OpenAIErrorSerializer
from memory.api.translated_answer import write_events, write_whole
from memory.api.views.completions import (
    HEADERS,
    SESSION_HEADER,
    ChatCompletionViewSet,
    answers_of_models,
    context_header,
)
from memory.enums import AccessScope
from memory.errors import NotFound
from memory.services.gateway.completions import ChatCompletion
from memory.services.gateway.responses import delete_response, find_response, keep_response, name_response

# Codex sends the id of its conversation in this header.
CODEX_SESSION_HEADER = "session-id"
_NOT_SERVED = {
    "background": "is not served: leave it out, and read the response as a stream.",
    "prompt": "names what OpenAI keeps: send the prompt itself as `instructions`.",
}
# A response repeats these fields of its request. The values stand for fields that the request leaves out.
_REPEATED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


@extend_schema(tags=[OPENAI.name])
class ResponseViewSet(ChatCompletionViewSet):
    """OpenAI's Responses API, with a memory. The model is called through chat completions."""

    required_scope = {  # type: ignore[assignment]
        "create": AccessScope.WRITE, "retrieve": AccessScope.READ, "destroy": AccessScope.WRITE,
    }  # fmt: skip

    @extend_schema(
        operation_id="create_response",
        summary="A response as OpenAI's Responses API has it, with what is remembered, and remembered itself",
        request=ResponseSerializer,
        responses=answers_of_models(OpenAIErrorSerializer),
        parameters=HEADERS,
    )
    def create(self, request: Request) -> HttpResponse | StreamingHttpResponse:
        data: Any = request.data
        values = self.valid(ResponseSerializer, data)
        for name, problem in _NOT_SERVED.items():
            if data.get(name):
                raise ValidationError({name: problem})
        metadata = {
            name: value for name, value in (values["metadata"] or {}).items() if name in (NAMESPACE, SESSION, CUBES)
        }
        talk = self._read_talk(request, values, metadata)
        tools = read_tools(values["tools"] or ())
        body = to_completion(data, talk.items, tools)
        named = {"model": values["model"], "metadata": metadata, "user": values["user"] or values["safety_identifier"]}
        asked = self.read_completion(request, body | {name: value for name, value in named.items() if value})
        writer = _start_writing(asked, data, values, tools)
        keep = _keep_later(asked, talk, writer) if writer.response["store"] else None
        if values["stream"]:
            return respond(
                request._request,
                self.access.actor,
                lambda: write_events(request._request, asked, writer, keep=keep),
                headers=context_header(asked),
            )
        with Slot(self.access.actor):
            give_connection_back()
            write_whole(asked, writer)
        if keep:
            keep()
        return Response(writer.response, headers=context_header(asked))

    @extend_schema(
        operation_id="retrieve_response",
        summary="A response that can be gone on from",
        responses={200: OpenApiTypes.OBJECT},
        parameters=HEADERS[:1],
    )
    def retrieve(self, request: Request, response_id: str) -> Response:
        scope = self.scope_if_there(self.name_namespace(request, {"metadata": None, "user": None}))
        found = find_response(scope, name_in(response_id)) if scope else None
        if found is None:
            raise NotFound(f"There is no response {response_id!r}.")
        return Response(found.body)

    @extend_schema(
        operation_id="delete_response",
        summary="Deletes a response: nothing goes on from it; what is remembered of it stays",
        responses={200: DeletedResponseSerializer},
        parameters=HEADERS[:1],
    )
    def destroy(self, request: Request, response_id: str) -> Response:
        scope = self.scope_if_there(self.name_namespace(request, {"metadata": None, "user": None}))
        if scope is None or not delete_response(scope, name_in(response_id)):
            raise NotFound(f"There is no response {response_id!r}.")
        return Response({"id": response_id, "object": "response", "deleted": True})

    def _read_talk(self, request: Request, values: Mapping[str, Any], metadata: dict[str, Any]) -> Talk:
        """Read the conversation up to now. Codex's session header is added to `metadata` if nothing else names the
        session.

        Raises ResponseUnknown, InvalidInput, ValidationError.
        """
        items = list_items(values["input"])
        previous, conversation = values["previous_response_id"], values["conversation"]
        if previous and conversation:
            raise ValidationError({"conversation": "cannot be named together with `previous_response_id`."})
        if not (previous or conversation or refers(items)):
            if CODEX_SESSION_HEADER in request.headers:
                metadata.setdefault(SESSION, request.headers[CODEX_SESSION_HEADER])
            return Talk(items)
        scope = self.scope_if_there(self.name_namespace(request, values))
        if previous:
            talk = go_on(scope, previous, items)
            assert talk.before is not None
            metadata.setdefault(SESSION, talk.before.session)
            return talk
        if conversation:
            metadata.setdefault(SESSION, conversation)
            return go_on_in(scope, request.headers.get(SESSION_HEADER) or str(metadata[SESSION]), items)
        return Talk(list(resolve(scope, items)))


def _start_writing(
    asked: ChatCompletion, data: Mapping[str, Any], values: Mapping[str, Any], tools: Tools
) -> ResponseWriter:
    repeated = {name: usual if data.get(name) is None else data[name] for name, usual in _REPEATED.items()}
    head = {
        "created_at": int(time.time()),
        "model": asked.model.label,
        **repeated,
        "tools": list(tools.passed_on),
        "conversation": {"id": values["conversation"]} if values["conversation"] else None,
        "background": False,
        "store": values["store"] is not False,
    }
    return ResponseWriter(head, name_response(asked.turn.session, uuid.uuid4().hex), tools)


def _keep_later(asked: ChatCompletion, talk: Talk, writer: ResponseWriter) -> Callable[[], None]:
    """Return a function that stores the finished response and sets its `store` to whether it was stored."""

    def keep() -> None:
        response = writer.response
        response["store"] = keep_response(
            asked.turn.scope,
            name_in(response["id"]),
            session=asked.turn.session,
            body=response,
            items=[*talk.items, *response["output"]],
            memory_ids=[one for one in response["memos"]["remembered"].values() if one],
            before=talk.before,
        )

    return keep
