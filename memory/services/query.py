"""Brings back what a question needs: the session's window and summary, and the memories that answer it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, ProcedureKind
from memory.errors import WindowUnavailable
from memory.models import Condensation, ContextPack, Procedure
from memory.models.keys import new_id
from memory.retrieval.explain import explain
from memory.retrieval.pack import build, card_of, chunk, context_text
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.question import question
from memory.services import condense
from memory.services.embedding import active_model
from memory.services.ingest import WINDOW_SKIPPED
from memory.stores import window as window_store
from memory.text.tokens import count_tokens
from memory.types import Scope, WindowMessage

log = logging.getLogger("memos.query")


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a query found. Tokens count the raw material and the text that is handed over instead of it."""

    pack: ContextPack
    retrieval: Retrieval
    explanations: list[dict[str, Any]]
    summary: Condensation | None
    summary_enqueued: bool
    condensed_summary: str
    degraded: list[str]

    @property
    def similarity(self) -> float:
        """The best cosine similarity; 0 without a hit."""
        return max((hit.similarity for hit in self.retrieval.hits), default=0.0)


def query(scope: Scope, *, session: str, text: str, top_k: int, now: datetime) -> Answer:
    """Answers a question from the namespace's memories and the session's window and summary; stores the pack.

    With Redis away the window is empty and `degraded` says so. Raises EmbeddingUnavailable.
    """
    model = active_model()
    asked = question(
        text,
        vector=model.provider.embed([text])[0],
        model_id=model.id,
        familiarity=model.provider.familiarity(text),
    )
    found = retrieve(scope, asked, top_k=top_k)
    window, degraded = _window(scope, session)
    summary = Condensation.objects.in_scope(scope).filter(session=session).order_by("-number").first()
    chunks = [chunk(hit) for hit in found.hits]
    pack = build(
        scope,
        session=session,
        query_text=text,
        procedural=_procedural(scope),
        window=window,
        summary=card_of(summary.condensed_text) if summary else None,
        summary_id=str(summary.pk) if summary else None,
        chunks=chunks,
    )
    handed_over = context_text(
        window,
        summary.condensed_text if summary else None,
        found.hits,
        window_holds=frozenset(message.memory_id for message in window),
    )
    stored = ContextPack(
        id=new_id(),
        namespace_id=scope.namespace_id,
        session=session,
        query_text=text,
        session_summary_id=summary.pk if summary else None,
        retrieved_count=len(found.hits),
        token_original=_original_tokens(found, window, summary),
        token_condensed=count_tokens(handed_over, settings.MEMOS_TOKENIZER),
        pack=pack,
        created_at=now,
    )
    with transaction.atomic():
        stored.save(force_insert=True)
        audit.record_many(_events(scope, stored, found, degraded, now=now))
        enqueued = condense.request_if_due(scope, session=session, has_summary=summary is not None, now=now)
    return Answer(
        pack=stored,
        retrieval=found,
        explanations=[explain(hit, found.weights) for hit in found.hits],
        summary=summary,
        summary_enqueued=enqueued,
        condensed_summary=summary.condensed_text if summary else handed_over[:2000],
        degraded=degraded,
    )


def _window(scope: Scope, session: str) -> tuple[list[WindowMessage], list[str]]:
    try:
        return window_store.read(scope.namespace_id, session), []
    except WindowUnavailable as error:
        log.warning("session window skipped", extra={"reason": error.message})
        return [], [WINDOW_SKIPPED]


def _procedural(scope: Scope) -> dict[str, Any]:
    """The newest enabled prompt and the tools of the namespace."""
    entries = list(Procedure.objects.in_scope(scope).enabled().order_by("kind", "name", "-version"))
    prompts = [entry for entry in entries if entry.kind == ProcedureKind.PROMPT]
    # The namespace's own prompt goes before the shared one.
    prompts.sort(key=lambda entry: (entry.namespace_id is None, entry.name))
    return {
        "prompt": procedure(prompts[0]) if prompts else None,
        "tools": [procedure(entry) for entry in entries if entry.kind == ProcedureKind.TOOL],
    }


def procedure(entry: Procedure) -> dict[str, Any]:
    """A registry entry as clients see it."""
    shown = {"name": entry.name, "version": entry.version, "description": entry.description}
    if entry.kind == ProcedureKind.PROMPT:
        return {**shown, "text": entry.text}
    return {**shown, "parameters": entry.parameters}


def _original_tokens(found: Retrieval, window: Sequence[WindowMessage], summary: Condensation | None) -> int:
    """What the same knowledge costs unabridged: hits, window, and the turns that the summary stands for."""
    held = {message.memory_id for message in window}
    total = sum(hit.tokens for hit in found.hits if str(hit.id) not in held)
    total += sum(count_tokens(message.text, settings.MEMOS_TOKENIZER) for message in window)
    return total + (summary.token_original if summary else 0)


def _events(
    scope: Scope, stored: ContextPack, found: Retrieval, degraded: list[str], *, now: datetime
) -> list[dict[str, Any]]:
    pack_id = str(stored.pk)
    query_details = {
        "context_pack_id": pack_id,
        "hits": len(found.hits),
        "considered": found.considered,
        "weights": found.weights,
        "milliseconds": found.milliseconds,
        "degraded": degraded,
    }
    pack_details = {
        "memory_ids": [str(hit.id) for hit in found.hits],
        "token_original": stored.token_original,
        "token_condensed": stored.token_condensed,
    }
    common = {"session": stored.session, "subject": pack_id, "now": now}
    return [
        audit.fields(scope, AuditEvent.QUERY, details=query_details, **common),
        audit.fields(scope, AuditEvent.CONTEXT_PACK, details=pack_details, **common),
    ]
