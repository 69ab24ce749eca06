"""Conversations as the readers of exports give them (`portable_ai_memory`), made turns.

That package dates what has no date by the clock, and knows no branches: both are mended here and by who calls.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from memory.enums import Role
from memory.services.imports.source import (
    MAX_ID_CHARS,
    MAX_TITLE_CHARS,
    SourceConversation,
    UnreadableImport,
    clean,
    make_turns,
    name_session,
    shorten_key,
    to_utc,
)
from memory.text.transcripts import TranscriptFault, UnreadableTurn
from memory.types import NewMemory

# What a file of another shape makes the package's readers raise.
MISSHAPEN = (
    AttributeError, IndexError, KeyError, OSError, OverflowError, RecursionError, TypeError, UnreadableTurn, ValueError,
)  # fmt: skip
_ROLES = {"user": Role.USER, "assistant": Role.AGENT}
Convert = Callable[[Any], list[Any]]


def read_conversation(raw: Any, *, origin: str, place: str, convert: Convert) -> list[SourceConversation]:
    """What `convert` makes of one entry of a file; one that it cannot make out is a fault."""
    began = datetime.now(tz=UTC)
    try:
        return [_to_source(one, origin=origin, place=place, began=began) for one in convert(raw)]
    except UnreadableImport:
        raise
    except MISSHAPEN as error:
        return [describe_misshapen(error, origin=origin, place=place)]


def describe_misshapen(error: Exception, *, origin: str, place: str) -> SourceConversation:
    """What is reported of an entry that is MISSHAPEN: that it is, and not what it holds."""
    reason = f"it has not the shape of an export of {origin} ({type(error).__name__})"
    return SourceConversation("", faults=[TranscriptFault(place, reason)])


def _to_source(conversation: Any, *, origin: str, place: str, began: datetime) -> SourceConversation:
    result = SourceConversation(name_session(origin, conversation.id))
    latest = _date(conversation.temporal.created_at, began)
    title = clean((conversation.title or "")[:MAX_TITLE_CHARS])
    identity = shorten_key(conversation.id, MAX_ID_CHARS)
    for number, message in enumerate(conversation.messages, start=1):
        # What has no date was given that of the reading.
        latest = _date(message.created_at, began) or latest
        text = _text_of(message)
        if reason := _find_reason(message, text):
            result.left_out[reason] += 1
            continue
        memory = NewMemory(result.session, _ROLES[message.role].value, text, occurred_at=latest)
        said = {
            "from": origin,
            "conversation": conversation.id,
            "title": title,
            "message": message.provider_message_id,
            "model": message.model,
        }
        # Where messages have no ids of their own, what they say and when tells them apart.
        own = message.provider_message_id or f"{latest}:{memory.role}:{text}"
        try:
            result.turns += make_turns(f"{origin}:{identity}:{own}", memory, said)
        except UnreadableTurn as fault:
            result.faults.append(TranscriptFault(f"{place}, message {number}", str(fault)))
    return result


def _date(moment: datetime, began: datetime) -> datetime | None:
    """The moment (UTC); None for one that the reading made up."""
    found = to_utc(moment)
    return None if found >= began else found


def _text_of(message: Any) -> str:
    content = message.content
    if content is None:
        return ""
    return content.text or "\n".join(part.text for part in content.parts if part.text)


def _find_reason(message: Any, text: str) -> str:
    """Why a message is no turn; empty for one that is."""
    if message.role not in _ROLES:
        return str(message.role)
    if message.is_thought:
        return "thought"
    if not clean(text).strip():
        return "tool" if message.tool_calls else "no_text"
    return ""
