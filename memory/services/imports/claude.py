"""Claude's export: `conversations.json`, and what Claude keeps of a person in `memories.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.enums import Role
from memory.services.imports.container import Part
from memory.services.imports.exported import MISSHAPEN, describe_misshapen, read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.single import read_singles
from memory.services.imports.source import SourceConversation, SourceTurn, make_turns, name_session
from memory.types import NewMemory

ORIGIN = "claude"


def read(part: Part) -> Iterator[SourceConversation]:
    """Each conversation that has a message."""
    from portable_ai_memory.converters.anthropic import AnthropicConverter  # noqa: PLC0415 - half a second

    converter = AnthropicConverter()
    for number, raw in enumerate(read_items(part, "item"), start=1):
        yield from read_conversation(
            raw,
            origin=ORIGIN,
            place=f"conversation {number}",
            convert=lambda entry: converter.convert_conversations([_say_in_text(entry)]),
        )


def read_memories(part: Part) -> Iterator[SourceConversation]:
    """What Claude keeps of the person and of each project; it has no dates."""
    from portable_ai_memory.converters.anthropic import AnthropicConverter  # noqa: PLC0415 - half a second

    converter = AnthropicConverter()
    for number, raw in enumerate(read_items(part, "item"), start=1):
        try:
            kept = [memory.content for memory in converter.convert_memories(raw).memories]
        except MISSHAPEN as error:
            yield describe_misshapen(error, origin=ORIGIN, place=f"entry {number}")
        else:
            yield from read_singles(kept, _read_kept)


def _read_kept(text: str) -> Iterator[SourceTurn]:
    memory = NewMemory(name_session(ORIGIN, "memory"), Role.USER.value, text)
    yield from make_turns(f"{ORIGIN}:memory:{text}", memory, {"from": ORIGIN})


def _say_in_text(raw: dict[str, Any]) -> dict[str, Any]:
    """The conversation with each message's text in `text` alone: thoughts beside it would count as all of it."""
    messages = []
    for message in raw["chat_messages"]:
        parts = message.get("content") or []
        said = [part.get("text") or "" for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        text = message.get("text") or "\n".join(part for part in said if part)
        if text:
            parts = [part for part in parts if not isinstance(part, dict) or part.get("type") != "thinking"]
        messages.append({**message, "text": text, "content": parts})
    return {**raw, "uuid": raw["uuid"], "chat_messages": messages}
