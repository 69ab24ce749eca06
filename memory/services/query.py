"""Brings back what a question needs: the session's window and summary, and the memories that answer it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction

from memory.enums import AuditEvent
from memory.errors import WindowUnavailable
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.retrieval.explain import explain
from memory.retrieval.pack import build, card_of, chunk, context_text
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.question import Question, question
from memory.services import condense
from memory.services.context import Summary, session_context
from memory.services.embedding import active_model
from memory.services.ingest import WINDOW_SKIPPED
from memory.stores import window as window_store
from memory.text.tokens import count_tokens
from memory.types import Scope, WindowMessage

log = logging.getLogger("memos.query")

FALLBACK_SUMMARY_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a query found. Tokens count the raw material and the text that is handed over instead of it."""

    pack_id: uuid.UUID
    pack: dict[str, Any]
    retrieval: Retrieval
    explanations: list[dict[str, Any]]
    summary: Summary | None
    summary_enqueued: bool
    condensed_summary: str
    token_original: int
    token_condensed: int
    degraded: list[str]

    @property
    def similarity(self) -> float:
        """The best cosine similarity; 0 without a hit."""
        return max((hit.similarity for hit in self.retrieval.hits), default=0.0)


def ask(text: str) -> Question:
    """The question as the search arms take it. Raises EmbeddingUnavailable."""
    return ask_all([text])[0]


def ask_all(texts: Sequence[str]) -> list[Question]:
    """Questions as the search arms take them, embedded together. Raises EmbeddingUnavailable."""
    model = active_model()
    return [
        question(text, vector=vector, model_id=model.id, familiarity=model.provider.familiarity(text))
        for text, vector in zip(texts, model.embed(texts), strict=True)
    ]


def query(scope: Scope, *, session: str, text: str, top_k: int, now: datetime) -> Answer:
    """Answers a question from the namespace's memories and the session's window and summary; stores the pack.

    With Redis away the window is empty and `degraded` says so. Raises EmbeddingUnavailable.
    """
    found = retrieve(scope, ask(text), top_k=top_k)
    context = session_context(scope, session=session, now=now)
    summary = context.summary
    window, degraded = _window(scope, session)
    card = card_of(summary.text) if summary else None
    pack = build(
        scope,
        session=session,
        query_text=text,
        procedural=context.procedural,
        window=window,
        summary=card,
        summary_id=str(summary.id) if summary else None,
        chunks=[chunk(hit) for hit in found.hits],
    )
    held = frozenset(message.memory_id for message in window)
    handed_over = context_text(window, card, found.hits, window_holds=held)
    answer = Answer(
        pack_id=new_id(),
        pack=pack,
        retrieval=found,
        explanations=[explain(hit, found.weights) for hit in found.hits],
        summary=summary,
        summary_enqueued=False,
        condensed_summary=summary.text if summary else handed_over[:FALLBACK_SUMMARY_CHARS],
        token_original=_original_tokens(found, window, summary, held),
        token_condensed=count_tokens(handed_over, settings.MEMOS_TOKENIZER),
        degraded=degraded,
    )
    enqueued = _store(scope, answer, session=session, text=text, summary_due=context.summary_due, now=now)
    return replace(answer, summary_enqueued=enqueued)


def _window(scope: Scope, session: str) -> tuple[list[WindowMessage], list[str]]:
    try:
        return window_store.read(scope.namespace_id, session), []
    except WindowUnavailable as error:
        log.warning("session window skipped", extra={"reason": error.message})
        return [], [WINDOW_SKIPPED]


def _original_tokens(
    found: Retrieval, window: Sequence[WindowMessage], summary: Summary | None, held: frozenset[str]
) -> int:
    """What the same knowledge costs unabridged: hits, window, and the turns that the summary stands for."""
    hits = sum(hit.tokens for hit in found.hits if str(hit.id) not in held)
    return hits + sum(message.tokens for message in window) + (summary.token_original if summary else 0)


_STORE = """
WITH pack AS (
    INSERT INTO memory_contextpack (id, namespace_id, session, query_text, session_summary_id, retrieved_count,
                                    token_original, token_condensed, pack, created_at)
    VALUES (%(id)s, %(namespace_id)s, %(session)s, %(query_text)s, %(summary_id)s, %(hits)s, %(token_original)s,
            %(token_condensed)s, %(pack)s::jsonb, %(now)s)
)
INSERT INTO memory_auditlog (id, namespace_id, namespace, session, event_type, actor, subject, details, request_id,
                             created_at)
SELECT e.id, %(namespace_id)s::bigint, %(namespace)s::text, %(session)s::text, e.event_type, %(actor)s::text,
       %(id)s::uuid::text, e.details::jsonb, %(request_id)s::text, %(now)s::timestamptz
FROM unnest(%(event_ids)s::uuid[], %(event_types)s::text[], %(details)s::text[]) AS e (id, event_type, details)
RETURNING id
"""


def _store(scope: Scope, answer: Answer, *, session: str, text: str, summary_due: bool, now: datetime) -> bool:
    """Keeps the pack and its audit events; says whether a summary was asked for in the same transaction."""
    parameters = _pack_row(scope, answer, session=session, text=text, now=now)
    if not summary_due:
        fetch(_STORE, parameters, prepared=True)
        return False
    with transaction.atomic():
        fetch(_STORE, parameters, prepared=True)
        return condense.request_if_due(scope, session=session, has_summary=answer.summary is not None, now=now)


def _pack_row(scope: Scope, answer: Answer, *, session: str, text: str, now: datetime) -> dict[str, Any]:
    found = answer.retrieval
    query_details = {
        "context_pack_id": str(answer.pack_id),
        "hits": len(found.hits),
        "considered": found.considered,
        "weights": found.weights,
        "milliseconds": found.milliseconds,
        "degraded": answer.degraded,
    }
    pack_details = {
        "memory_ids": [str(hit.id) for hit in found.hits],
        "token_original": answer.token_original,
        "token_condensed": answer.token_condensed,
    }
    return {
        "id": answer.pack_id,
        "namespace_id": scope.namespace_id,
        "namespace": scope.namespace,
        "session": session,
        "query_text": text,
        "summary_id": answer.summary.id if answer.summary else None,
        "hits": len(found.hits),
        "token_original": answer.token_original,
        "token_condensed": answer.token_condensed,
        "pack": orjson.dumps(answer.pack).decode(),
        "now": now,
        "actor": scope.actor,
        "request_id": scope.request_id,
        "event_ids": [new_id(), new_id()],
        "event_types": [AuditEvent.QUERY.value, AuditEvent.CONTEXT_PACK.value],
        "details": [orjson.dumps(query_details).decode(), orjson.dumps(pack_details).decode()],
    }
