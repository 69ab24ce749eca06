"""Makes the summaries of sessions, with a language model if one is configured."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import datetime

import orjson
from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, MemoryState, ModelPurpose, Review, SummaryTrigger
from memory.models import Condensation, Memory, Session
from memory.models.condensation import SUMMARY_VERSION
from memory.services.jobs import queue
from memory.services.summaries.refresh import Refresh, refresh_of
from memory.services.summaries.writer import Written, card_with_sources, turn_of, write_card
from memory.services.tenancy.policy import in_force
from memory.text.statements import Turn
from memory.text.tokens import count_tokens
from memory.types import Scope

_READ = (
    "id", "namespace", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state", "superseded_by",
    "retired_spans", "content_hash", "review",
)  # fmt: skip
# Entries in a summary's details: who made it, and whether it continues an earlier card.
TRIGGER_SOURCE = "worker"
ROLLED_ON, FROM_THE_START = "rolling_summary", "first_summary"


@dataclass(frozen=True, slots=True)
class _Batch:
    """New turns of a session, in order, the summary that they follow, and the reason to summarise them now.

    `read`: the content hash and retired spans of each memory as it was read.
    """

    turns: list[Turn]
    read: dict[uuid.UUID, tuple[bytes, list[int]]]
    tokens: int
    after_turn: int
    last_turn: int
    previous: Condensation | None
    reason: SummaryTrigger


def condense_session(
    scope: Scope, *, session: str, now: datetime, refresh: Refresh | None = None
) -> list[Condensation]:
    """Bring a session's summary up to date, at most MEMOS_SUMMARY_BATCH_MESSAGES turns a version; return the new
    versions.

    New messages that arrive meanwhile are included when there are enough for a refresh. Idempotent: without new
    messages nothing changes, and of two concurrent runs only one stores each version.
    """
    refresh = refresh or refresh_of(scope.namespace_id)
    made: list[Condensation] = []
    # Use half the job's time: the other half is for a batch that is begun just before.
    deadline = time.monotonic() + settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    while batch := _next_batch(scope, session, refresh, now=now):
        stored = _store(scope, session, batch, _write_card(scope, batch), refresh, now=now)
        if stored is None:
            break
        made.append(stored)
        if time.monotonic() > deadline:
            queue.enqueue(queue.CONDENSE, scope.namespace_id, session)
            return made
    # Clear the request that led here; a later request stays.
    Session.objects.in_scope(scope).filter(name=session, summary_requested_at__lte=now).update(
        summary_requested_at=None
    )
    return made


def _next_batch(scope: Scope, session: str, refresh: Refresh, *, now: datetime) -> _Batch | None:
    """Return the oldest turns that no summary covers, with their remaining text; None unless a summary is due.

    Archived and superseded turns are skipped.
    """
    while True:
        state = Session.objects.in_scope(scope).filter(name=session).with_new_tokens().first()
        reason = refresh.reason(state, new_tokens=state.new_tokens or 0, now=now) if state else None
        if state is None or reason is None:
            return None
        rows = list(
            Memory.objects.in_scope(scope)
            .in_session(session)
            .filter(turn__gt=state.summarised_turn)
            .order_by("turn")
            .only(*_READ)[: settings.MEMOS_SUMMARY_BATCH_MESSAGES]
        )
        # A card is read as true, so nothing suspected may be included.
        active = [row for row in rows if _may_be_told(row)]
        if active:
            break
        # None of these turns may be included: they count as covered.
        Session.objects.in_scope(scope).filter(name=session, summarised_turn=state.summarised_turn).update(
            summarised_turn=rows[-1].turn if rows else state.message_count
        )
    previous = Condensation.objects.in_scope(scope).filter(session=session).order_by("-number").first()
    if previous and previous.covers_to_turn > state.summarised_turn:
        return None  # another run has stored a version between our reads
    turns = [turn_of(row) for row in active]
    tokens = sum(row.tokens for row in active)
    reason = reason if previous else SummaryTrigger.BOOTSTRAP
    read = {row.pk: (bytes(row.content_hash), row.retired_spans) for row in active}
    return _Batch(turns, read, tokens, state.summarised_turn, rows[-1].turn, previous, reason)


def _may_be_told(memory: Memory) -> bool:
    return memory.state == MemoryState.ACTIVE and memory.superseded_by is None and memory.review != Review.SUSPECTED


def _write_card(scope: Scope, batch: _Batch) -> Written:
    previous = card_with_sources(batch.previous) if batch.previous else None
    model = in_force(scope.namespace_id).policy.models[ModelPurpose.SUMMARISE]
    return write_card(batch.turns, previous=previous, model=model)


def _store(
    scope: Scope, session: str, batch: _Batch, written: Written, refresh: Refresh, *, now: datetime
) -> Condensation | None:
    """Store the version, unless another run has covered its turns, or the turns or the previous card changed
    meanwhile."""
    with transaction.atomic():
        state = Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
        sources = [turn.id for turn in batch.turns]
        rows = Memory.objects.in_scope(scope).active().filter(pk__in=sources, superseded_by=None)
        present = {
            pk: (bytes(said), gone) for pk, said, gone in rows.values_list("pk", "content_hash", "retired_spans")
        }
        if state is None or state.summarised_turn != batch.after_turn or present != batch.read:
            return None
        # An erasure deletes cards, and a stale card is made again: a card based on the former one must not bring its
        # content back.
        newest = Condensation.objects.in_scope(scope).filter(session=session).order_by("-number").first()
        if newest != batch.previous:
            return None
        # Sources are stored apart from the card, so that an agent that gets the card does not pay for ids.
        text = orjson.dumps({name: value for name, value in written.card.items() if name != "sources"}).decode()
        stored = Condensation.objects.create(
            namespace_id=scope.namespace_id,
            session=session,
            number=batch.previous.number + 1 if batch.previous else 1,
            trigger_reason=batch.reason,
            trigger_details={
                "source": TRIGGER_SOURCE,
                "strategy": ROLLED_ON if batch.previous else FROM_THE_START,
                "schema": SUMMARY_VERSION,
                "new_memory_ids": sources,
                "new_message_count": len(batch.turns),
                "from_turn": batch.after_turn + 1,
                "to_turn": batch.last_turn,
                **written.details,
            },
            source_memory_ids=sources,
            covers_to_turn=batch.last_turn,
            condensed_text=text,
            item_sources=written.card.get("sources", {}),
            method=written.method,
            token_original=batch.tokens + (batch.previous.token_original if batch.previous else 0),
            token_condensed=count_tokens(text, settings.MEMOS_TOKENIZER),
            tokenizer=settings.MEMOS_TOKENIZER,
            created_at=now,
        )
        goes_on = state.message_count - batch.last_turn >= refresh.messages
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
                "method": written.method,
                "trigger_reason": stored.trigger_reason,
                "messages": len(batch.turns),
                "token_original": stored.token_original,
                "token_condensed": stored.token_condensed,
            },
            now=now,
        )
    return stored
