"""Converts exported conversations to turns: each message becomes a turn, is left out for a reason, or is a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.enums import Role
from memory.services.imports.parts import Said
from memory.services.imports.source import (
    MAX_ID_CHARS,
    MAX_TITLE_CHARS,
    SourceConversation,
    SourceTurn,
    UnreadableImport,
    clean,
    make_turns,
    name_session,
    read_moment,
    shorten_key,
)
from memory.text.transcripts import TranscriptFault, UnreadableTurn
from memory.types import NewMemory

# A file of another shape makes its reader raise one of these.
MISSHAPEN = (
    AttributeError, IndexError, KeyError, OSError, OverflowError, RecursionError, TypeError, UnreadableTurn, ValueError,
)  # fmt: skip
_ROLES = {"user": Role.USER, "assistant": Role.AGENT}


@dataclass(slots=True)
class ExportedMessage:
    """A message of an export. `reason`: why it is not a turn, unless it only lacks text."""

    role: str
    said: Said
    reason: str = ""
    at: Any = None
    id: Any = None
    model: Any = None


@dataclass(slots=True)
class Exported:
    """A conversation of an export: its `messages` as the file has them, in order, without those counted in
    `left_out`."""

    id: str
    title: Any = None
    began_at: Any = None
    messages: list[Any] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    parts_left_out: Counter[str] = field(default_factory=Counter)


def read_conversation(
    raw: Any,
    *,
    origin: str,
    place: str,
    find: Callable[[Any], Exported],
    read: Callable[[Any], ExportedMessage],
    count: Callable[[Any], int],
) -> SourceConversation:
    """Convert one entry of a file, in which `find` finds the messages and `read` reads each.

    `count` counts the messages of the entry without either of them, whatever its shape. Unreadable data are a fault: of
    the whole entry, or of one message.
    """
    try:
        return _to_source(find(raw), origin=origin, place=place, read=read, count=count(raw))
    except UnreadableImport:
        raise
    except MISSHAPEN as error:
        return describe_misshapen(error, origin=origin, place=place, messages=count(raw))


def describe_misshapen(error: Exception, *, origin: str, place: str, messages: int = 0) -> SourceConversation:
    """Return the report of an entry that is MISSHAPEN, without its content; one without messages counts as one."""
    fault = TranscriptFault(place, _describe(error, origin), turns=max(messages, 1))
    return SourceConversation("", faults=[fault], messages=fault.turns)


def _describe(error: Exception, origin: str) -> str:
    if isinstance(error, UnreadableTurn):
        return str(error)
    return f"it has not the shape of an export of {origin} ({type(error).__name__})"


def _to_source(
    found: Exported, *, origin: str, place: str, read: Callable[[Any], ExportedMessage], count: int
) -> SourceConversation:
    identity = shorten_key(found.id, MAX_ID_CHARS)
    result = SourceConversation(
        name_session(origin, found.id), left_out=found.left_out, parts_left_out=found.parts_left_out, messages=count
    )
    latest = _read_beginning(found, result, place)
    title = clean(found.title[:MAX_TITLE_CHARS]) if isinstance(found.title, str) else ""
    said = {"from": origin, "conversation": found.id, "title": title}
    for number, raw in enumerate(found.messages, start=1):
        try:
            message = read(raw)
            latest = read_moment(message.at, "time") or latest
            if reason := message.reason or _find_reason(message):
                result.left_out[reason] += 1
                continue
            result.turns += _make_turns(message, latest, f"{origin}:{identity}", said, session=result.session)
            result.parts_left_out += message.said.left_out
        except MISSHAPEN as error:
            result.faults.append(TranscriptFault(f"{place}, message {number}", _describe(error, origin)))
    return result


def _read_beginning(found: Exported, result: SourceConversation, place: str) -> datetime | None:
    """Return when the conversation began. An invalid date costs no message, which is then undated unless it has its own
    date."""
    try:
        return read_moment(found.began_at, "time")
    except UnreadableTurn as fault:
        result.faults.append(TranscriptFault(f"{place}, its beginning", str(fault), turns=0))
        return None


def _make_turns(
    message: ExportedMessage, at: datetime | None, named: str, said: dict[str, Any], *, session: str
) -> list[SourceTurn]:
    memory = NewMemory(session, _ROLES[message.role].value, message.said.text, occurred_at=at)
    # Messages without ids are identified by their content and time.
    own = message.id or f"{at}:{memory.role}:{memory.text}"
    origin = {**said, "message": message.id, "model": message.model}
    return list(make_turns(f"{named}:{own}", memory, origin))


def _find_reason(message: ExportedMessage) -> str:
    """Return why a message without a text is not a turn; '' for one with a text."""
    if message.role not in _ROLES:
        return message.role or "other_role"
    if clean(message.said.text).strip():
        return ""
    return next((kind for kind in ("thought", "tool") if message.said.left_out[kind]), "no_text")
