"""Reads ChatGPT's export: `conversations.json`, or several of them if it is large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from memory.services.imports.container import Part
from memory.services.imports.exported import Exported, ExportedMessage, read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.parts import CITATION, MEDIA, Said
from memory.services.imports.source import SourceConversation

ORIGIN = "chatgpt"
_ROLES = {"user": "user", "human": "user", "assistant": "assistant"}
# The reasons to leave out messages, by the type of their content.
_REASONS = {
    "thoughts": "thought",
    "reasoning_recap": "thought",
    "user_editable_context": "instructions",
    "model_editable_context": "instructions",
}
_CITATIONS = ("citations", "content_references", "search_result_groups", "targeted_reply")


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield each conversation as it was last shown: branches that were edited or regenerated away are left out."""
    for number, raw in enumerate(read_items(part, "item"), start=1):
        yield read_conversation(
            raw, origin=ORIGIN, place=f"conversation {number}", find=_follow_current_node, read=_read, count=_count
        )


def _count(raw: Any) -> int:
    """Count the messages of the conversation, on all branches."""
    mapping = raw.get("mapping") if isinstance(raw, dict) else None
    nodes = mapping.values() if isinstance(mapping, dict) else ()
    return sum(isinstance(node, dict) and bool(node.get("message")) for node in nodes)


def _follow_current_node(raw: dict[str, Any]) -> Exported:
    """Return the conversation with the messages that lead to its current node, in order."""
    mapping = raw["mapping"]
    way: dict[str, Any] = {}
    node: Any = raw.get("current_node")
    if node not in mapping:
        node = _last_leaf(mapping)
    while node in mapping and node not in way:
        way[node] = mapping[node].get("message")
        node = mapping[node].get("parent")
    abandoned = sum(1 for name, node in mapping.items() if name not in way and node.get("message"))
    return Exported(
        id=raw.get("conversation_id") or raw["id"],
        title=raw.get("title"),
        began_at=raw.get("create_time"),
        messages=[message for message in reversed(way.values()) if message],
        left_out=Counter({"branch": abandoned} if abandoned else {}),
    )


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    """Return the last message without a reply; the last of all if they form a cycle."""
    leaves = (name for name in reversed(mapping) if not mapping[name].get("children"))
    return next(leaves, next(reversed(mapping), None))


def _read(message: dict[str, Any]) -> ExportedMessage:
    content, metadata = message.get("content") or {}, message.get("metadata") or {}
    role = (message.get("author") or {}).get("role") or "user"
    said = Said()
    said.add(content)
    files = metadata.get("attachments")
    pictures = [file for file in files or () if str(file.get("mime_type") or file.get("mimeType")).startswith("image/")]
    said.count(MEDIA, [file for file in files or () if file not in pictures])
    for name in _CITATIONS:
        said.count(CITATION, metadata.get(name))
    return ExportedMessage(
        role=_ROLES.get(role, ""),
        said=said,
        reason=_find_reason(message, role, content, metadata),
        at=message.get("create_time"),
        id=message.get("id"),
        model=metadata.get("model_slug"),
    )


def _find_reason(message: dict[str, Any], role: str, content: Any, metadata: dict[str, Any]) -> str:
    if role not in _ROLES:
        return role if role in ("system", "tool") else "other_role"
    if role == "assistant" and message.get("recipient") not in (None, "all"):
        return "tool"
    kind = content.get("content_type") if isinstance(content, dict) else None
    if kind in _REASONS:
        return _REASONS[kind]
    if metadata.get("is_visually_hidden_from_conversation"):
        return "hidden"
    return "thought" if metadata.get("reasoning_status") == "is_reasoning" else ""
