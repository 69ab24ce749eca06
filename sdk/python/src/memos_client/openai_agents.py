"""The OpenAI Agents SDK: a session whose items are memories."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from memos_client import types
from memos_client.adapters import MOST_TEXT_CHARS, Conversation, Turn, missing
from memos_client.client import MemOS

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import resolve_session_limit
except ImportError as error:
    raise missing("The OpenAI Agents SDK", "openai-agents") from error

KEY = "openai_agents"
# Notes that replace fields the gate refused. Arguments have to be JSON.
_NOTES = {"output": "Not remembered: the gate of MemOS keeps it out.", "arguments": "{}", "input": "Not remembered."}
_ROLES = {"user": "user", "assistant": "agent", "system": "system", "developer": "system"}


class MemOSSession(SessionABC):
    """The items of a conversation, each stored as a memory, or as several if it is long.

    Items that are popped or cleared are archived and can be restored. If the gate refuses a tool call or its output, a
    note is stored instead, so that each call has an output.
    """

    def __init__(self, memos: MemOS, session_id: str, session_settings: SessionSettings | None = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._conversation = Conversation(memos, session_id, KEY)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        latest = resolve_session_limit(limit, self.session_settings)
        items = [_item_of(one) for one in await asyncio.to_thread(self._conversation.read, latest)]
        # An output that was released from quarantine replaces its note.
        return list({_identify(item, place): item for place, item in enumerate(items)}.values())

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store the items. Raises NotKept if the gate refuses a message; the other items are stored."""
        await asyncio.to_thread(self._conversation.add, [_turn_of(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        popped = await asyncio.to_thread(self._conversation.pop)
        return None if popped is None else _item_of(popped)

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._conversation.clear)


def _turn_of(item: Mapping[str, Any]) -> Turn:
    """Return the item as a turn. Plain content is stored as the text only, so correcting the memory corrects it."""
    role = _ROLES.get(str(item.get("role")), "tool")
    content = item.get("content")
    if isinstance(content, str) and content.strip() and len(content) <= MOST_TEXT_CHARS:
        return Turn(content, role, {name: value for name, value in item.items() if name != "content"})
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    text = content if isinstance(content, str) and content.strip() else "\n".join(texts)
    return Turn(text.strip() or json.dumps(item, ensure_ascii=False), role, item, substitute=_substitute_of(item))


def _substitute_of(item: Mapping[str, Any]) -> Turn | None:
    """Return a tool call or its output with notes in the fields that the gate may refuse, or None for other items."""
    notes = {name: note for name, note in _NOTES.items() if name in item}
    if "call_id" not in item or not notes:
        return None
    noted = {**item, **notes}
    return Turn(json.dumps(noted, ensure_ascii=False), "tool", noted)


def _identify(item: Mapping[str, Any], place: int) -> tuple[Any, ...]:
    return (item.get("type"), item["call_id"]) if item.get("call_id") else (place,)


def _item_of(memory: types.Memory) -> Any:
    item = memory["metadata"][KEY]
    return item if "content" in item or "role" not in item else {**item, "content": memory["text"]}
