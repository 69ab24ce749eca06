from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.schema import IDEMPOTENCY_KEY, event_stream_of
from memory.api.serializers.answer import CitedAnswerSerializer
from memory.api.serializers.chat import MAX_QUESTION_CHARS, ChatSerializer
from memory.api.views.answer import AnsweringViewSet, build_answer_ask
from memory.enums import AccessScope
from memory.services.recall.search import Ask
from memory.types import NewMemory, session_of_day


class ChatViewSet(AnsweringViewSet):
    """Answers a message of a session from the memories, and remembers both."""

    required_scope = AccessScope.WRITE
    shared_actions = frozenset({"create", "stream"})

    @extend_schema(
        operation_id="chat",
        summary="Answer a message of a session from the memories, and remember both",
        request=ChatSerializer,
        responses={200: CitedAnswerSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        return self.respond_whole(*self._read_turns(request))

    @extend_schema(
        operation_id="chat_stream",
        summary="The same, sent while it is made",
        request=ChatSerializer,
        responses=event_stream_of(
            "The events of `/v1/answer/stream`. When the model breaks off, `error` says in its `detail` which turns "
            "are remembered: the question, and no half answer."
        ),
        parameters=[IDEMPOTENCY_KEY],
    )
    def stream(self, request: Request) -> StreamingHttpResponse:
        return self.respond_streaming(*self._read_turns(request))

    def _read_turns(self, request: Request) -> tuple[dict[str, Any], list[NewMemory], Ask]:
        values = self.valid(ChatSerializer, request.data)
        now = self.now_in(values["namespace"], values["timezone"])
        session = values.get("session_id") or session_of_day(now, now.tzinfo)
        turns = ChatSerializer.to_turns(values, session=session)
        return values, turns, build_answer_ask(values, turns[-1].text[:MAX_QUESTION_CHARS], now=now)
