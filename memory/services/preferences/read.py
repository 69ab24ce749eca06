"""Reads preferences in a session's new turns, by rules and, where the policy wants it, by a language model.

The turns stay what is true: a preference is a memory beside them, linked to those that it rests on. How far a session
was read stands in its row, changed in the transaction that stores what was read: a run that broke off is made again,
and one that is made twice stores nothing twice.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction

from memory.enums import GateDecision, MemoryState, PreferenceReading, Review, Role
from memory.gate.judge import judge
from memory.models import Memory, Session
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.providers.llm_preferences import find_preference_reader
from memory.services.facts.store import lock_as_read, take_quota, turn_of
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.jobs import queue
from memory.services.preferences import store
from memory.services.preferences.choices import READ, find_shown
from memory.services.preferences.due import reading_of
from memory.services.preferences.store import NewPreference
from memory.services.tenancy.policy import in_force
from memory.stores import model_calls
from memory.text.preferences import StatedPreference, check_preference, read_preferences
from memory.types import Scope

# Turns that one transaction takes in: of rules, and of those that a model reads at a time.
BATCH_TURNS, MODEL_TURNS = 200, 12


@dataclass(slots=True)
class PreferencesRead:
    """What came of a run: turns that were read; preferences that were stored, said again, or took an older's place."""

    turns: int = 0
    stored: int = 0
    merged: int = 0
    superseded: int = 0

    def __iadd__(self, other: PreferencesRead) -> PreferencesRead:
        self.turns += other.turns
        self.stored += other.stored
        self.merged += other.merged
        self.superseded += other.superseded
        return self


def read_session(scope: Scope, *, session: str, now: datetime) -> PreferencesRead:
    """Reads what is new in the session, batch by batch; nothing while the policy does not want it.

    Raises LLMUnavailable when a model is to read and does not answer: what was stored before stays.
    """
    done = PreferencesRead()
    deadline = time.monotonic() + settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    while (reading := reading_of(scope.namespace_id)) != PreferenceReading.OFF:
        read = _read_batch(scope, session, reading, now=now)
        if read is None:
            break
        done += read
        if time.monotonic() > deadline:
            queue.enqueue(queue.READ_PREFERENCES, scope.namespace_id, session)
            break
    return done


def read_namespace(scope: Scope, *, now: datetime) -> PreferencesRead:
    """Reads every session of a namespace that nobody else reads or writes."""
    done = PreferencesRead()
    sessions = Session.objects.in_scope(scope).order_by("first_message_at", "name")
    for name in sessions.values_list("name", flat=True):
        done += read_session(scope, session=name, now=now)
    return done


def _read_batch(scope: Scope, session: str, reading: PreferenceReading, *, now: datetime) -> PreferencesRead | None:
    """Reads the oldest turns that were not read yet; None when there are none, or when another run reads them."""
    state = Session.objects.in_scope(scope).filter(name=session).first()
    if state is None or state.message_count <= state.preference_turn:
        return None
    reader = find_preference_reader() if reading == PreferenceReading.MODEL else None
    rows = Memory.objects.in_scope(scope).in_session(session).filter(turn__gt=state.preference_turn).order_by("turn")
    new = list(rows.only(*READ)[: MODEL_TURNS if reader else BATCH_TURNS])
    last = new[-1].turn if new else state.message_count
    told = [row for row in new if _may_be_read(row)]
    found = [NewPreference(row, one) for row in told for one in read_preferences(row.text, spans_of(row.retired_spans))]
    if reader and told:
        turns = [turn_of(row) for row in told]
        answered = reader.read_preferences(turns)
        model_calls.note_answer(model_calls.LANGUAGE)
        found += _check(told, answered, found)
    shown, reversals = find_shown(scope, told)
    found = [one for one in [*found, *shown] if _let_in(scope, one)]
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
            # One of them was changed meanwhile: they are read anew.
            transaction.set_rollback(True)
            return PreferencesRead()
        stored = store.store_preferences(scope, session, found[:room], embedded, reversals=reversals, now=now)
        Session.objects.in_scope(scope).filter(name=session).update(preference_turn=last)
        if found or stored.superseded:
            store.record(scope, session, stored, turns=len(told), now=now)
    return PreferencesRead(len(told), len(stored.made), stored.merged, stored.superseded)


def _may_be_read(memory: Memory) -> bool:
    return (
        memory.role == Role.USER
        and memory.state == MemoryState.ACTIVE
        and memory.superseded_by is None
        and memory.review != Review.SUSPECTED
    )


def _check(told: Sequence[Memory], answered: Sequence[dict], found: Sequence[NewPreference]) -> list[NewPreference]:
    """Those of what a model answered that the turns say and that the rules have not read already."""
    known: set[tuple[uuid.UUID, frozenset[str]]] = {(one.turn.pk, one.stated.key) for one in found}
    turns = [turn_of(row) for row in told]
    checked: list[NewPreference] = []
    for raw in answered:
        read = check_preference(raw, turns)
        if read is None:
            continue
        place, stated = read
        if (told[place].pk, stated.key) not in known:
            known.add((told[place].pk, stated.key))
            checked.append(NewPreference(told[place], stated, by_model=True))
    return checked


def _let_in(scope: Scope, new: NewPreference) -> bool:
    """Whether the gate lets the preference in as it is."""
    verdict = judge(
        new.stated.text, role=new.turn.role, speaker=new.turn.speaker, policy=in_force(scope.namespace_id).gate
    )
    return _is_whole(new.stated) and verdict.decision == GateDecision.ACCEPT and not verdict.suspected


def _is_whole(stated: StatedPreference) -> bool:
    """Whether nothing was redacted in it."""
    return "[redacted" not in stated.text.lower()
