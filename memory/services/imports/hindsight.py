"""Reads the memories that hindsight lists (`GET …/memories/list`): its answer, several of them in a list, or the
items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.enums import Role
from memory.services.imports.container import Part
from memory.services.imports.json_stream import read_items
from memory.services.imports.single import LeftOut, read_singles
from memory.services.imports.source import (
    SourceConversation,
    SourceTurn,
    check_object,
    make_turns,
    name_session,
    read_moment,
)
from memory.text.transcripts import UnreadableTurn, check_metadata, check_text
from memory.types import NewMemory, session_of_day

ORIGIN = "hindsight"


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield each fact under its document; a fact about an agent's own actions is the agent's."""
    yield from read_singles(_list_entries(part), _read_memory)


def _list_entries(part: Part) -> Iterator[Any]:
    whole = part.head().lstrip().startswith(b"[")
    for page in read_items(part, "item" if whole else "", lines=not whole):
        inner = page.get("items") if isinstance(page, dict) else None
        yield from inner if isinstance(inner, list) else [page]


def _read_memory(value: Any) -> Iterator[SourceTurn]:
    entry = check_object(value)
    if entry.get("state") == "invalidated":
        raise LeftOut("invalidated")
    named = next((name for name in ("occurred_start", "mentioned_at", "date") if entry.get(name)), None)
    said_at = read_moment(entry[named], named) if named else None
    kind = entry.get("fact_type") or entry.get("type")
    tags = entry.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise UnreadableTurn("`tags` is not a list of words")
    document = entry.get("document_id")
    day = session_of_day(said_at) if said_at else "undated"
    memory = NewMemory(
        session=name_session(ORIGIN, document if isinstance(document, str) and document else day),
        role=Role.AGENT if kind == "experience" else Role.USER,
        text=check_text(entry.get("text")),
        metadata=check_metadata({**check_metadata(entry.get("metadata")), **({"tags": tags} if tags else {})}),
        occurred_at=said_at,
    )
    identity = str(entry.get("id") or f"{said_at}:{memory.text}")
    said = {"from": ORIGIN, "id": entry.get("id"), "context": entry.get("context"), "kind": kind}
    yield from make_turns(f"{ORIGIN}:{identity}", memory, said)
