"""Restores summaries of sessions from a cube's file, in every version. Inside the caller's transaction."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest, Least

from memory.enums import Role
from memory.gate.fields import judge_fields
from memory.gate.judge import judge
from memory.gate.policy import GatePolicy
from memory.models import Condensation, Memory, Session
from memory.services.tenancy.policy import in_force
from memory.types import Scope


def take_over_summaries(scope: Scope, summaries: Sequence[tuple[Condensation, int]]) -> tuple[int, int, int]:
    """Store summaries, each given with the number of turns that it covered at its origin; return how many are new, how
    many exist, and how many are left out.

    Summaries are left out if their session has its own summaries or not the same turns here (because some were erased,
    refused or renumbered), and if the gate would change them. These sessions are summarised again from their turns.
    """
    rows = Condensation.objects.in_scope(scope).filter(session__in={one.session for one, _ in summaries})
    known = {(session, number): pk for session, number, pk in rows.values_list("session", "number", "pk")}
    present = sum(known.get((one.session, one.number)) == one.pk for one, _ in summaries)
    kept = [
        one for one, turns in summaries if (one.session, one.number) not in known and _may_be_kept(scope, one, turns)
    ]
    Condensation.objects.bulk_create(kept, ignore_conflicts=True)
    for one in kept:
        Session.objects.in_scope(scope).filter(name=one.session).update(
            summarised_turn=Greatest(F("summarised_turn"), Least(one.covers_to_turn, F("message_count")))
        )
    return len(kept), present, len(summaries) - len(kept) - present


def _may_be_kept(scope: Scope, summary: Condensation, turns: int) -> bool:
    sources = {*summary.source_memory_ids, *list_sources(summary.item_sources)}
    rows = Memory.objects.in_scope(scope).in_session(summary.session)
    covered = rows.filter(turn__gt=0, turn__lte=summary.covers_to_turn)
    if covered.count() != turns or covered.filter(pk__in=sources).count() != len(sources):
        return False
    gate = _gate_of(scope)
    told = {"trigger_details": summary.trigger_details, "method": summary.method, "tokenizer": summary.tokenizer}
    fields = judge_fields(told, policy=gate)
    judgement = judge(summary.condensed_text, role=Role.SYSTEM, policy=gate)
    as_it_is = judgement.text == summary.condensed_text and dict(fields.values) == told
    return judgement.decision.lets_in and fields.decision.lets_in and as_it_is


def list_sources(item_sources: Mapping[str, Any]) -> set[uuid.UUID]:
    """Return the memories behind the items of a card."""
    return {uuid.UUID(identity) for bucket in item_sources.values() for items in bucket for identity in items}


def _gate_of(scope: Scope) -> GatePolicy:
    """Return the gate's policy for cards, which, like documents, were judged worth keeping when they were made."""
    return replace(in_force(scope.namespace_id).gate, worth_threshold=0.0)
