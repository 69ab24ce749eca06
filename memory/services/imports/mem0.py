"""Reads mem0's memories: the answer of `get_all` of its clients, pages of it, a list, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory.enums import Role
from memory.owners import CATEGORIES, EXPIRATION, KEYS, OWNERS, Owners
from memory.services.imports.container import Part
from memory.services.imports.json_stream import read_items
from memory.services.imports.single import read_singles
from memory.services.imports.source import SourceConversation, SourceTurn, check_object, make_turns, read_moment
from memory.text.transcripts import MAX_NAME_CHARS, UnreadableTurn, check_metadata, check_text
from memory.types import NewMemory

ORIGIN = "mem0"


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield each memory with its owners, metadata, categories and expiration date; `created_at` is when it was said.

    A memory with an agent but no user was said by the agent.
    """
    yield from read_singles(_list_entries(part), _read_memory)


def _list_entries(part: Part) -> Iterator[Any]:
    whole = part.head().lstrip().startswith(b"[")
    for page in read_items(part, "item" if whole else "", lines=not whole):
        inner = page.get("results") if isinstance(page, dict) else None
        yield from inner if isinstance(inner, list) else [page]


def _read_memory(value: Any) -> Iterator[SourceTurn]:
    entry = check_object(value)
    ids = {name: _read_id(entry, name) for name in OWNERS if entry.get(name) is not None}
    if not ids:
        raise UnreadableTurn(f"names no owner: {', '.join(OWNERS)}")
    said_at = read_moment(entry.get("created_at"), "created_at")
    if said_at is None:
        raise UnreadableTurn("has no `created_at`")
    metadata = check_metadata(entry.get("metadata"))
    extra = {name: entry[name] for name in (EXPIRATION, CATEGORIES) if entry.get(name)}
    own = {name: kept for name, kept in metadata.items() if name not in KEYS}
    owners = Owners(ids)
    memory = NewMemory(
        session=owners.name_session(said_at),
        role=Role.AGENT if "agent_id" in ids and "user_id" not in ids else Role.USER,
        text=check_text(entry.get("memory") or entry.get("text")),
        metadata=check_metadata({**own, **extra, **ids}),
        occurred_at=said_at,
    )
    identity = str(entry.get("id") or f"{sorted(ids.items())}:{said_at}:{memory.text}")
    yield from make_turns(f"{ORIGIN}:{identity}", memory, {})


def _read_id(entry: Mapping[str, Any], name: str) -> str:
    value = entry[name]
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or "\0" in value:
        raise UnreadableTurn(f"`{name}` is no id of 1 to {MAX_NAME_CHARS} characters")
    return value
