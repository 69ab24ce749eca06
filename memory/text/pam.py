"""Writes memories in the Portable AI Memory 1.0 format, a JSON file that is streamed while it is generated."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from memory.enums import MemoryKind, MemoryState
from memory.text.json_values import encode

STORE, CONVERSATION = "portable-ai-memory", "portable-ai-memory-conversation"
VERSION = "1.0"
# Key in a memory's metadata for what PAM has no field for.
OWN_KEY = "memos"
_OWN = (
    "session_id", "turn", "role", "speaker", "kind", "metadata", "importance", "pinned", "occurred_at", "superseded_by",
    "sources",
)  # fmt: skip
_TAG = re.compile(r"[a-z0-9][a-z0-9_-]*")


def write_store(pages: Iterable[list[dict[str, Any]]], *, namespace: str, now: datetime) -> Iterator[bytes]:
    """Yield the memories (as the API returns them, ordered by id) as one document, page by page.

    It ends with PAM's checksum of all memories, unless their metadata contains a number without a canonical form (above
    2^53, by RFC 8785).
    """
    import rfc8785  # noqa: PLC0415 - takes half a second to import, with the next one
    from portable_ai_memory.models.memory_store import MemoryObject  # noqa: PLC0415 - as above

    head = {
        "schema": STORE,
        "schema_version": VERSION,
        "export_date": now.isoformat(),
        "owner": {"id": namespace},
        "export_type": "full",
    }
    yield encode(head)[:-1] + b',"memories":['
    checksum: Any = hashlib.sha256(b"[")
    total = 0
    for page in pages:
        written = []
        for row in page:
            memory = MemoryObject.model_validate(_describe(row)).model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
            separator = b"," if total else b""
            total += 1
            written.append(separator + encode(memory))
            try:
                if checksum is not None:
                    checksum.update(separator + rfc8785.dumps(memory))
            except rfc8785.CanonicalizationError:
                checksum = None
        yield b"".join(written)
    yield b"]" + _write_integrity(checksum, total) + b"}\n"


def _write_integrity(checksum: Any, total: int) -> bytes:
    if checksum is None:
        return b""
    checksum.update(b"]")
    found = {"canonicalization": "RFC8785", "checksum": f"sha256:{checksum.hexdigest()}", "total_memories": total}
    return b',"integrity":' + encode(found)


# PAM types by kind of memory; other kinds are context.
_TYPES = {MemoryKind.FACT.value: "fact", MemoryKind.PREFERENCE.value: "preference"}


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    from portable_ai_memory.core.integrity import compute_content_hash  # noqa: PLC0415 - as above

    tags = row["metadata"].get("tags")
    begins, ends = row["valid_from"] or row["occurred_at"], row["valid_to"]
    return {
        "id": row["id"],
        "type": _TYPES.get(row["kind"], "context"),
        "status": _status_of(row),
        "content": row["text"],
        "content_hash": compute_content_hash(row["text"]),
        "tags": [tag for tag in tags if isinstance(tag, str) and _TAG.fullmatch(tag)] if isinstance(tags, list) else [],
        "temporal": {
            "created_at": row["created_at"],
            "valid_from": begins,
            "valid_until": ends if ends is not None and _moment(ends) >= _moment(begins) else None,
        },
        "provenance": {"platform": "memos", "conversation_ref": row["session_id"], "extraction_method": "api_export"},
        "metadata": {OWN_KEY: {name: row[name] for name in _OWN if row[name] not in (None, "", [], {})}},
    }


def _status_of(row: Mapping[str, Any]) -> str:
    if row["superseded_by"]:
        return "superseded"
    return "archived" if row["state"] == MemoryState.ARCHIVED else "active"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
