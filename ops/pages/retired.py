"""Builds Retired and its part of the Overview: pairs of retired statements and the newer ones that replace them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from memory.services.memories import retired
from memory.services.memories.retired import COUNTED_AT_MOST, RECENT, Cursor, Pair
from memory.types import Access
from ops.moments import read_moment
from ops.pages.links import Staff, page_link, row_link

PAGE = 25
ON_OVERVIEW = 3


@dataclass(frozen=True, slots=True)
class RetiredPair:
    """A pair. `key` identifies it in a form. The words are memory text, which the template masks."""

    key: str
    namespace: str
    old_words: str
    new_words: str
    old_link: str
    new_link: str
    gone: bool
    whole: bool
    reason: str
    explanation: str
    confidence: float
    speaker: str
    session: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Recent:
    """The part on the Overview: the number of pairs of the last days, and the newest of them."""

    count: str
    many: int
    rows: list[RetiredPair]
    link: str


def recent(access: Access, user: Staff, *, ns: str, now: datetime) -> Recent | None:
    """Return the pairs of the last days, or None if there are none."""
    since = now - RECENT
    pairs, _following = retired.recent(access, since=since, limit=ON_OVERVIEW)
    if not pairs:
        return None
    many = retired.count_recent(access, since=since)
    count = f"{COUNTED_AT_MOST:,}+" if many > COUNTED_AT_MOST else f"{many:,}"
    return Recent(count, many, [row(pair, user) for pair in pairs], page_link("ops:retired", ns=ns))


def list_pairs(access: Access, user: Staff, *, since: datetime, cursor: Cursor | None) -> tuple[list[RetiredPair], str]:
    """Return a page of the pairs since then, newest first, and the cursor of the next page."""
    pairs, following = retired.recent(access, since=since, cursor=cursor, limit=PAGE)
    return [row(pair, user) for pair in pairs], f"{following[0].isoformat()}~{following[1]}" if following else ""


def row(pair: Pair, user: Staff) -> RetiredPair:
    """Return a pair as it is shown."""
    return RetiredPair(
        key=key_of(pair.memory.pk, None if pair.whole else pair.start),
        namespace=pair.memory.namespace.name,
        old_words=pair.old_words,
        new_words=pair.new_words,
        old_link=row_link(user, "memory", pair.memory.pk),
        new_link=row_link(user, "memory", pair.newer_id) if pair.newer else "",
        gone=pair.newer is None,
        whole=pair.whole,
        reason=_(pair.reason),
        explanation=pair.explanation,
        confidence=pair.confidence,
        speaker=pair.memory.speaker or pair.memory.role,
        session=pair.memory.session,
        at=pair.at,
    )


def key_of(memory_id: uuid.UUID, start: int | None) -> str:
    """Return the key in forms for the part of a memory that begins at `start`, or for the whole memory."""
    return str(memory_id) if start is None else f"{memory_id}~{start}"


def read_key(text: str) -> tuple[uuid.UUID, int | None]:
    """Parse a key made by `key_of`. Raises ValueError."""
    identity, parted, start = text.partition("~")
    if parted and not (start.isdecimal() and len(start) <= 6):
        raise ValueError("No such part.")
    return uuid.UUID(identity), int(start) if parted else None


def read_cursor(text: str) -> Cursor | None:
    """Parse the cursor in an address. Raises ValueError."""
    if not text:
        return None
    moment, identity = text.split("~", 1)
    return read_moment(moment), uuid.UUID(identity)
