from __future__ import annotations

from dataclasses import replace

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.answer import CitedAnswerSerializer, QuestionSerializer
from memory.api.views.base import MemosViewSet
from memory.api.views.search import build_ask
from memory.enums import AccessScope
from memory.services.answers.answer import Quote, answer, no_answer_of_no_namespace
from memory.types import session_of_day


class AnswerViewSet(MemosViewSet):
    """Answers a question in the words of the memories."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="answer",
        summary="Answer a question in the words of the memories, each cited",
        request=QuestionSerializer,
        responses={200: CitedAnswerSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(QuestionSerializer, request.data)
        ask = replace(build_ask(values), dry_run=False)
        session = values.get("session_id") or session_of_day(ask.now)
        scope = self.scope_if_there(values["namespace"])
        if scope is None:
            found = no_answer_of_no_namespace(values["namespace"], ask, session=session)
        else:
            found = answer(scope, ask, session=session, max_tokens=values["max_tokens"])
        request._request.empty_recall = not found.hits  # type: ignore[attr-defined]
        return Response(
            {
                "answer": found.text,
                "citations": [_citation(quote) for quote in found.quotes],
                "abstained": found.no_answer is not None,
                "reason": found.no_answer,
                "mode": found.mode,
                "context_pack_id": str(found.pack_id) if found.pack_id else None,
                "tokens": found.tokens,
                "degraded": found.degraded,
                "request_id": self.request_id,
            }
        )


def _citation(quote: Quote) -> dict[str, object]:
    return {
        "n": quote.n,
        "memory_id": str(quote.memory_id),
        "quote": quote.text,
        "speaker": quote.speaker,
        "occurred_at": quote.occurred_at.isoformat(),
        "marked": quote.marked,
    }
