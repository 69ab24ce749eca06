"""Session summaries: when one is due, and making it. No LLM is needed; one is used when it is configured."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from memory import audit
from memory.enums import AuditEvent, MemoryState, SummaryTrigger
from memory.errors import LLMUnavailable
from memory.models import Condensation, Memory, Session
from memory.providers.llm import configured_llm
from memory.services import queue
from memory.text.card import Turn, build_card
from memory.text.tokens import count_tokens
from memory.types import Scope

log = logging.getLogger("memos.condense")

EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True)
class _Batch:
    """New turns of a session, in order, and the summary they follow."""

    turns: list[Turn]
    tokens: int
    after_turn: int
    last_turn: int
    previous: Condensation | None


def request_if_due(scope: Scope, *, session: str, has_summary: bool, now: datetime) -> bool:
    """Queues a summary when the session has none yet, or enough new messages; call it inside a transaction.

    Single flight: the claim is one conditional UPDATE of the session's row, so of many callers one queues. A claim that
    nobody fulfilled is void after MEMOS_SUMMARY_LOCK_SECONDS.
    """
    enough = settings.MEMOS_SUMMARY_REFRESH_MESSAGES if has_summary else 1
    claimed = (
        Session.objects.in_scope(scope)
        .filter(name=session, message_count__gte=F("summarised_turn") + enough)
        .filter(Q(summary_requested_at=None) | Q(summary_requested_at__lt=_expired(now)))
        .update(summary_requested_at=now)
    )
    if claimed:
        queue.enqueue(queue.CONDENSE, scope.namespace_id, session)
    return bool(claimed)


def request_overdue(*, now: datetime, limit: int = 500) -> int:
    """Queues the summaries of sessions that have been waiting longer than a job takes; returns how many.

    The safety net behind `request_if_due`: it finds sessions whose job was lost or given up.
    """
    overdue = (
        Session.objects.filter(
            message_count__gte=F("summarised_turn") + settings.MEMOS_SUMMARY_REFRESH_MESSAGES,
            last_message_at__lt=_expired(now),
        )
        .filter(Q(summary_requested_at=None) | Q(summary_requested_at__lt=_expired(now)))
        .order_by("last_message_at")
        .values_list("namespace_id", "namespace__name", "name")[:limit]
    )
    queued = 0
    for namespace_id, namespace, session in list(overdue):
        scope = Scope(namespace_id, namespace, "worker")
        with transaction.atomic():
            queued += request_if_due(scope, session=session, has_summary=True, now=now)
    return queued


def condense_session(scope: Scope, *, session: str, now: datetime) -> list[Condensation]:
    """Brings a session's summary up to date, MEMOS_SUMMARY_BATCH_MESSAGES turns a version; returns the new versions.

    What arrives meanwhile is taken in when it is enough for a refresh. Idempotent: with nothing new it changes nothing,
    and of two runs at once one stores each version.
    """
    made: list[Condensation] = []
    # Half the job's time: the other half is for the batch that is begun just before.
    deadline = time.monotonic() + settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    while batch := _next_batch(scope, session):
        card, method = _write_card(batch)
        stored = _store(scope, session, batch, card, method, now=now)
        if stored is None:
            break
        made.append(stored)
        if time.monotonic() > deadline:
            queue.enqueue(queue.CONDENSE, scope.namespace_id, session)
            return made
    # Nothing is left to do for whoever asked until now; a later request stays.
    Session.objects.in_scope(scope).filter(name=session, summary_requested_at__lte=now).update(
        summary_requested_at=None
    )
    return made


def card_with_sources(summary: Condensation) -> dict[str, Any]:
    """A stored card, with the memories behind each of its items under `sources`."""
    card: dict[str, Any] = orjson.loads(summary.condensed_text)
    return {**card, "sources": summary.item_sources}


def _next_batch(scope: Scope, session: str) -> _Batch | None:
    """The oldest turns that no summary covers, if they are enough for one; archived ones are passed over."""
    while True:
        state = Session.objects.in_scope(scope).filter(name=session).first()
        enough = settings.MEMOS_SUMMARY_REFRESH_MESSAGES if state and state.summarised_turn else 1
        if state is None or state.unsummarised < enough:
            return None
        rows = list(
            Memory.objects.in_scope(scope)
            .in_session(session)
            .filter(turn__gt=state.summarised_turn)
            .order_by("turn")
            .only("id", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state")[
                : settings.MEMOS_SUMMARY_BATCH_MESSAGES
            ]
        )
        active = [row for row in rows if row.state == MemoryState.ACTIVE]
        if active:
            break
        # Nothing of these turns may be told: they count as covered.
        Session.objects.in_scope(scope).filter(name=session, summarised_turn=state.summarised_turn).update(
            summarised_turn=rows[-1].turn if rows else state.message_count
        )
    previous = Condensation.objects.in_scope(scope).filter(session=session).order_by("-number").first()
    if previous and previous.covers_to_turn > state.summarised_turn:
        return None  # another run has stored a version between our reads
    turns = [Turn(str(row.pk), row.text, row.role, row.speaker, row.occurred_at) for row in active]
    return _Batch(turns, sum(row.tokens for row in active), state.summarised_turn, rows[-1].turn, previous)


def _write_card(batch: _Batch) -> tuple[dict[str, Any], str]:
    """The card and what wrote it: the language model when one is configured and answers well, else the extractor."""
    previous = card_with_sources(batch.previous) if batch.previous else None
    llm = configured_llm()
    if llm is not None:
        try:
            return llm.write_card(batch.turns, previous=previous), llm.name
        except LLMUnavailable as error:
            log.warning("the language model wrote no card", extra={"reason": error.message, "model": llm.name})
    return build_card(batch.turns, previous=previous), EXTRACTIVE


def _store(
    scope: Scope, session: str, batch: _Batch, card: Mapping[str, Any], method: str, *, now: datetime
) -> Condensation | None:
    """Keeps the version, unless another run has covered its turns, or they or the card before are gone meanwhile."""
    with transaction.atomic():
        state = Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
        sources = [turn.id for turn in batch.turns]
        present = Memory.objects.in_scope(scope).active().filter(pk__in=sources).count()
        if state is None or state.summarised_turn != batch.after_turn or present != len(sources):
            return None
        # An erasure takes cards away: what was rolled on from one of them must not bring it back.
        kept = batch.previous is None or Condensation.objects.in_scope(scope).filter(pk=batch.previous.pk).exists()
        if not kept:
            return None
        # Sources stay beside the card: an agent that is handed the card does not pay for ids.
        text = orjson.dumps({name: value for name, value in card.items() if name != "sources"}).decode()
        stored = Condensation.objects.create(
            namespace_id=scope.namespace_id,
            session=session,
            number=batch.previous.number + 1 if batch.previous else 1,
            trigger_reason=SummaryTrigger.NEW_MESSAGES if batch.previous else SummaryTrigger.BOOTSTRAP,
            trigger_details={
                "new_messages": len(batch.turns),
                "from_turn": batch.after_turn + 1,
                "to_turn": batch.last_turn,
            },
            source_memory_ids=sources,
            covers_to_turn=batch.last_turn,
            condensed_text=text,
            item_sources=card.get("sources", {}),
            method=method,
            token_original=batch.tokens + (batch.previous.token_original if batch.previous else 0),
            token_condensed=count_tokens(text, settings.MEMOS_TOKENIZER),
            tokenizer=settings.MEMOS_TOKENIZER,
            created_at=now,
        )
        goes_on = state.message_count - batch.last_turn >= settings.MEMOS_SUMMARY_REFRESH_MESSAGES
        Session.objects.in_scope(scope).filter(name=session).update(
            summarised_turn=batch.last_turn, summary_requested_at=now if goes_on else None
        )
        audit.record(
            scope,
            AuditEvent.CONDENSATION,
            session=session,
            subject=str(stored.pk),
            details={
                "number": stored.number,
                "method": method,
                "trigger_reason": stored.trigger_reason,
                "messages": len(batch.turns),
                "token_original": stored.token_original,
                "token_condensed": stored.token_condensed,
            },
            now=now,
        )
    return stored


def _expired(now: datetime) -> datetime:
    return now - timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS)
