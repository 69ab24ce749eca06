"""Defines the common result of the readers: conversations with turns, each with a key that identifies it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memory.errors import InvalidInput
from memory.kinds import SESSION_PREFIX
from memory.text.clock_times import read_clock
from memory.text.pieces import MAX_TEXT_CHARS, METADATA_KEY, cut
from memory.text.transcripts import TranscriptFault, UnreadableTurn, check_metadata
from memory.types import NewMemory

MAX_TITLE_CHARS = 200
# Longer ids are hashed: the key of each message contains its conversation's id, and that of each piece the whole key.
MAX_ID_CHARS = 200
_MAX_KEY_CHARS = 100_000
# A text that is its own key has at most this many pieces, because all but the last have at least half the length of a
# memory. With more pieces the key is an id, and shorter.
_FEW_PIECES = 2 * _MAX_KEY_CHARS // MAX_TEXT_CHARS
_MAX_CHARS_OF_MANY = 1_000
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")
# Characters that PostgreSQL cannot store: NUL, and single surrogates.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """A turn of a file. `key` is the same in each file that has the turn: its ids there, or else its content.

    A message that is longer than a memory may be becomes several turns; this one is the `piece`, from 1 on.
    """

    key: str
    memory: NewMemory
    piece: int = 1


@dataclass(slots=True)
class SourceConversation:
    """A conversation of a file, with its turns in order.

    `messages`: their number in the file, as its reader counts them. Each is a turn (or several if it is long), is
    counted by reason in `left_out` if that is on purpose, or is one of the `faults` if it cannot be read.
    `parts_left_out` counts by kind the parts of messages besides their text.
    """

    session: str
    turns: list[SourceTurn] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: list[TranscriptFault] = field(default_factory=list)
    parts_left_out: Counter[str] = field(default_factory=Counter)
    messages: int = 0


class UnreadableImport(InvalidInput):
    """A file that is refused as a whole; the message gives the reason and the remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(message, detail={"field": "file"})


def name_session(*parts: str) -> str:
    """Return the session of a conversation: its parts, each hashed unless it is a plain id."""
    name = "/".join(part if _PLAIN_ID.fullmatch(part) else hashlib.sha256(part.encode()).hexdigest() for part in parts)
    if len(name) <= 128 and not name.startswith(SESSION_PREFIX):
        return name
    return hashlib.sha256(name.encode()).hexdigest()


def shorten_key(key: str, most: int) -> str:
    """Return the key, or its hash if it has more than `most` characters."""
    return key if len(key) <= most else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def clean(text: str) -> str:
    """Replace characters that cannot be stored (NUL and single surrogates) by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def make_turns(key: str, memory: NewMemory, origin: Mapping[str, Any]) -> Iterator[SourceTurn]:
    """Yield the turn, or several if its text is longer than a memory may be; `origin` describes its origin in the
    metadata.

    Raises UnreadableTurn.
    """
    text = clean(memory.text).strip()
    if not text:
        raise UnreadableTurn("the text is empty")
    said = {name: clean(value[:MAX_TITLE_CHARS]) for name, value in origin.items() if isinstance(value, str) and value}
    pieces = list(cut(text))
    key = shorten_key(key, _MAX_KEY_CHARS if len(pieces) <= _FEW_PIECES else _MAX_CHARS_OF_MANY)
    for number, piece in enumerate(pieces, start=1):
        place = {"part": f"{number}/{len(pieces)}"} if len(pieces) > 1 else {}
        own = {METADATA_KEY: {**said, **place}} if said or place else {}
        named = key if number == 1 else f"{key}#{number}"
        metadata = check_metadata({**memory.metadata, **own})
        yield SourceTurn(named, replace(memory, text=piece, metadata=metadata), number)


def read_moment(value: Any, name: str) -> datetime | None:
    """Return the moment (UTC) of an ISO 8601 text or a number, None for none. Raises UnreadableTurn, without the
    value."""
    if value is None or value in ("", 0):
        return None
    try:
        if isinstance(value, int | float | str) and (moment := read_clock(value)):
            return moment
        return to_utc(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        raise UnreadableTurn(f"`{name}` is not an ISO 8601 date and time such as 2026-05-08T13:56:00Z") from None


def to_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without an offset is UTC already. Raises UnreadableTurn beyond the supported
    years."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise UnreadableTurn("its date lies beyond the years that can be kept") from None


def check_object(value: Any) -> dict[str, Any]:
    """Return the value, which must be a JSON object. Raises UnreadableTurn."""
    if not isinstance(value, dict):
        raise UnreadableTurn("is not a JSON object")
    return value
