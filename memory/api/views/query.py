from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.query import AnswerSerializer, QuerySerializer
from memory.api.views.cubes_beside import CubesBeside, count_cubes
from memory.api.views.search import build_ask
from memory.enums import AccessScope, Tier
from memory.retrieval.explain import debug_entry
from memory.services.recall.query import QueryAnswer, answer_of_no_namespace, query
from memory.types import session_of_day


class QueryViewSet(CubesBeside):
    """Retrieves the memories and the context that a question needs."""

    required_scope = AccessScope.READ
    shared_actions = frozenset({"create"})

    count_requests = staticmethod(count_cubes)

    @extend_schema(
        operation_id="query",
        summary="Bring back the memories that answer a question",
        request=QuerySerializer,
        responses={200: AnswerSerializer},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(QuerySerializer, request.data)
        ask = build_ask(values, now=self.now_in(values["namespace"], values["timezone"]))
        session = values.get("session_id") or session_of_day(ask.now, ask.zone)
        beside = self.find_beside(values["cubes"], home=values["namespace"])
        # A search of cubes needs the namespace to exist, because it is one of the searched ones.
        scope = self.scope(values["namespace"], create=False) if beside else self.scope_if_there(values["namespace"])
        if scope is None:
            answer = answer_of_no_namespace(values["namespace"], ask, session=session, max_tokens=values["max_tokens"])
        else:
            answer = query(scope, ask, session=session, max_tokens=values["max_tokens"], beside=beside)
        request._request.empty_recall = not answer.retrieval.hits  # type: ignore[attr-defined]
        body = _body(answer, dry_run=ask.dry_run)
        return Response(body | (_without_repetition(answer) if values["lean"] else _details(answer)))


def _body(answer: QueryAnswer, *, dry_run: bool) -> dict[str, object]:
    pack_id = str(answer.pack_id) if answer.pack_id else None
    summary_id = str(answer.summary.id) if answer.summary else None
    found = bool(answer.retrieval.hits)
    return {
        "id": None if dry_run else pack_id or str(uuid.uuid4()),
        "source_tier": (Tier.L2 if found else Tier.L1).wire_label,
        "similarity": round(answer.similarity, 6),
        "answerable": answer.answerable,
        "raw_chunks": answer.pack["retrieval"]["raw_chunks"],
        "token_usage_original": answer.token_original,
        "token_usage_condensed": answer.token_condensed,
        **answer.rendered.describe_prefix(),
        "dropped": answer.dropped,
        "session_summary_id": summary_id,
        "session_summary_cache_hit": answer.summary is not None,
        "session_summary_enqueued": answer.summary_enqueued,
        "context_pack_id": pack_id,
        "dry_run": dry_run,
        "degraded": answer.degraded,
    }


def _details(answer: QueryAnswer) -> dict[str, object]:
    return {
        "condensed_summary": answer.condensed_summary,
        "rerank_debug": [debug_entry(explanation) for explanation in answer.explanations],
        "context_pack": answer.pack,
    }


def _without_repetition(answer: QueryAnswer) -> dict[str, object]:
    """Return the same keys, with empty lists and texts in place of what the pack's text already says."""
    working_memory = {**answer.pack["working_memory"], "l1_window": [], "session_summary": ""}
    retrieval = {**answer.pack["retrieval"], "raw_chunks": []}
    pack = {**answer.pack, "durable": [], "working_memory": working_memory, "retrieval": retrieval}
    return {"condensed_summary": "", "rerank_debug": [], "context_pack": pack}
