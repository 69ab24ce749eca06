from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField, StrictNumberField
from memory.api.mem0.authentication import Mem0KeyAuthentication
from memory.api.memtensor import answers, filters
from memory.api.memtensor.cube_names import CubeNames, Reached
from memory.api.memtensor.envelope import OK, MemTensorErrorSerializer, answer_error, describe_envelope
from memory.api.memtensor.memories import NO_INTERNET
from memory.api.memtensor.serializers import (
    MAX_CHAT_CHARS,
    MAX_QUERY_CHARS,
    CubeNamesField,
    MemTensorFilterField,
    MemTensorMessageSerializer,
    NameField,
    OptionalFlagField,
    OptionalNameField,
    WhoSerializer,
    list_cubes,
)
from memory.api.memtensor.suggestions import suggest
from memory.api.memtensor.views import count_cubes
from memory.api.route_tags import MEMTENSOR
from memory.api.schema import IDEMPOTENCY_KEY, event_stream_of
from memory.api.serializers.answer import LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS
from memory.api.views.answer import AnsweringViewSet
from memory.enums import AccessScope, Role
from memory.services.answers.answer import AnswerEvent, CitableSource, SourcesFound, StillWaiting
from memory.services.answers.cited_answer import Quote
from memory.services.answers.conversation import Reply
from memory.services.recall.search import Ask
from memory.services.tenancy.namespaces import scope_for
from memory.text.json_values import encode
from memory.types import NewMemory, Scope

ANSWERED = describe_envelope("ChatAnswered", answers.ChatAnswerSerializer())
MAX_HISTORY, _MAX_TOP_K = 50, 50


class MemTensorChatSerializer(WhoSerializer):
    """A message to be answered from cubes.

    Ignored: `mode`, `temperature`, `top_p`, `threshold`, `include_preference` and options for other kinds of memory.
    """

    user_id = NameField(required=False, default="default")
    query = StrictCharField(min_length=1, max_length=MAX_CHAT_CHARS)
    readable_cube_ids = CubeNamesField(help_text="The cubes that are answered from")
    writable_cube_ids = CubeNamesField(max_length=1, help_text="Where both are remembered: one of them")
    mem_cube_id = OptionalNameField(help_text="The same as both")
    history: serializers.ListSerializer = serializers.ListSerializer(
        child=MemTensorMessageSerializer(),
        required=False,
        allow_null=True,
        default=None,
        max_length=MAX_HISTORY,
        help_text="What was said before: the model reads it, and it is not remembered",
    )
    system_prompt = StrictCharField(
        required=False, allow_null=True, allow_blank=True, default=None, max_length=MAX_CHAT_CHARS,
        help_text="What the model is told first",
    )  # fmt: skip
    top_k = StrictIntegerField(min_value=1, max_value=_MAX_TOP_K, required=False, default=10)
    relativity = StrictNumberField(min_value=0, max_value=1, required=False, allow_null=True, default=None)
    filter = MemTensorFilterField()
    model_name_or_path = OptionalNameField(max_length=200, help_text="As `model` of POST /v1/answer")
    max_tokens = StrictIntegerField(
        min_value=1, required=False, allow_null=True, default=None, help_text="At most 1000 are written"
    )
    add_message_on_answer = StrictBooleanField(required=False, default=True, help_text="Remember question and answer")
    internet_search = OptionalFlagField(help_text="Not done: `message` says so")
    language = serializers.ChoiceField(["zh", "en"], required=False, default="zh", help_text="Of the suggestions")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        read, write = attrs["readable_cube_ids"] or [], attrs["writable_cube_ids"] or []
        if not attrs["add_message_on_answer"]:
            return attrs
        if read and write and write[0] not in read:
            raise serializers.ValidationError(
                {
                    "writable_cube_ids": "must be one of the cubes that are read: what is answered is remembered "
                    "there. Send add_message_on_answer: false, and POST /product/add to the other cube."
                }
            )
        if len(set(read)) > 1 and not write:
            raise serializers.ValidationError(
                {
                    "writable_cube_ids": "is missing: of several cubes, name the one where question and answer are "
                    "remembered, or send add_message_on_answer: false."
                }
            )
        return attrs


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorChatViewSet(CubeNames, AnsweringViewSet):
    """Answers questions from cubes, as MemTensor's server does."""

    authentication_classes = (Mem0KeyAuthentication,)
    required_scope = AccessScope.READ
    shared_actions = frozenset({"create", "stream", "playground", "classic"})
    error_serializer = MemTensorErrorSerializer
    takes_unknown_fields = True
    remember_field = "add_message_on_answer"
    without_remembering = "send add_message_on_answer: false"
    # State of this request; each request has its own view.
    _values: Mapping[str, Any]
    _reached: Reached
    _ends_with_text = False

    count_requests = staticmethod(count_cubes)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return answer_error

    @extend_schema(
        operation_id="memtensor_chat",
        summary="Answer from a cube, and remember both",
        request=MemTensorChatSerializer,
        responses={200: ANSWERED},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        return self.respond_whole(*self._read_question(request))

    @extend_schema(
        operation_id="memtensor_chat_stream",
        summary="The same, sent while it is made",
        request=MemTensorChatSerializer,
        responses=event_stream_of(
            "Lines `data:` with objects of a `type`: `reference` {data: memories}, `text` {data}, `time` {data: "
            "{total_time, first_token_time} in seconds}, `suggestion` {data: questions}, `end`, or `error` {data: the "
            "message, error: as every error}."
        ),
        parameters=[IDEMPOTENCY_KEY],
    )
    def stream(self, request: Request) -> StreamingHttpResponse:
        return self.respond_streaming(*self._read_question(request))

    @extend_schema(
        operation_id="memtensor_chat_playground",
        summary="The same stream, where MemTensor's playground asks for it",
        request=MemTensorChatSerializer,
        responses=event_stream_of("As `/product/chat/stream`."),
        parameters=[IDEMPOTENCY_KEY],
    )
    def playground(self, request: Request) -> StreamingHttpResponse:
        return self.respond_streaming(*self._read_question(request))

    @extend_schema(
        operation_id="memtensor_classic_chat",
        summary="Answer from a cube, as the classic route does: `data` is the text",
        request=MemTensorChatSerializer,
        responses={200: describe_envelope("ClassicAnswered", serializers.CharField())},
        parameters=[IDEMPOTENCY_KEY],
    )
    def classic(self, request: Request) -> Response:
        self._ends_with_text = True
        return self.respond_whole(*self._read_question(request))

    def _read_question(self, request: Request) -> tuple[dict[str, Any], list[NewMemory], Ask]:
        values = self._values = self.valid(MemTensorChatSerializer, request.data)
        read = list_cubes(values, "readable_cube_ids", "writable_cube_ids")
        # Question and answer are remembered in the first cube, so its namespace comes first and gives the session.
        first = list_cubes(values, "writable_cube_ids")[:1] if values["add_message_on_answer"] else []
        reached = self._reached = self.reach([*first, *read], values["user_id"])
        now = self.now_in(reached.names[0][1])
        session = reached.name_session(values["session_id"], now, now.tzinfo)
        limit = values["max_tokens"]
        asked = {
            "namespace": reached.names[0][1],
            "session_id": session,
            "model": values["model_name_or_path"],
            "response_schema": None,
            "max_tokens": limit and min(max(limit, LEAST_ANSWER_TOKENS), MOST_ANSWER_TOKENS),
        }
        ask = Ask(
            text=values["query"][:MAX_QUERY_CHARS],
            top_k=values["top_k"],
            now=now,
            where=filters.join(reached.where, values["filter"]),
            min_relevance=values["relativity"] or 0.0,
        )
        question = NewMemory(session, Role.USER, values["query"], "", {filters.USER: values["user_id"]})
        return asked, [question] if values["add_message_on_answer"] else [], ask

    def list_beside(self, values: Mapping[str, Any]) -> list[Scope]:
        """List the scopes of the other cubes to search."""
        (_, home), *others = self._reached.names
        names = dict.fromkeys(name for _, name in others if name != home)
        # These scopes bypass the view, so that model usage is attributed to the first cube and nothing is written to
        # others.
        return [scope_for(self.access, name=name, request_id=self.request_id, create=False) for name in names]

    def list_said(self, turns: Sequence[NewMemory]) -> list[NewMemory]:
        """List the messages for the model: the system prompt, the client's history, and the question last."""
        said = []
        if self._values["system_prompt"]:
            said.append(NewMemory("", Role.SYSTEM, self._values["system_prompt"]))
        for message in self._values["history"] or ():
            if message["content"] and message["content"].text:
                said.append(NewMemory("", message["role"], message["content"].text, message["name"] or ""))
        return [*said, *(turns or [NewMemory("", Role.USER, self._values["query"])])]

    def write_event(self, number: int, name: str, data: Any) -> bytes:
        """Return a line of MemTensor's event streams."""
        if name == "error":
            told: dict[str, Any] = {"data": data["error"]["message"], "error": data["error"]}
        else:
            told = {} if data is None else {"data": data}
        return b"data: %s\n\n" % encode({"type": name, **told})

    def _events(self, events: Generator[AnswerEvent | Reply]) -> Generator[tuple[str, Any] | None]:
        began = time.monotonic()
        first: float | None = None
        with closing(events):
            for event in events:
                match event:
                    case StillWaiting():
                        yield None
                    case str():
                        first = first or time.monotonic() - began
                        yield "text", event
                    case SourcesFound():
                        yield "reference", [self._refer(one, event.whose) for one in event.sources]
                    case Reply():
                        took = time.monotonic() - began
                        yield "time", {"total_time": round(took, 3), "first_token_time": round(first or took, 3)}
                        yield "suggestion", self._suggest()
                        yield "end", None

    def _suggest(self) -> list[str]:
        """Return suggested questions. Only cubes have them, because entities are known by namespace, not by user."""
        cubes = list_cubes(self._values, "readable_cube_ids", "writable_cube_ids")
        if not cubes:
            return []
        places = self.find_places(self.reach(cubes, self._values["user_id"]))
        return suggest([place.scope for place in places], language=self._values["language"])

    def _body(self, given: Reply) -> dict[str, object]:
        found = given.answer
        cited = {quote.n: self._refer(quote, found.whose) for quote in found.quotes}
        says = "Nothing was found that answers it." if found.no_answer is not None else "Answered from the memories."
        if given.remembered:
            kept = sum(turn.outcome.accepted for turn in given.remembered)
            says += f" {kept} of {len(given.remembered)} turns are remembered."
        if self._values["internet_search"]:
            says += NO_INTERNET
        data: Any = {"response": found.text, "reasoning": None, "references": list(cited.values())}
        return {"code": OK, "message": says, "data": found.text if self._ends_with_text else data}

    def _refer(self, one: CitableSource | Quote, owners: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        memory_id = str(one.memory_id)
        (first, _), *_ = self._reached.names
        named = {namespace: cube_id for cube_id, namespace in reversed(self._reached.names)}
        return {
            "n": one.n,
            "id": memory_id,
            "memory": one.text,
            "ref_id": answers.name_reference(memory_id),
            "cube_id": named[owners[memory_id]["namespace"]] if memory_id in owners else first,
        }
