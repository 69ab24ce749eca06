"""Lists sessions for people: their length, the coverage of their summary, and the content of their window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from memory import audit
from memory.enums import AuditEvent
from memory.kinds import SESSION_PREFIX
from memory.models import Condensation, ContextPack, Memory, Namespace, QuarantinedItem, Session
from memory.models.paging import page_of
from memory.services.recall.window import read_window
from memory.types import Access, Scope, WindowMessage

# A position in the list: the last message's time, the namespace's id and the name.
Cursor = tuple[datetime, int, str]


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session in the list. `summary`: the newest version's number (0: none); `requested`: one is being made."""

    namespace_id: int
    name: str
    messages: int
    tokens: int
    last_message_at: datetime
    unsummarised: int
    summary: int
    requested: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows that belong to one session besides its turns."""

    tokens: int
    summaries: int
    packs: int
    quarantined: int


def list_sessions(
    access: Access, *, prefix: str = "", cursor: Cursor | None = None, limit: int = 50
) -> tuple[list[SessionEntry], Cursor | None]:
    """Return the sessions whose names begin with `prefix`, newest message first, and the next page's cursor."""
    rows = Session.objects.reachable_by(access)
    if prefix:
        rows = rows.filter(name__startswith=prefix)
    if cursor is not None:
        at, namespace_id, name = cursor
        after = Q(namespace_id__gt=namespace_id) | Q(namespace_id=namespace_id, name__gt=name)
        rows = rows.filter(Q(last_message_at__lt=at) | Q(last_message_at=at) & after)
    described: QuerySet[Any] = rows.annotate(tokens=_sum_tokens(), summary=_find_summary())
    shown, following = page_of(described.order_by("-last_message_at", "namespace_id", "name"), limit)
    found = [
        SessionEntry(
            row.namespace_id,
            row.name,
            row.message_count,
            row.tokens,
            row.last_message_at,
            row.unsummarised,
            row.summary,
            row.summary_requested_at is not None,
        )
        for row in shown
    ]
    last = shown[-1] if following else None
    return found, (last.last_message_at, last.namespace_id, last.name) if last else None


def biggest(namespace: Namespace, *, limit: int) -> list[Session]:
    """Return the longest sessions of a namespace."""
    rows = Session.objects.filter(namespace=namespace, message_count__gt=0)
    return list(rows.order_by("-message_count", "name")[:limit])


def turns(namespace: Namespace, session: str, *, before: int | None, limit: int) -> tuple[list[Memory], int | None]:
    """Return the newest turns (before turn `before`), newest first, and where the next page begins."""
    rows = Memory.objects.filter(namespace=namespace, session=session)
    if not session.startswith(SESSION_PREFIX):
        # Facts are not turns.
        rows = rows.filter(turn__gt=0)
    if before is not None:
        rows = rows.filter(turn__lt=before)
    page, following = page_of(rows.order_by("-turn").defer("terms", "content_hash", "metadata"), limit)
    return page, page[-1].turn if following else None


def latest_card(namespace: Namespace, session: str) -> Condensation | None:
    """Return the newest version of the session's summary."""
    return Condensation.objects.filter(namespace=namespace, session=session).order_by("-number").first()


def counts(namespace: Namespace, session: str) -> Counts:
    """Count the rows of the session in each table."""
    turns = Memory.objects.filter(namespace=namespace, session=session, turn__gt=0)
    own = {"namespace": namespace, "session": session}
    return Counts(
        turns.aggregate(tokens=Sum("tokens", default=0))["tokens"],
        Condensation.objects.filter(**own).count(),
        ContextPack.objects.filter(**own).count(),
        QuarantinedItem.objects.filter(**own).pending().count(),
    )


def note_viewed(scope: Scope, *, session: str, what: str, now: datetime) -> None:
    """Record that a person opened a session's texts. `what`: which ones (turns, summaries)."""
    audit.record(scope, AuditEvent.SESSION_VIEW, session=session, details={"what": what}, now=now)


def _sum_tokens() -> Coalesce:
    turns = Memory.objects.filter(namespace_id=OuterRef("namespace_id"), session=OuterRef("name"), turn__gt=0)
    sums = turns.order_by().values("session").annotate(sum=Sum("tokens"))
    return Coalesce(Subquery(sums.values("sum")), 0)


def _find_summary() -> Coalesce:
    versions = Condensation.objects.filter(namespace_id=OuterRef("namespace_id"), session=OuterRef("name"))
    return Coalesce(Subquery(versions.order_by("-number").values("number")[:1]), 0)


def window_of(namespace_id: int, session: str) -> list[WindowMessage]:
    """Return the messages in a session's window, oldest first. Raises WindowUnavailable."""
    return read_window(namespace_id, session)
