"""Reads a session's window: Redis names its messages, and the memories provide their current content.

So a memory that was deleted, archived or corrected is no longer shown, even if Redis was away at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from memory.enums import MemoryState, Review
from memory.models.arrays import uuid_array
from memory.models.sql import fetch
from memory.retrieval.predicate import TEXT_THEN
from memory.stores import window
from memory.types import WindowMessage

# An SQL value: the content of the active memories behind the window's messages, by their ids. With `as_of`, their
# content at that moment, without memories recorded later.
TOLD = f"""(
    SELECT jsonb_object_agg(m.id, jsonb_build_array(
               m.role, m.speaker, CASE WHEN %(as_of)s::timestamptz IS NULL THEN m.text ELSE {TEXT_THEN} END,
               m.tokens, m.occurred_at, m.review))::text
    FROM memory_memory m
    WHERE m.namespace_id = %(namespace_id)s AND m.id = ANY(%(window)s::uuid[])
      AND m.state = '{MemoryState.ACTIVE.value}'
      AND m.created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
)"""  # noqa: S608 - put together from constants


def read_window(namespace_id: int, session: str) -> list[WindowMessage]:
    """Return the messages of a session's window, oldest first. Raises WindowUnavailable."""
    messages = window.read(namespace_id, session)
    parameters = {"namespace_id": namespace_id, "as_of": None, **parameters_of(messages)}
    [(told,)] = fetch(f"SELECT {TOLD}", parameters, prepared=True)
    return follow_memories(messages, told)


def parameters_of(messages: Sequence[WindowMessage]) -> dict[str, Any]:
    """Return the parameter of TOLD that names the messages."""
    return {"window": uuid_array([message.memory_id for message in messages])}


def follow_memories(messages: Sequence[WindowMessage], told: str | None) -> list[WindowMessage]:
    """Return the messages with the content in `told`, the value of TOLD; messages missing there are left out."""
    standing = orjson.loads(told) if told else {}
    found = []
    for message in messages:
        if message.memory_id in standing:
            role, speaker, text, tokens, occurred_at, review = standing[message.memory_id]
            is_suspected = review == Review.SUSPECTED
            found.append(WindowMessage(message.memory_id, role, speaker, text, tokens, occurred_at, is_suspected))
    return found
