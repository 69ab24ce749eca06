"""Reads Portable AI Memory 1.0: a store of memories, and conversations, one a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from memory.enums import Role
from memory.kinds import SESSION_PREFIX
from memory.services.imports.container import Part
from memory.services.imports.exported import Exported, ExportedMessage, read_conversation
from memory.services.imports.json_stream import read_items
from memory.services.imports.parts import CITATION, MEDIA, THOUGHT, TOOL, Said
from memory.services.imports.single import LeftOut, read_singles
from memory.services.imports.source import (
    SourceConversation,
    SourceTurn,
    clean,
    make_turns,
    name_session,
    read_moment,
    to_utc,
)
from memory.text.pam import OWN_KEY
from memory.text.transcripts import MAX_NAME_CHARS, UnreadableTurn, check_metadata
from memory.types import NewMemory, session_of_day

ORIGIN = "pam"
_ACTIVE = "active"


def read_store(part: Part) -> Iterator[SourceConversation]:
    """Yield each active memory of a store; superseded, retracted and archived ones are left out."""
    yield from read_singles(read_items(part, "memories.item"), _read_memory)


def read_one_conversation(part: Part) -> Iterator[SourceConversation]:
    """Yield the conversation in the file; of branches, the one with the last message."""
    for raw in read_items(part, ""):
        yield read_conversation(raw, origin=ORIGIN, place="conversation", find=_find, read=_read_message, count=_count)


def _count(raw: Any) -> int:
    messages = raw.get("messages") if isinstance(raw, dict) else None
    return len(messages) if isinstance(messages, list) else 0


def _find(raw: Any) -> Exported:
    from portable_ai_memory.models.conversation import Conversation  # noqa: PLC0415 - half a second, for who imports

    found = Conversation.model_validate(raw)
    abandoned = _find_abandoned(found.messages)
    way = [message for message in found.messages if message.id not in abandoned]
    branch = len(found.messages) - len(way)
    return Exported(
        found.id,
        title=found.title,
        began_at=found.temporal.created_at.isoformat(),
        messages=way,
        left_out=Counter({"branch": branch} if branch else {}),
    )


def _read_message(message: Any) -> ExportedMessage:
    said = Said()
    if message.content is not None:
        said.add(message.content.text)
        said.add([part.model_dump(exclude_none=True, mode="json") for part in message.content.parts])
    for kind, values in ((MEDIA, message.attachments), (TOOL, message.tool_calls), (CITATION, message.citations)):
        said.count(kind, values)
    return ExportedMessage(
        role=str(message.role),
        said=said,
        reason=THOUGHT if message.is_thought else "",
        at=message.created_at.isoformat(),
        id=message.provider_message_id,
        model=message.model,
    )


def _find_abandoned(messages: Sequence[Any]) -> set[str]:
    """Return the ids of the messages in branches that do not lead to the last message."""
    parents = {message.id: message.parent_id for message in messages}
    replies: dict[str, list[str]] = {}
    for identity, parent in parents.items():
        if parent in parents:
            replies.setdefault(parent, []).append(identity)
    way: set[str] = set()
    node: Any = next((message.id for message in reversed(messages) if message.id not in replies), None)
    while node in parents and node not in way:
        way.add(node)
        node = parents[node]
    waiting = [reply for parent in way for reply in replies.get(parent, ()) if reply not in way]
    abandoned: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node not in abandoned:
            abandoned.add(node)
            waiting += replies.get(node, ())
    return abandoned


def _read_memory(value: Any) -> Iterator[SourceTurn]:
    from portable_ai_memory.core.integrity import verify_content_hash  # noqa: PLC0415 - half a second, for who imports
    from portable_ai_memory.models.memory_store import MemoryObject  # noqa: PLC0415 - the same

    try:
        found = MemoryObject.model_validate(value)
    except ValueError as error:
        raise UnreadableTurn(_describe(error)) from None
    if found.status != _ACTIVE:
        raise LeftOut(str(found.status))
    if not verify_content_hash(found.content, found.content_hash):
        raise UnreadableTurn("`content_hash` is not that of its content: it was changed or damaged")
    temporal, provenance = found.temporal, found.provenance
    extra = found.metadata.model_dump(exclude_none=True, mode="json") if found.metadata else {}
    own = extra.pop(OWN_KEY, None)
    own = own if isinstance(own, dict) else {}
    said_at = read_moment(own.get("occurred_at"), "occurred_at") or to_utc(temporal.valid_from or temporal.created_at)
    metadata = {**check_metadata(own.get("metadata")), **extra, **({"tags": found.tags} if found.tags else {})}
    memory = NewMemory(
        session=_own_session(own) or name_session(ORIGIN, session_of_day(said_at)),
        role=own["role"] if own.get("role") in Role.values else Role.USER.value,
        text=found.content,
        speaker=clean(own["speaker"][:128]) if isinstance(own.get("speaker"), str) else "",
        metadata=check_metadata(metadata),
        occurred_at=said_at,
    )
    said = {"from": ORIGIN, "platform": provenance.platform, "id": found.id, "kind": str(found.type)}
    yield from make_turns(f"{ORIGIN}:{found.content_hash}:{said_at}:{memory.session}", memory, said)


def _own_session(own: dict[str, Any]) -> str:
    """Return the session that the memory had in MemOS; '' for none, and for a document's chunk."""
    name = own.get("session_id")
    if not isinstance(name, str) or name.startswith(SESSION_PREFIX):
        return ""
    return name if len(name) <= MAX_NAME_CHARS and clean(name) == name else ""


def _describe(error: ValueError) -> str:
    """Name the invalid fields, without their values."""
    faults = error.errors() if hasattr(error, "errors") else []
    said = [f"`{'.'.join(str(part) for part in fault['loc']) or 'memory'}`: {fault['type']}" for fault in faults[:3]]
    return "is no memory of PAM 1.0 (" + "; ".join(said)[:200] + ")"
