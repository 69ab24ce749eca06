"""Manages tags: words by which staff find memories, in the list `tags` of the metadata."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime

from memory.enums import AuditEvent
from memory.errors import InvalidInput, NotFound
from memory.models import Memory
from memory.services.memories.change import MemoryChange, change, check_reason
from memory.services.memories.edit import check_metadata
from memory.services.memories.versions import keep_version
from memory.services.tenancy.notes import clean_note
from memory.types import Access, ChangeTerms

TAGS_KEY = "tags"
MAX_TAGS = 10
MAX_TAG_CHARS = 40


def tag(
    access: Access,
    *,
    memory_ids: Iterable[uuid.UUID],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    reason: str,
    now: datetime,
    request_id: str = "",
) -> dict[uuid.UUID, dict[str, list[str]]]:
    """Add tags to memories and remove tags from them; return the `added` and `removed` tags of each memory that
    changed.

    The former metadata is kept as a version. Memories that are gone or out of reach are left out. Raises InvalidInput,
    and Conflict when one is under a legal hold.
    """
    reason, add, remove = check_reason(reason), check_tags(add), check_tags(remove)
    if not add and not remove:
        raise InvalidInput("Name at least one tag.", detail={"field": "tags"})
    changed: dict[uuid.UUID, dict[str, list[str]]] = {}
    for memory_id in sorted(set(memory_ids)):

        def apply(memory: Memory) -> MemoryChange | None:
            present = tags_of(memory)
            added = [name for name in add if name not in present]
            removed = [name for name in remove if name in present and name not in add]
            if not added and not removed:
                return None
            kept = [name for name in present if name not in removed]
            metadata = {**memory.metadata, TAGS_KEY: [*kept, *added]}
            if not metadata[TAGS_KEY]:
                del metadata[TAGS_KEY]
            metadata = check_metadata(metadata)
            keep_version(access, memory, reason, now=now)
            memory.metadata = metadata
            changed[memory.pk] = {"added": added, "removed": removed}
            details = {"reason": reason, "changed": ["metadata"], "tags_added": added, "tags_removed": removed}
            return MemoryChange(AuditEvent.MEMORY_EDIT, ["metadata"], ["metadata"], details)

        try:
            change(access, memory_id=memory_id, terms=ChangeTerms(request_id=request_id), now=now, apply=apply)
        except NotFound:
            continue
    return changed


def tags_of(memory: Memory) -> list[str]:
    """Return the memory's tags. Clients write metadata, so `tags` may hold anything; only the strings of a list
    count."""
    found = memory.metadata.get(TAGS_KEY) if isinstance(memory.metadata, dict) else None
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def check_tags(names: Sequence[str]) -> list[str]:
    """Return the tags without surrounding white space, each once. Raises InvalidInput."""
    cleaned = list(dict.fromkeys(" ".join(name.split()) for name in names if name.strip()))
    if len(cleaned) > MAX_TAGS or any(len(name) > MAX_TAG_CHARS or "\0" in name for name in cleaned):
        raise InvalidInput(
            f"Up to {MAX_TAGS} tags a time, each of up to {MAX_TAG_CHARS} characters.", detail={"field": "tags"}
        )
    return [clean_note(name, field="tags") for name in cleaned]
