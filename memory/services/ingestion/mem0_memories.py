"""Reads the memories that mem0 gives out, as turns to be remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from memory.enums import Role
from memory.owners import CATEGORIES, EXPIRATION, KEYS, OWNERS, Owners
from memory.text.transcripts import (
    MAX_NAME_CHARS,
    Transcript,
    TranscriptFault,
    UnreadableTurn,
    check_metadata,
    check_text,
    read_moment,
)
from memory.types import NewMemory

FORMAT = "mem0"


def parse_mem0(data: bytes) -> Transcript:
    """What `get_all` of mem0's clients answers: an object with `results`, a list of them, or their JSON lines.

    A memory keeps its owners, metadata, categories and expiration date; `created_at` is when it was said. One of an
    agent and no user is what the agent said.
    """
    transcript = Transcript(FORMAT)
    try:
        entries = _list_entries(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        transcript.faults.append(TranscriptFault(f"line {error.lineno}", f"is not valid JSON ({error.msg})"))
        return transcript
    for number, entry in enumerate(entries, start=1):
        try:
            turn = _turn(entry)
        except UnreadableTurn as fault:
            transcript.faults.append(TranscriptFault(f"memory {number}", str(fault)))
        else:
            transcript.conversations.setdefault("", []).append(turn)
    return transcript


def _list_entries(data: bytes) -> list[Any]:
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        lines = [line for line in data.split(b"\n") if line.strip()]
        if len(lines) < 2:
            raise
        whole = [orjson.loads(line) for line in lines]
    pages = whole if isinstance(whole, list) else [whole]
    found: list[Any] = []
    for page in pages:
        inner = page.get("results") if isinstance(page, dict) else None
        found += inner if isinstance(inner, list) else [page]
    return found


def _turn(entry: Any) -> NewMemory:
    if not isinstance(entry, Mapping):
        raise UnreadableTurn("is not a JSON object")
    ids = {name: _read_id(entry, name) for name in OWNERS if entry.get(name) is not None}
    if not ids:
        raise UnreadableTurn(f"names no owner: {', '.join(OWNERS)}")
    said_at = read_moment(entry, "created_at")
    if said_at is None:
        raise UnreadableTurn("has no `created_at`")
    metadata = check_metadata(entry.get("metadata"))
    extra = {name: entry[name] for name in (EXPIRATION, CATEGORIES) if entry.get(name)}
    own = {name: value for name, value in metadata.items() if name not in KEYS}
    owners = Owners(ids)
    return NewMemory(
        session=owners.name_session(said_at),
        role=Role.AGENT if "agent_id" in ids and "user_id" not in ids else Role.USER,
        text=check_text(entry.get("memory") or entry.get("text")),
        metadata=check_metadata({**own, **extra, **ids}),
        occurred_at=said_at,
    )


def _read_id(entry: Mapping[str, Any], name: str) -> str:
    value = entry[name]
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or "\0" in value:
        raise UnreadableTurn(f"`{name}` is no id of 1 to {MAX_NAME_CHARS} characters")
    return value
