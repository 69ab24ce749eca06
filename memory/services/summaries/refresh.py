"""Decides when a session's summary is due again, and requests it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from memory.enums import SummaryTrigger
from memory.governance.policy import Policy
from memory.models import NamespacePolicy, Session
from memory.models.queries.memories import claim_summaries
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class Refresh:
    """The limits after which a summary is due again: the number of new messages, their tokens, and the idle time after
    which any new message of a session with a summary counts (None: never)."""

    messages: int
    tokens: int
    idle: timedelta | None

    def reason(self, session: Session, *, new_tokens: int, now: datetime) -> SummaryTrigger | None:
        """Return why a summary of `session` is due; None while it is not. A first summary is due with the first
        message.

        `new_tokens`: the tokens of the messages that the summary does not cover.
        """
        if session.unsummarised < 1:
            return None
        if not session.summarised_turn:
            return SummaryTrigger.BOOTSTRAP
        if session.unsummarised >= self.messages:
            return SummaryTrigger.NEW_MESSAGES
        if new_tokens >= self.tokens:
            return SummaryTrigger.NEW_TOKENS
        if self.idle is not None and session.last_message_at < now - self.idle:
            return SummaryTrigger.IDLE
        return None

    def due(self, now: datetime) -> Q:
        """Return the condition that a session `with_new_tokens` is due; one without a summary needs as many
        messages."""
        due = Q(message_count__gte=F("summarised_turn") + self.messages) | Q(new_tokens__gte=self.tokens)
        if self.idle is not None:
            due |= Q(summarised_turn__gt=0, last_message_at__lt=now - self.idle)
        return Q(message_count__gt=F("summarised_turn")) & due


def read_refresh_settings() -> Refresh:
    """Return the limits of MEMOS_POLICY, for namespaces that have no policy."""
    return _refresh_by(Policy.of(settings.MEMOS_POLICY))


def refresh_of(namespace_id: int) -> Refresh:
    """Return the limits of the namespace's policy."""
    return _refresh_by(in_force(namespace_id).policy)


def _refresh_by(policy: Policy) -> Refresh:
    idle = policy.summary_idle_seconds
    return Refresh(policy.summary_messages, policy.summary_tokens, timedelta(seconds=idle) if idle else None)


def request_if_due(
    scope: Scope, *, session: str, has_summary: bool, now: datetime, refresh: Refresh | None = None
) -> bool:
    """Queue a summary when the session has none yet, or when it is due again; to be called in a transaction.

    Returns whether it was queued. The claim is one conditional UPDATE of the session's row, so only one of many
    concurrent callers queues. A claim without a result expires after MEMOS_SUMMARY_LOCK_SECONDS.
    """
    sessions = Session.objects.in_scope(scope).filter(name=session)
    if has_summary:
        sessions = sessions.with_new_tokens().filter((refresh or refresh_of(scope.namespace_id)).due(now))
    else:
        sessions = sessions.filter(message_count__gt=F("summarised_turn"))
    claimed = sessions.filter(_is_unclaimed(now)).update(summary_requested_at=now)
    if claimed:
        queue.enqueue(queue.CONDENSE, scope.namespace_id, session)
    return bool(claimed)


def request_each(namespace_id: int, sessions: Collection[str], *, now: datetime) -> None:
    """Queue the summaries of those of several sessions that have enough new messages. See `request_if_due`."""
    claimed = claim_summaries(
        namespace_id,
        sessions,
        messages=refresh_of(namespace_id).messages,
        claimed_before=_earliest_claim(now),
        now=now,
    )
    if claimed:
        queue.enqueue_each(queue.CONDENSE, [(namespace_id, name) for name in sorted(claimed)])


def request_overdue(*, now: datetime, limit: int = 500, refresh: Refresh | None = None) -> int:
    """Queue the summaries of sessions that are due and have waited longer than a job takes; return how many.

    It finds sessions that have gone quiet, and sessions whose job was lost or given up.
    """
    sessions = Session.objects.across_namespaces().with_new_tokens()
    sessions = sessions.filter(_is_unclaimed(now), last_message_at__lt=_earliest_claim(now))
    own = set(NamespacePolicy.objects.across_namespaces().values_list("namespace_id", flat=True))
    works = [(sessions.exclude(namespace_id__in=own), refresh or read_refresh_settings())]
    works += [(sessions.filter(namespace_id=one), refresh or refresh_of(one)) for one in sorted(own)]
    return sum(_request(waiting.filter(due.due(now)), due, now=now, limit=limit) for waiting, due in works)


def _request(overdue: QuerySet[Session], due: Refresh, *, now: datetime, limit: int) -> int:
    columns = ("namespace_id", "namespace__name", "name")
    queued = 0
    for namespace_id, namespace, session in list(overdue.order_by("last_message_at").values_list(*columns)[:limit]):
        scope = Scope(namespace_id, namespace, "worker")
        with transaction.atomic():
            queued += request_if_due(scope, session=session, has_summary=True, now=now, refresh=due)
    return queued


def _is_unclaimed(now: datetime) -> Q:
    return Q(summary_requested_at=None) | Q(summary_requested_at__lt=_earliest_claim(now))


def _earliest_claim(now: datetime) -> datetime:
    return now - timedelta(seconds=settings.MEMOS_SUMMARY_LOCK_SECONDS)
