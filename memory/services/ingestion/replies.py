"""Remembers an agent's reply together with links to the memories that it quotes.

A reply is linked to each of them as a fact is to its turns: `memories.follow_sources` takes it out of search when one
of them no longer holds, and an erasure of one of them erases the reply.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from memory import audit
from memory.enums import AuditEvent, LinkKind, MemoryState
from memory.models import Memory, MemoryLink, Session
from memory.services.facts.store import TOGETHER
from memory.services.index.membership import take_out
from memory.services.jobs import queue
from memory.services.summaries import stale
from memory.services.tenancy import holds
from memory.text.verbatim import is_quoted
from memory.types import NewMemory, Outcome, Scope

# The actor of links between a reply and its sources.
ACTOR = "rule:quotes"
REASON = "The reply quotes it."
GONE = "What it quotes was deleted."


class SourceGone(Exception):
    """A memory that a reply quotes was erased before the reply was stored."""


@dataclass(frozen=True, slots=True)
class QuotingReply:
    """The reply, which is the last of `turns`, with the memories that it quotes: `sources`, and other turns that it
    repeats.

    Pass `lock_sources` to `ingest_batch` as `beside`, and `link` as `after`.
    """

    scope: Scope
    turns: Sequence[NewMemory]
    sources: Collection[uuid.UUID]
    now: datetime

    def lock_sources(self, outcomes: Sequence[Outcome]) -> None:
        """Lock the sources: a later erasure waits for the lock, and finds the links.

        The session is locked first, as in all code that locks memories as well; a new session is created for that,
        because otherwise concurrent first turns would wait for each other. Raises SourceGone when a source is gone, so
        that nothing is stored.
        """
        name = self.turns[-1].session
        if any(outcome.accepted for outcome in outcomes):
            self._make_session(name)
        Session.objects.in_scope(self.scope).filter(name=name).select_for_update().first()
        rows = Memory.objects.in_scope(self.scope).filter(pk__in=self.sources).order_by("pk")
        if len(rows.select_for_update(no_key=True, of=("self",)).values_list("pk")) < len(set(self.sources)):
            raise SourceGone

    def _make_session(self, name: str) -> None:
        """Create the session without turns, unless it exists; wait for a concurrent transaction that creates it."""
        own = Session(
            namespace_id=self.scope.namespace_id, name=name, first_message_at=self.now, last_message_at=self.now
        )
        Session.objects.bulk_create([own], ignore_conflicts=True)

    def link(self, outcomes: Sequence[Outcome]) -> None:
        """Link the reply, if it was let in, to the memories that it quotes."""
        reply = outcomes[-1].memory_id
        if reply is None or not outcomes[-1].accepted:
            return
        *asked, told = self.turns
        repeated = [
            outcome.memory_id
            for turn, outcome in zip(asked, outcomes, strict=False)
            if outcome.accepted and outcome.memory_id is not None and is_quoted(turn.text, told.text)
        ]
        link_reply(self.scope, reply, [*repeated, *self.sources], now=self.now)


def link_reply(scope: Scope, reply: uuid.UUID, sources: Collection[uuid.UUID], *, now: datetime) -> None:
    """Link a reply to the memories that it quotes, and have it follow any of them that no longer holds.

    No source supports the reply alone: it leaves search with the first of them. Inside the transaction that has locked
    them.
    """
    links = [
        MemoryLink(
            namespace_id=scope.namespace_id,
            memory_id=reply,
            kind=LinkKind.DERIVED_FROM,
            other_id=source,
            reason=REASON,
            confidence=TOGETHER,
            actor=ACTOR,
            created_at=now,
        )
        for source in sources
    ]
    MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    rows = Memory.objects.in_scope(scope).filter(pk__in=sources)
    gone = rows.filter(~Q(state=MemoryState.ACTIVE) | Q(superseded_by__isnull=False))
    for session in sorted(set(gone.values_list("session", flat=True))):
        queue.enqueue(queue.FOLLOW_SOURCES, scope.namespace_id, session)


def put_away_replies(scope: Scope, sources: QuerySet[Memory], *, now: datetime) -> int:
    """Archive the replies that quote memories about to be deleted; return how many.

    A reply under a legal hold stays, and so does a reply that is itself among the sources. In the caller's transaction.
    """
    links = MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.DERIVED_FROM, other_id__in=sources.values("pk"))
    quoting = Memory.objects.in_scope(scope).active().filter(metadata__has_key="answer")
    quoting = quoting.filter(pk__in=links.values("memory_id")).exclude(pk__in=sources.values("pk")).order_by("pk")
    replies = list(quoting.select_for_update(of=("self",)))
    held = set(holds.under_hold(scope.namespace_id, [reply.pk for reply in replies])) if replies else set()
    free = [reply for reply in replies if reply.pk not in held]
    if not free:
        return 0
    take_out(free)
    rows = Memory.objects.in_scope(scope).filter(pk__in=[reply.pk for reply in free])
    rows.update(state=MemoryState.ARCHIVED, revision=F("revision") + 1)
    details = {"reason": GONE, "before": {"state": MemoryState.ACTIVE}, "after": {"state": MemoryState.ARCHIVED}}
    audit.record_many(
        [
            audit.fields(
                scope, AuditEvent.MEMORY_ARCHIVE, session=reply.session, subject=str(reply.pk), details=details, now=now
            )
            for reply in free
        ]
    )
    stale.mark(free)
    return len(free)


def list_named(scope: Scope, metadata: Mapping[str, Any]) -> list[uuid.UUID]:
    """Return the memories of the namespace that a reply's own metadata names as its sources."""
    rows = Memory.objects.in_scope(scope).filter(pk__in=read_named(metadata))
    return list(rows.values_list("pk", flat=True))


def read_named(metadata: Mapping[str, Any]) -> list[uuid.UUID]:
    """Read the ids that a reply's metadata names; clients may have written anything there."""
    answer = metadata.get("answer")
    named = answer.get("memory_ids") if isinstance(answer, dict) else None
    found = []
    for one in named if isinstance(named, list) else ():
        with suppress(ValueError):
            found.append(uuid.UUID(str(one)))
    return found
