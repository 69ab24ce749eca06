"""Reads Gemini's activity as Google Takeout exports it: `MyActivity.json`, or the page `MyActivity.html`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory.parsers.web_page import read_html as read_page
from memory.services.imports.container import Part
from memory.services.imports.exported import Exported, ExportedMessage, read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.parts import MEDIA, Said
from memory.services.imports.source import METADATA_KEY, SourceConversation, SourceTurn, UnreadableImport, name_session
from memory.types import session_of_day

ORIGIN = "gemini"
# The limit of the text: the activity comes newest first, so all of it is kept in memory to be sorted.
MAX_HELD_CHARS = 256 * 1024**2
_CONVERSATION = re.compile(r"/c/([a-zA-Z0-9_-]+)")
_CELL = re.compile(r'<div\s+class="outer-cell')
# The word before a prompt in the title of an entry, in the languages of the page.
_PROMPTED = re.compile(r"(?:Prompted|Solicitou|Solicitó|Demandé|Angefordert|Richiesto)(?:\s+|$)", re.IGNORECASE)
_USER, _ASSISTANT = "user", "assistant"


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield the activity: a conversation for each that it names, and one for each day of the rest."""
    found: list[SourceConversation] = []
    held = 0
    for number, raw in enumerate(read_items(part, "item"), start=1):
        conversation = read_conversation(
            raw, origin=ORIGIN, place=f"entry {number}", find=_find, read=lambda message: message, count=_count
        )
        found.append(_name(conversation, is_named=isinstance(raw, dict) and "/c/" in str(raw.get("titleUrl"))))
        held += sum(len(turn.memory.text) for turn in conversation.turns)
        if held > MAX_HELD_CHARS:
            raise UnreadableImport("The activity has more than 256 MB of text: export it year by year.")
    yield from _join(found)


def read_html(part: Part) -> Iterator[SourceConversation]:
    """Yield the activity of the page, in any of the languages that the package knows."""
    from portable_ai_memory.converters.google import GoogleConverter  # noqa: PLC0415 - half a second, for who imports

    html = part.read_text("Choose JSON as the format in Google Takeout.")
    began = datetime.now(tz=UTC)
    pages = GoogleConverter().convert_conversations_from_html(html)
    messages = [_read_message(message, began) for page in pages for message in page.messages]
    if not messages:
        raise UnreadableImport("The page holds no activity: choose JSON as the format in Google Takeout.")
    # Each entry has a prompt, except the ones that the package cannot read.
    unread = len(_CELL.findall(html)) - sum(message.role == _USER for message in messages)
    found = Exported("page", messages=messages, left_out=Counter({"no_text": unread}) if unread > 0 else Counter())
    conversation = read_conversation(
        found,
        origin=ORIGIN,
        place="page",
        find=lambda _: found,
        read=lambda message: message,
        count=lambda _: len(messages) + max(unread, 0),
    )
    yield from _join([_name(conversation, is_named=False)])


def _read_message(message: Any, began: datetime) -> ExportedMessage:
    """Convert a message of the package, which dates undated messages by the clock."""
    at = message.created_at
    return ExportedMessage(str(message.role), Said([message.content.text]), at=at.isoformat() if at < began else None)


def _count(raw: Any) -> int:
    """Count the texts of the entry; one without any counts as one."""
    if not isinstance(raw, dict):
        return 0
    details, items = raw.get("details"), raw.get("safeHtmlItem")
    pairs = [pair.get("userInteraction") for pair in raw.get("userInteractions") or () if isinstance(pair, dict)]
    texts = [detail.get("value") for detail in details or () if isinstance(detail, dict)]
    texts += [pair.get(name) for pair in pairs if isinstance(pair, dict) for name in ("request", "response")]
    texts += [item.get("html") for item in items or () if isinstance(item, dict)]
    texts.append(_PROMPTED.sub("", str(raw.get("title") or "")))
    return max(sum(bool(text) for text in texts), 1)


def _find(raw: dict[str, Any]) -> Exported:
    """Return an entry of the activity: questions and answers in its title, its details or its interactions."""
    named = _CONVERSATION.search(raw.get("titleUrl") or "")
    texts: list[tuple[str, Any]] = [(_USER, _PROMPTED.sub("", raw.get("title") or ""))]
    for detail in raw.get("details") or ():
        texts.append((_USER if detail.get("name") == "Request" else _ASSISTANT, detail.get("value")))
    for pair in raw.get("userInteractions") or ():
        interaction = pair.get("userInteraction") or {}
        texts += [(_USER, interaction.get("request")), (_ASSISTANT, interaction.get("response"))]
    for item in raw.get("safeHtmlItem") or ():
        texts.append((_ASSISTANT, item.get("html") and read_page(item["html"])[0]))
    at = raw.get("time")
    messages = [ExportedMessage(role, Said([text]), at=at) for role, text in texts if text]
    found = Exported(named[1] if named else "entry", messages=messages or [ExportedMessage(_USER, Said())])
    for name in ("subtitles", "attachedFiles", "imageFile"):
        files = raw.get(name)
        if messages and files:
            found.parts_left_out[MEDIA] += len(files) if isinstance(files, list) else 1
    return found


def _name(conversation: SourceConversation, *, is_named: bool) -> SourceConversation:
    """Name the conversation the same each time: the package invents names for unnamed ones."""
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
    """Yield one conversation for each session, oldest first."""
    sessions: dict[str, SourceConversation] = {}
    first = datetime.min.replace(tzinfo=UTC)
    turns = [turn for conversation in found for turn in conversation.turns]
    for turn in sorted(turns, key=lambda turn: turn.memory.occurred_at or first):
        session = turn.memory.session
        sessions.setdefault(session, SourceConversation(session)).turns.append(turn)
    rest = SourceConversation("")
    for conversation in found:
        rest.left_out += conversation.left_out
        rest.parts_left_out += conversation.parts_left_out
        rest.faults += conversation.faults
        rest.messages += conversation.messages
    yield rest
    yield from sessions.values()
