"""ChatGPT's export: `conversations.json`, or several of them where it is large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from memory.services.imports.container import Part
from memory.services.imports.exported import read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.source import SourceConversation

ORIGIN = "chatgpt"


def read(part: Part) -> Iterator[SourceConversation]:
    """Each conversation as it was last shown: branches that were edited or regenerated away are left out."""
    from portable_ai_memory.converters.openai import OpenAIConverter  # noqa: PLC0415 - half a second, for who imports

    converter = OpenAIConverter()
    for number, raw in enumerate(read_items(part, "item"), start=1):
        left_out: Counter[str] = Counter()
        found = read_conversation(
            raw,
            origin=ORIGIN,
            place=f"conversation {number}",
            convert=partial(_convert, converter, left_out),
        )
        for conversation in found:
            conversation.left_out += left_out
            yield conversation


def _convert(converter: Any, left_out: Counter[str], raw: dict[str, Any]) -> list[Any]:
    return list(converter.convert_conversations([_follow_current_node(raw, left_out)]))


def _follow_current_node(raw: dict[str, Any], left_out: Counter[str]) -> dict[str, Any]:
    """The conversation with the messages that lead to its current node, in their order, but for what tools were told
    and said.
    """
    mapping = raw["mapping"]
    way: dict[str, Any] = {}
    node: Any = raw.get("current_node")
    if node not in mapping:
        node = _last_leaf(mapping)
    while node in mapping and node not in way:
        way[node] = mapping[node]
        node = mapping[node].get("parent")
    kept: dict[str, Any] = {}
    for name in reversed(way):
        message = way[name].get("message")
        if message and _is_to_or_of_tool(message):
            left_out["tool"] += 1
        else:
            kept[name] = way[name]
    left_out["branch"] += sum(1 for name, entry in mapping.items() if name not in way and _says_something(entry))
    left_out += Counter()
    return {**raw, "id": raw.get("conversation_id") or raw["id"], "mapping": kept}


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    """The last message that none follows; the last of all where they go round in a circle."""
    leaves = (name for name in reversed(mapping) if not mapping[name].get("children"))
    return next(leaves, next(reversed(mapping), None))


def _is_to_or_of_tool(message: dict[str, Any]) -> bool:
    if (message.get("author") or {}).get("role") == "tool":
        return True
    return (message.get("author") or {}).get("role") == "assistant" and message.get("recipient") not in (None, "all")


def _says_something(entry: dict[str, Any]) -> bool:
    message = entry.get("message") or {}
    role = (message.get("author") or {}).get("role")
    return role in ("user", "assistant") and bool((message.get("content") or {}).get("parts"))
