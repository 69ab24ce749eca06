"""Reads Claude's export: `conversations.json`, `projects.json`, and Claude's memories of a person, `memories.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.enums import Role
from memory.services.imports.container import Part
from memory.services.imports.exported import MISSHAPEN, Exported, ExportedMessage, describe_misshapen, read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.parts import Said
from memory.services.imports.single import read_singles
from memory.services.imports.source import (
    SourceConversation,
    SourceTurn,
    check_object,
    make_turns,
    name_session,
    read_moment,
)
from memory.types import NewMemory

ORIGIN = "claude"
# The placeholder in `text` for a part that only newer programs show.
_PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield each conversation; its messages include the text of their attachments."""
    for number, raw in enumerate(read_items(part, "item"), start=1):
        yield read_conversation(
            raw, origin=ORIGIN, place=f"conversation {number}", find=_find, read=_read, count=_count
        )


def read_memories(part: Part) -> Iterator[SourceConversation]:
    """Yield Claude's memories of the person and of each project; they have no dates."""
    for number, raw in enumerate(read_items(part, "item"), start=1):
        try:
            texts = [raw.get("conversations_memory"), *(raw.get("project_memories") or {}).values()]
            kept = [text.strip() for text in texts if text and text.strip()]
        except MISSHAPEN as error:
            yield describe_misshapen(error, origin=ORIGIN, place=f"entry {number}")
        else:
            yield from read_singles(kept, _read_kept)


def read_projects(part: Part) -> Iterator[SourceConversation]:
    """Yield the description, the instructions and the documents of each project."""
    for number, raw in enumerate(read_items(part, "item"), start=1):
        try:
            texts = [raw.get("description"), raw.get("prompt_template")]
            entries = [{**raw, "content": text} for text in texts if text]
            entries += [{**document, "project": raw["uuid"]} for document in raw.get("docs") or ()]
        except MISSHAPEN as error:
            yield describe_misshapen(error, origin=ORIGIN, place=f"project {number}")
        else:
            yield from read_singles(entries, _read_document, noun=f"project {number}, text")


def _read_kept(text: str) -> Iterator[SourceTurn]:
    memory = NewMemory(name_session(ORIGIN, "memory"), Role.USER.value, text)
    yield from make_turns(f"{ORIGIN}:memory:{text}", memory, {"from": ORIGIN})


def _read_document(entry: Any) -> Iterator[SourceTurn]:
    own = check_object(entry)
    title = own.get("filename") or own.get("name")
    project = str(own.get("project") or own["uuid"])
    memory = NewMemory(
        name_session(ORIGIN, "project", project),
        Role.USER.value,
        str(own.get("content") or ""),
        occurred_at=read_moment(own.get("created_at"), "created_at"),
    )
    key = f"{ORIGIN}:project:{project}:{own.get('filename')}:{memory.text}"
    yield from make_turns(key, memory, {"from": ORIGIN, "conversation": project, "title": title})


def _count(raw: Any) -> int:
    messages = raw.get("chat_messages") if isinstance(raw, dict) else None
    return len(messages) if isinstance(messages, list) else 0


def _find(raw: dict[str, Any]) -> Exported:
    found = Exported(
        id=raw["uuid"], title=raw.get("name"), began_at=raw.get("created_at"), messages=list(raw["chat_messages"])
    )
    if raw.get("summary"):
        found.parts_left_out["summary"] += 1
    return found


def _read(message: dict[str, Any]) -> ExportedMessage:
    said = Said()
    said.add(message.get("content"))
    _add_whole(said, message.get("text") or "")
    for file in [*(message.get("attachments") or ()), *(message.get("files") or ())]:
        said.add_file(file)
    return ExportedMessage(
        role="user" if message.get("sender", "human") == "human" else "assistant",
        said=said,
        at=message.get("created_at"),
        id=message.get("uuid"),
    )


def _add_whole(said: Said, whole: str) -> None:
    """Add `text` of a message, which usually repeats its parts, unless they contain it already."""
    plain = whole.replace(_PLACEHOLDER, "").strip()
    own = "".join(plain.split())
    if own not in "".join("".join(said.pieces).split()):
        if all("".join(piece.split()) in own for piece in said.pieces):
            said.pieces.clear()
        said.add(plain)
