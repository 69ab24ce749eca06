"""Gemini's activity as Google Takeout gives it: `MyActivity.json`, or the page `MyActivity.html`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from memory.services.imports.container import Part
from memory.services.imports.exported import read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.source import METADATA_KEY, SourceConversation, SourceTurn, UnreadableImport, name_session
from memory.types import session_of_day

ORIGIN = "gemini"
# The activity comes newest first: all of its text is held to be put in order.
MAX_HELD_CHARS = 256 * 1024**2


def read(part: Part) -> Iterator[SourceConversation]:
    """The activity, a conversation for each that it names, and for each day where it names none."""
    from portable_ai_memory.converters.google import GoogleConverter  # noqa: PLC0415 - half a second, for who imports

    converter = GoogleConverter()
    found: list[SourceConversation] = []
    held = 0
    for number, raw in enumerate(read_items(part, "item"), start=1):
        place = f"entry {number}"
        for conversation in read_conversation(
            raw, origin=ORIGIN, place=place, convert=lambda entry: converter.convert_conversations([dict(entry)])
        ):
            is_named = isinstance(raw, dict) and "/c/" in str(raw.get("titleUrl"))
            found.append(_name(conversation, is_named=is_named))
            held += sum(len(turn.memory.text) for turn in conversation.turns)
        if held > MAX_HELD_CHARS:
            raise UnreadableImport("The activity has more than 256 MB of text: export it year by year.")
    yield from _join(found)


def read_html(part: Part) -> Iterator[SourceConversation]:
    """The same of the page, in any of the languages that the package knows."""
    from portable_ai_memory.converters.google import GoogleConverter  # noqa: PLC0415 - half a second, for who imports

    html = part.read_text("Choose JSON as the format in Google Takeout.")
    converter = GoogleConverter()
    found = read_conversation(html, origin=ORIGIN, place="page", convert=converter.convert_conversations_from_html)
    if not found:
        raise UnreadableImport("The page holds no activity: choose JSON as the format in Google Takeout.")
    yield from _join([_name(conversation, is_named=False) for conversation in found])


def _name(conversation: SourceConversation, *, is_named: bool) -> SourceConversation:
    """The conversation under a name that is the same each time: the package makes one up for what has none."""
    conversation.turns = [_name_turn(turn, is_named=is_named) for turn in conversation.turns]
    return conversation


def _name_turn(turn: SourceTurn, *, is_named: bool) -> SourceTurn:
    memory = turn.memory
    key = f"{ORIGIN}:{memory.occurred_at}:{memory.role}:{memory.text}"
    if is_named:
        return SourceTurn(key, memory)
    day = session_of_day(memory.occurred_at) if memory.occurred_at else "undated"
    origin = {name: value for name, value in memory.metadata[METADATA_KEY].items() if name != "conversation"}
    metadata = {**memory.metadata, METADATA_KEY: origin}
    return SourceTurn(key, replace(memory, session=name_session(ORIGIN, day), metadata=metadata))


def _join(found: list[SourceConversation]) -> Iterator[SourceConversation]:
    """One conversation for each session, the oldest first."""
    sessions: dict[str, SourceConversation] = {}
    first = datetime.min.replace(tzinfo=UTC)
    turns = [turn for conversation in found for turn in conversation.turns]
    for turn in sorted(turns, key=lambda turn: turn.memory.occurred_at or first):
        session = turn.memory.session
        sessions.setdefault(session, SourceConversation(session)).turns.append(turn)
    rest = SourceConversation("")
    for conversation in found:
        rest.left_out += conversation.left_out
        rest.faults += conversation.faults
    if rest.left_out or rest.faults:
        yield rest
    yield from sessions.values()
