"""Finds the memories of a pack that a reply quotes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import orjson

from memory.models import Condensation
from memory.text.cues import BUCKETS
from memory.text.verbatim import is_quoted
from memory.types import Scope


def list_quoted(scope: Scope, *, pack: Mapping[str, Any], reply: str) -> list[uuid.UUID]:
    """Return the memories that the reply quotes word for word: memories of the pack, and memories behind its
    summary."""
    told = {one["id"]: one["text"] for one in pack["retrieval"]["raw_chunks"]}
    for one in (*pack["working_memory"]["l1_window"], *pack["durable"]):
        told.setdefault(one["memory_id"], one["text"])
    found = [identity for identity, text in told.items() if is_quoted(text, reply)]
    found += _list_behind_summary(scope, pack["working_memory"]["session_summary_id"], reply)
    return [uuid.UUID(identity) for identity in dict.fromkeys(found)]


def _list_behind_summary(scope: Scope, summary_id: str | None, reply: str) -> list[str]:
    """Return the ids behind the lines of the summary that the reply quotes."""
    summary = Condensation.objects.in_scope(scope).filter(pk=summary_id).first() if summary_id else None
    if summary is None:
        return []
    card = orjson.loads(summary.condensed_text)
    behind = [
        (line, ids)
        for bucket in BUCKETS
        for line, ids in zip(card.get(bucket) or (), summary.item_sources.get(bucket) or (), strict=False)
    ]
    return [
        identity for line, ids in behind if is_quoted(line.split(": ", 1)[-1].rstrip("…."), reply) for identity in ids
    ]
