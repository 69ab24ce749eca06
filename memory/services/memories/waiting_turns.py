"""Tracks the turns that settling has not compared yet: how far each session is, and the turns that arrived while a
policy had settling turned off, which are compared once it is on again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, OuterRef, Subquery, Window
from django.db.models.functions import Coalesce, Least, RowNumber

from memory.models import Memory, Session
from memory.models.queries import memories as queries
from memory.models.session import SessionQuerySet
from memory.services.memories.retire import ACTOR
from memory.services.tenancy.policy import in_force
from memory.types import Scope

# The number of sessions that are listed at a time: new arrivals wait no longer than these take.
_LISTED = 50


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A session with turns that were not compared: those after `settled_turn`, up to `message_count`.

    `since`: when the first of them arrived; None when all of them are gone.
    """

    scope: Scope
    session: str
    settled_turn: int
    message_count: int
    since: datetime | None = None


def list_waiting(namespace_id: int | None = None, *, without: Collection[int] = ()) -> list[WaitingSession]:
    """Return the first _LISTED sessions with waiting turns, in the namespace or in all namespaces but those in
    `without`.

    The first session of each namespace comes first, then the second of each, in the order in which their first waiting
    turns arrived: a namespace with thousands of sessions does not delay the others, and an active session does not fall
    behind ended ones.
    """
    first = Memory.objects.across_namespaces().filter(
        namespace_id=OuterRef("namespace_id"), session=OuterRef("name"), turn__gt=OuterRef("settled_turn")
    )
    in_order = (F("since").asc(nulls_first=True), "name")
    place = Window(RowNumber(), partition_by=[F("namespace_id")], order_by=in_order)
    waiting = _sessions(namespace_id).filter(message_count__gt=F("settled_turn"))
    if without:
        waiting = waiting.exclude(namespace_id__in=without)
    waiting = waiting.annotate(since=Subquery(first.order_by("turn").values("created_at")[:1]), place=place).order_by(
        "place", *in_order
    )
    columns = ("namespace_id", "namespace__name", "name", "settled_turn", "message_count", "since")
    return [WaitingSession(Scope(row[0], row[1], ACTOR), *row[2:]) for row in waiting.values_list(*columns)[:_LISTED]]


def is_current(waiting: WaitingSession) -> bool:
    """Return whether no other run has compared turns of the session since it was listed."""
    sessions = Session.objects.in_scope(waiting.scope).filter(name=waiting.session, settled_turn=waiting.settled_turn)
    return sessions.exists()


def mark_settled(waiting: WaitingSession, *, turn: int) -> None:
    """Record that the session was compared up to this turn. One that was emptied meanwhile begins at turn 1 again."""
    session = Session.objects.in_scope(waiting.scope).filter(name=waiting.session, settled_turn=waiting.settled_turn)
    session.update(settled_turn=Least(turn, F("message_count")))


def skip(waiting: WaitingSession) -> None:
    """Record that the waiting turns are skipped because the policy has settling turned off; the first record stays."""
    session = Session.objects.in_scope(waiting.scope).filter(name=waiting.session)
    session.update(skipped_turn=Coalesce("skipped_turn", waiting.settled_turn))


def take_up_skipped(namespace_id: int | None = None) -> None:
    """Reset sessions to where settling was turned off, in the namespace, or in all namespaces in which it is on
    again."""
    skipped = _sessions(namespace_id).filter(skipped_turn__isnull=False).order_by()
    for found_id in sorted(skipped.values_list("namespace_id", flat=True).distinct()):
        if in_force(found_id).policy.settle_conflicts:
            queries.take_up_skipped(found_id)


def _sessions(namespace_id: int | None) -> SessionQuerySet:
    if namespace_id is None:
        return Session.objects.across_namespaces()
    return Session.objects.filter(namespace_id=namespace_id)
