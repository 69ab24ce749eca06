"""Reads preferences in a session's new turns, by rules and, if the policy wants it, by a language model.

The turns remain the truth: a preference is a separate memory, linked to the turns that it rests on. The session's row
records how far it was read, in the transaction that stores the preferences: an interrupted run is repeated, and a
repeated run stores nothing twice.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import metrics
from memory.enums import FactRefusal, GateDecision, MemoryState, PreferenceReading, Review, Role
from memory.errors import LLMUnavailable
from memory.gate.judge import judge
from memory.models import Memory, Session
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.providers.llm_preferences import LLMPreferenceReader, find_preference_reader
from memory.services.facts.store import lock_as_read, take_quota
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.jobs import queue
from memory.services.preferences import store
from memory.services.preferences.choices import READ, find_shown
from memory.services.preferences.due import reading_of
from memory.services.preferences.model import read_by_model, without_known
from memory.services.preferences.store import NewPreference
from memory.services.tenancy.policy import in_force
from memory.text.preferences import StatedPreference, read_preferences
from memory.types import Scope

# The number of turns per transaction: read by rules, and read by a model.
BATCH_TURNS, MODEL_TURNS = 200, 12


@dataclass(slots=True)
class PreferencesRead:
    """The result of a run: turns read; preferences stored, repeated (`merged`), or superseded by a newer one.

    `refused`: answers of a language model that the turns do not support, by reason; `unanswered`: turns that only rules
    read because the model's answer was useless.
    """

    turns: int = 0
    stored: int = 0
    merged: int = 0
    superseded: int = 0
    refused: Counter[FactRefusal] = field(default_factory=Counter)
    unanswered: int = 0

    def __iadd__(self, other: PreferencesRead) -> PreferencesRead:
        self.turns += other.turns
        self.stored += other.stored
        self.merged += other.merged
        self.superseded += other.superseded
        self.refused += other.refused
        self.unanswered += other.unanswered
        return self


def read_session(scope: Scope, *, session: str, now: datetime) -> PreferencesRead:
    """Read the session's new turns, batch by batch; nothing while the policy does not want it.

    Raises LLMUnavailable when a model is to read and does not answer: the results of rules in the next turns are stored
    anyway, and the model reads them when the job is repeated. Useless answers are counted.
    """
    done = PreferencesRead()
    deadline = time.monotonic() + settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    while (reading := reading_of(scope.namespace_id)) != PreferenceReading.OFF:
        reader = find_preference_reader() if reading == PreferenceReading.MODEL else None
        try:
            read = _read_batch(scope, session, reader, now=now)
        except LLMUnavailable:
            _read_batch(scope, session, None, goes_on=False, now=now)
            raise
        if read is None:
            break
        done += read
        if time.monotonic() > deadline:
            queue.enqueue(queue.READ_PREFERENCES, scope.namespace_id, session)
            break
    return done


def read_namespace(scope: Scope, *, now: datetime) -> PreferencesRead:
    """Read every session of a namespace that no other process reads or writes."""
    done = PreferencesRead()
    sessions = Session.objects.in_scope(scope).order_by("first_message_at", "name")
    for name in sessions.values_list("name", flat=True):
        done += read_session(scope, session=name, now=now)
    return done


def _read_batch(
    scope: Scope, session: str, reader: LLMPreferenceReader | None, *, goes_on: bool = True, now: datetime
) -> PreferencesRead | None:
    """Read the oldest unread turns; return None when there are none, or when another run reads them.

    `goes_on`: whether they count as read afterwards.
    """
    state = Session.objects.in_scope(scope).filter(name=session).first()
    if state is None or state.message_count <= state.preference_turn:
        return None
    rows = Memory.objects.in_scope(scope).in_session(session).filter(turn__gt=state.preference_turn).order_by("turn")
    new = list(rows.only(*READ)[: MODEL_TURNS if reader else BATCH_TURNS])
    last = new[-1].turn if new else state.message_count
    told = [row for row in new if _may_be_read(row)]
    found = [NewPreference(row, one) for row in told for one in read_preferences(row.text, spans_of(row.retired_spans))]
    by_model = read_by_model(scope, reader, told) if reader and told else None
    shown, reversals = find_shown(scope, told, by_model.choices if by_model else ())
    refused: Counter[FactRefusal] = Counter()
    if by_model:
        found += without_known(by_model.stated, found)
        refused += by_model.refused
    let_in = [one for one in [*found, *shown] if _let_in(scope, one)]
    refused[FactRefusal.GATE] += sum(one.by_model for one in [*found, *shown]) - sum(one.by_model for one in let_in)
    found = let_in
    embedded = embed_or_none([passages_to_embed(one.stated.text, one.turn.speaker) for one in found]) if found else None
    with transaction.atomic():
        room = take_quota(scope, len(found), now=now)
        lock_in_transaction(Lock.PREFERENCES, scope.namespace_id)
        row = Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
        rests_on = [turn for one in found for turn in one.turns] + [one.turn for one in reversals]
        read = {turn.pk: (bytes(turn.content_hash), turn.retired_spans) for turn in rests_on}
        if row is None or row.preference_turn != state.preference_turn:
            transaction.set_rollback(True)
            return None
        if not lock_as_read(scope, read):
            # One of them was changed meanwhile: read them again.
            transaction.set_rollback(True)
            return PreferencesRead()
        stored = store.store_preferences(scope, session, found[:room], embedded, reversals=reversals, now=now)
        if goes_on:
            Session.objects.in_scope(scope).filter(name=session).update(preference_turn=last)
        refused[FactRefusal.CONTRARY] += stored.contrary
        refused[FactRefusal.QUOTA] += sum(one.by_model for one in found[room:])
        done = PreferencesRead(len(told), len(stored.made), stored.merged, stored.superseded, +refused)
        if by_model and not by_model.answered:
            done.unanswered = len(told)
        if found or stored.superseded or done.refused or done.unanswered:
            store.record(scope, session, stored, _describe(done, reader), now=now)
    if by_model:
        taken = sum(one.by_model for one in found[:room]) - stored.contrary
        metrics.count_preferences(taken=taken, refused=done.refused, unanswered=done.unanswered)
    return done


def _describe(done: PreferencesRead, reader: LLMPreferenceReader | None) -> dict[str, Any]:
    """Return the figures of a batch for the audit log."""
    figures: dict[str, Any] = {"turns": done.turns}
    if reader is not None:
        refused = {str(reason): count for reason, count in sorted(done.refused.items())}
        figures |= {"model": reader.name, "refused": refused, "unanswered": done.unanswered}
    return figures


def _may_be_read(memory: Memory) -> bool:
    return (
        memory.role == Role.USER
        and memory.state == MemoryState.ACTIVE
        and memory.superseded_by is None
        and memory.review != Review.SUSPECTED
    )


def _let_in(scope: Scope, new: NewPreference) -> bool:
    """Return whether the gate lets the preference in unchanged."""
    verdict = judge(
        new.stated.text, role=new.turn.role, speaker=new.turn.speaker, policy=in_force(scope.namespace_id).gate
    )
    return _is_whole(new.stated) and verdict.decision == GateDecision.ACCEPT and not verdict.suspected


def _is_whole(stated: StatedPreference) -> bool:
    """Return whether nothing was redacted in the preference."""
    return "[redacted" not in stated.text.lower()
