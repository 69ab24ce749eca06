from __future__ import annotations

import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.event_stream import Slot, respond, write_event
from memory.api.schema import IDEMPOTENCY_KEY, event_stream_of
from memory.api.serializers.answer import (
    QUOTED_TOKENS,
    WRITTEN_TOKENS,
    CitedAnswerSerializer,
    QuestionSerializer,
)
from memory.api.serializers.ingest import OutcomeSerializer
from memory.api.views.cubes_beside import CubesBeside, count_cubes
from memory.api.views.search import build_ask
from memory.enums import AccessScope, Role
from memory.errors import Forbidden, InvalidInput
from memory.services.answers.answer import (
    AnswerEvent,
    SourcesFound,
    StillWaiting,
    no_answer_of_no_namespace,
    tell,
)
from memory.services.answers.cited_answer import CitedAnswer, Quote
from memory.services.answers.conversation import Exchange, Reply, find_reply, reply, stream_reply
from memory.services.answers.models import choose_model
from memory.services.answers.sources import AnswerSources, AnswerTerms, find_sources
from memory.services.recall.search import Ask
from memory.types import NewMemory, Scope, session_of_day

_STREAMED = event_stream_of(
    "Events `sources` {context_pack_id, sources: [{n, memory_id, text, score}]}, `delta` {text}, `citation` {n, "
    "memory_id, at, supported}, `done` (what the route without `/stream` answers) or `error` (as every error); each "
    "has an `id`, and a comment `: ping` comes when nothing else did for 15 seconds."
)


class AnsweringViewSet(CubesBeside):
    """The base of views that answer a question, at once or as a stream of events."""

    count_requests = staticmethod(count_cubes)
    # The field that makes the server remember question and answer, and how to do without it.
    remember_field = "remember"
    without_remembering = "leave `remember` out"

    def respond_whole(self, values: Mapping[str, Any], turns: Sequence[NewMemory], ask: Ask) -> Response:
        """Answer the question. If there are `turns`, the question last, they are remembered with the answer."""
        prepared = self._prepare(values, turns, ask)
        if isinstance(prepared, Reply):
            given = prepared
        else:
            sources, _ = prepared
            with Slot(self.access.actor) if sources.terms.model else nullcontext():
                given = reply(*prepared)
        self._note(given.answer)
        return Response(self._body(given))

    def respond_streaming(
        self, values: Mapping[str, Any], turns: Sequence[NewMemory], ask: Ask
    ) -> StreamingHttpResponse:
        """Answer the question as a stream of events."""
        slot = Slot(self.access.actor)
        try:
            prepared = self._prepare(values, turns, ask)
        except BaseException:
            slot.give_back()
            raise
        events = _retell(prepared) if isinstance(prepared, Reply) else stream_reply(*prepared)
        return respond(self.request._request, self._events(events), slot, write=self.write_event)

    def list_said(self, turns: Sequence[NewMemory]) -> Sequence[NewMemory]:
        """List the messages for the model, the question last."""
        return turns

    def list_beside(self, values: Mapping[str, Any]) -> list[Scope]:
        """List the scopes to search in addition to the request's namespace."""
        return self.find_beside(values["cubes"], home=values["namespace"])

    def write_event(self, number: int, name: str, data: Any) -> bytes:
        """Encode an event of the stream."""
        return write_event(number, name, data)

    def _prepare(
        self, values: Mapping[str, Any], turns: Sequence[NewMemory], ask: Ask
    ) -> Reply | tuple[AnswerSources, Exchange | None]:
        """Return the reply if it was given before, else the sources to make it from."""
        session = values.get("session_id") or session_of_day(ask.now, ask.zone)
        # Validated even if nothing is to be stored under it.
        idempotency = self.idempotency()
        beside = self.list_beside(values)
        scope = self.scope_if_there(values["namespace"])
        # Checked before a namespace is made, so that a refused request makes none.
        terms = choose_terms(scope, values, self.list_said(turns))
        if turns:
            scope = self._writable_scope(values["namespace"])
        if scope is None and beside:
            # Raises NotFound.
            scope = self.scope(values["namespace"], create=False)
        if scope is None:
            return Reply(no_answer_of_no_namespace(values["namespace"], ask, session=session))
        exchange = Exchange(scope, session, turns, timezone.now, idempotency) if turns else None
        if exchange and (given := find_reply(exchange)):
            return given
        return find_sources(scope, ask, session=session, terms=terms, beside=beside), exchange

    def _writable_scope(self, namespace: str) -> Scope:
        for needed in (AccessScope.READ, AccessScope.WRITE):
            if not self.access.may(needed):
                raise Forbidden(f"To answer and remember, the key needs the scope {needed.value!r} too.")
        scope = self.scope(namespace)
        if self.access.reads_share_of(scope.namespace_id):
            raise Forbidden(
                f"The cube {namespace!r} is shared with this key for reading: {self.without_remembering}, or ask its "
                "owner to share it for writing.",
                detail={"field": self.remember_field},
            )
        return scope

    def _note(self, answered: CitedAnswer) -> None:
        self.request._request.empty_recall = not answered.hits  # type: ignore[attr-defined]

    def _events(self, events: Generator[AnswerEvent | Reply]) -> Generator[tuple[str, Any] | None]:
        """Yield the events of a stream as names and data."""
        with closing(events):
            for event in events:
                match event:
                    case StillWaiting():
                        yield None
                    case str():
                        yield "delta", {"text": event}
                    case SourcesFound():
                        yield "sources", _sources(event)
                    case Quote():
                        yield "citation", _place(event)
                    case Reply():
                        yield "done", self._body(event)

    def _body(self, given: Reply) -> dict[str, object]:
        found = given.answer
        return {
            "answer": found.text,
            "citations": [_citation(quote) | _whose(found.whose, quote.memory_id) for quote in found.quotes],
            "uncited": found.uncited,
            "abstained": found.no_answer is not None,
            "reason": found.no_answer,
            "mode": found.mode,
            "model": found.model or None,
            "structured_output": found.structured,
            "context_pack_id": str(found.pack_id) if found.pack_id else None,
            "tokens": found.tokens,
            "prefix_sha256": found.prefix_sha256,
            "prefix_tokens": found.prefix_tokens,
            "breakpoints": found.breakpoints,
            "usage": {
                "prompt": found.usage.prompt,
                "completion": found.usage.completion,
                "cached": found.usage.cached,
            },
            "cost": found.cost,
            "ttft_ms": found.ttft_ms,
            "remembered": None
            if given.remembered is None
            else [{"role": turn.role, **OutcomeSerializer.to_dict(turn.outcome)} for turn in given.remembered],
            "degraded": found.degraded,
            "request_id": self.request_id,
        }


class AnswerViewSet(AnsweringViewSet):
    """Answers a question from the memories."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create", "stream"})

    @extend_schema(
        operation_id="answer",
        summary="Answer a question from the memories, each cited",
        request=QuestionSerializer,
        responses={200: CitedAnswerSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        return self.respond_whole(*self._read_question(request))

    @extend_schema(
        operation_id="answer_stream",
        summary="Answer a question from the memories, sent while it is made",
        request=QuestionSerializer,
        responses=_STREAMED,
        parameters=[IDEMPOTENCY_KEY],
    )
    def stream(self, request: Request) -> StreamingHttpResponse:
        return self.respond_streaming(*self._read_question(request))

    def _read_question(self, request: Request) -> tuple[dict[str, Any], list[NewMemory], Ask]:
        values = self.valid(QuestionSerializer, request.data)
        ask = build_answer_ask(values, values["query"], now=self.now_in(values["namespace"], values["timezone"]))
        session = values.get("session_id") or session_of_day(ask.now, ask.zone)
        question = NewMemory(session=session, role=Role.USER, text=values["query"])
        return values, [question] if values["remember"] else [], ask


def build_answer_ask(values: Mapping[str, Any], query: str, *, now: datetime) -> Ask:
    """Return the search for an answer, which stores a pack."""
    return replace(build_ask({**values, "query": query}, now=now), dry_run=False)


def choose_terms(scope: Scope | None, values: Mapping[str, Any], turns: Sequence[NewMemory]) -> AnswerTerms:
    """Return how the question is to be answered, from the validated fields.

    Raises InvalidInput for a response_schema without a model.
    """
    schema = values["response_schema"]
    model = choose_model(values["model"], scope.namespace_id if scope else None)
    if schema is not None and model is None:
        raise InvalidInput(
            "response_schema: quotes follow no schema. Leave it out, or have a language model answer: "
            "MEMOS_LLM_ENABLED configures one.",
            detail=[{"field": "response_schema", "problem": "needs a language model."}],
        )
    return AnswerTerms(
        max_tokens=values.get("max_tokens") or (WRITTEN_TOKENS if model else QUOTED_TOKENS),
        model=model,
        schema=schema,
        question=turns[-1].text if turns else "",
        told=turns[:-1],
    )


def _retell(given: Reply) -> Generator[AnswerEvent | Reply]:
    for event in tell(given.answer):
        yield given if isinstance(event, CitedAnswer) else event


def _sources(found: SourcesFound) -> dict[str, object]:
    return {
        "context_pack_id": str(found.pack_id) if found.pack_id else None,
        "sources": [
            {
                "n": one.n,
                "memory_id": str(one.memory_id),
                "text": one.text,
                "score": None if one.score is None else round(one.score, 6),
                **_whose(found.whose, one.memory_id),
            }
            for one in found.sources
        ],
    }


def _whose(owners: Mapping[str, Mapping[str, Any]], memory_id: uuid.UUID) -> dict[str, Any]:
    """Return the `namespace` and `cube` of a memory, if several were searched."""
    return dict(owners.get(str(memory_id), {}))


def _place(quote: Quote) -> dict[str, object]:
    return {"n": quote.n, "memory_id": str(quote.memory_id), "at": quote.at, "supported": quote.supported}


def _citation(quote: Quote) -> dict[str, object]:
    return {
        "n": quote.n,
        "memory_id": str(quote.memory_id),
        "quote": quote.text,
        "speaker": quote.speaker,
        "occurred_at": quote.occurred_at.isoformat(),
        "place": quote.place,
        "marked": quote.marked,
        "at": quote.at,
        "supported": quote.supported,
    }
