"""Builds the pages of Sessions: the list, one session closely, and the effects of its reset."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.errors import WindowUnavailable
from memory.models import Condensation, Memory, Namespace, Session
from memory.services.memories.retired import count_parts
from memory.services.recall.window import read_window
from memory.services.sessions import listing
from memory.services.sessions.listing import Cursor, SessionEntry
from memory.services.sessions.reset import Deleted
from memory.types import Access, WindowMessage
from ops.moments import read_moment
from ops.pages.condensations import Bucket, CardTokens, card_buckets, sources_of
from ops.pages.links import Staff, list_link, page_link, row_link
from ops.pages.pipeline import names_of
from ops.words import Words

PAGE = 50
TURNS = 50


@dataclass(frozen=True, slots=True)
class SessionRow:
    """Holds one session of the list. `tone` and `word`: what its summary covers."""

    listed: SessionEntry
    namespace: str
    tone: str
    word: str
    link: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """Holds a turn. `retired`: how many parts of it no longer hold."""

    memory: Memory
    link: str
    archived: bool
    retired: int


@dataclass(frozen=True, slots=True)
class LinkedNumber:
    """Holds a number and the link to its rows."""

    title: Words
    value: int
    note: str
    link: str


@dataclass(frozen=True, slots=True)
class Closely:
    """Holds one session. `window` is None when Redis does not answer."""

    session: Session
    figures: list[LinkedNumber]
    window: list[WindowMessage] | None
    window_tokens: int
    card: Condensation | None
    card_tokens: CardTokens | None
    buckets: list[Bucket]
    turns: list[TurnRow]
    older: int | None


@dataclass(frozen=True, slots=True)
class StoreCount:
    """Holds one store and how much a reset takes from it."""

    store: Words
    what: Words
    count: int


def list_sessions(access: Access, *, prefix: str, cursor: Cursor | None) -> tuple[list[SessionRow], Cursor | None]:
    """List one page of sessions, newest message first."""
    found, older = listing.list_sessions(access, prefix=prefix, cursor=cursor, limit=PAGE)
    names = names_of({row.namespace_id for row in found})
    return [_row(row, names[row.namespace_id]) for row in found], older


def _row(row: SessionEntry, namespace: str) -> SessionRow:
    tone, word = summary_state(row.summary, row.unsummarised, row.requested)
    return SessionRow(row, namespace, tone, word, page_link("ops:session", ns=namespace, session=row.name))


def summary_state(number: int, unsummarised: int, requested: bool) -> tuple[str, str]:
    """Return the tone and the words for a summary's coverage."""
    if requested:
        return "busy", _("Being made")
    if not number:
        return "off", _("None yet")
    if unsummarised <= 0:
        return "good", _("Covers all")
    behind = ngettext("%(count)s turn behind", "%(count)s turns behind", unsummarised)
    return "info", behind % {"count": f"{unsummarised:,}"}


def closely(namespace: Namespace, session: Session, user: Staff, *, before: int | None) -> Closely:
    """Build one session with its window, its newest card and a page of turns."""
    counts = listing.counts(namespace, session.name)
    rows, older = listing.turns(namespace, session.name, before=before, limit=TURNS)
    card = listing.latest_card(namespace, session.name)
    messages = _window(namespace, session.name)
    where = {"ns": namespace.name, "session": session.name}
    return Closely(
        session=session,
        figures=[
            LinkedNumber(_("Messages"), session.message_count, _describe_coverage(session), "#turns"),
            LinkedNumber(_("Tokens"), counts.tokens, _("of all turns"), ""),
            LinkedNumber(
                _("Summaries"), counts.summaries, _("versions"), page_link("ops:pipeline_condensations", **where)
            ),
            LinkedNumber(_("Packs"), counts.packs, _("handed over for questions"), page_link("ops:inspector", **where)),
            LinkedNumber(
                _("Quarantine"),
                counts.quarantined,
                _("waiting for a decision"),
                list_link(user, "quarantineditem", namespace.name, session=session.name, state__exact="pending"),
            ),
        ],
        window=messages,
        window_tokens=sum(message.tokens for message in messages or ()),
        card=card,
        card_tokens=CardTokens(card.token_original, card.token_condensed) if card else None,
        buckets=card_buckets(card, sources_of(card), user) if card else [],
        turns=[TurnRow(row, row_link(user, "memory", row.pk), row.state != "active", count_parts(row)) for row in rows],
        older=older,
    )


def _describe_coverage(session: Session) -> str:
    if not session.unsummarised:
        return _("all in the summary")
    return _("%(count)s not in the summary yet") % {"count": f"{session.unsummarised:,}"}


def _window(namespace: Namespace, session: str) -> list[WindowMessage] | None:
    try:
        return read_window(namespace.pk, session)
    except WindowUnavailable:
        return None


def window_size() -> int:
    """Return the number of messages in a window."""
    return int(settings.MEMOS_WINDOW_MESSAGES)


STORES: tuple[tuple[str, Words, Words], ...] = (
    ("redis_keys", gettext_lazy("Redis"), gettext_lazy("session window")),
    ("memories", gettext_lazy("Memories"), gettext_lazy("turns and chunks, with vectors, postings and entities")),
    ("documents", gettext_lazy("Documents"), gettext_lazy("given with this session")),
    ("condensations", gettext_lazy("Summaries"), gettext_lazy("every version")),
    ("context_packs", gettext_lazy("Packs"), gettext_lazy("with the questions they answered")),
    ("quarantined", gettext_lazy("Quarantine"), gettext_lazy("texts that wait for a decision")),
    ("audit", gettext_lazy("Audit events"), gettext_lazy("hidden from the session's listing, never deleted")),
)


def count_by_store(deleted: Deleted, *, audit: bool) -> list[StoreCount]:
    """List the rows that a reset deletes (or deleted) in every store; audit events only when they are hidden."""
    return [StoreCount(store, what, getattr(deleted, name)) for name, store, what in STORES if audit or name != "audit"]


def encode_cursor(cursor: Cursor | None) -> str:
    """Encode a place in the list for an address."""
    return f"{cursor[0].isoformat()}~{cursor[1]}~{cursor[2]}" if cursor else ""


def decode_cursor(text: str) -> Cursor | None:
    """Decode the place that an address names. Raises ValueError."""
    if not text:
        return None
    moment, namespace_id, name = text.split("~", 2)
    number = int(namespace_id)
    if not 0 <= number < 2**63:
        raise ValueError("There is no such namespace.")
    return read_moment(moment), number, name
