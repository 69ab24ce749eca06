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
from memory.models import Memory
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.retrieval.explain import explain
from memory.retrieval.filters import Filter
from memory.retrieval.pack import build, card_of, chunk, context_text
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.predicate import Predicate, predicate
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


def ask(text: str, *, among: Predicate | None = None) -> Question:
    """The question as the search arms take it, to be answered from the memories that meet `among`.

    Raises EmbeddingUnavailable.
    """
    model = active_model()
    return question(
        text,
        vector=model.embed([text])[0],
        model_id=model.id,
        familiarity=model.provider.familiarity(text),
        predicate=among,
    )


def query(
    scope: Scope,
    *,
    session: str,
    text: str,
    top_k: int,
    now: datetime,
    where: Filter | None = None,
    as_of: datetime | None = None,
) -> Answer:
    """Answers a question from the namespace's memories and the session's window and summary; stores the pack.

    `where` narrows the memories that are searched. `as_of` leaves out all that was recorded later, of the window and
    the summaries too, and asks for no summary. With Redis away the window is empty and `degraded` says so.

    Raises EmbeddingUnavailable.
    """
    found = retrieve(scope, ask(text, among=predicate(where, as_of=as_of)), top_k=top_k)
    context = session_context(scope, session=session, now=now, as_of=as_of)
    summary = context.summary
    window, degraded = _window(scope, session, as_of)
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
    narrowed = {"filtered": where is not None, "as_of": as_of.isoformat() if as_of else None}
    row = _pack_row(scope, answer, session=session, text=text, narrowed=narrowed, now=now)
    enqueued = _store(scope, answer, row, session=session, summary_due=context.summary_due, now=now)
    return replace(answer, summary_enqueued=enqueued)


def _window(scope: Scope, session: str, as_of: datetime | None) -> tuple[list[WindowMessage], list[str]]:
    try:
        messages = window_store.read(scope.namespace_id, session)
    except WindowUnavailable as error:
        log.warning("session window skipped", extra={"reason": error.message})
        return [], [WINDOW_SKIPPED]
    if as_of is None or not messages:
        return messages, []
    rows = Memory.objects.in_scope(scope).filter(pk__in=[message.memory_id for message in messages])
    recorded = {str(identity) for identity in rows.filter(created_at__lte=as_of).values_list("pk", flat=True)}
    return [message for message in messages if message.memory_id in recorded], []


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


def _store(
    scope: Scope, answer: Answer, row: dict[str, Any], *, session: str, summary_due: bool, now: datetime
) -> bool:
    """Keeps the pack and its audit events; says whether a summary was asked for in the same transaction."""
    if not summary_due:
        fetch(_STORE, row, prepared=True)
        return False
    with transaction.atomic():
        fetch(_STORE, row, prepared=True)
        return condense.request_if_due(scope, session=session, has_summary=answer.summary is not None, now=now)


def _pack_row(
    scope: Scope, answer: Answer, *, session: str, text: str, narrowed: dict[str, Any], now: datetime
) -> dict[str, Any]:
    found = answer.retrieval
    query_details = {
        "context_pack_id": str(answer.pack_id),
        "hits": len(found.hits),
        "considered": found.considered,
        **narrowed,
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
