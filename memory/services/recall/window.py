"""Reads a session's window: Redis says which messages are in it, and the memories say what they tell now.

So a memory that was deleted, archived or corrected is told no longer, also when Redis was away at that moment.
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

# An SQL value: what the active memories behind the window's messages say, by their ids. With `as_of` it is what they
# said at that moment, without those that were recorded later.
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
    """Returns the messages of a session's window, oldest first. Raises WindowUnavailable."""
    messages = window.read(namespace_id, session)
    parameters = {"namespace_id": namespace_id, "as_of": None, **parameters_of(messages)}
    [(told,)] = fetch(f"SELECT {TOLD}", parameters, prepared=True)
    return follow_memories(messages, told)


def parameters_of(messages: Sequence[WindowMessage]) -> dict[str, Any]:
    """Returns the parameter of TOLD that names the messages."""
    return {"window": uuid_array([message.memory_id for message in messages])}


def follow_memories(messages: Sequence[WindowMessage], told: str | None) -> list[WindowMessage]:
    """Returns the messages as `told`, the value of TOLD, has them; those that it does not name are left out."""
    standing = orjson.loads(told) if told else {}
    found = []
    for message in messages:
        if message.memory_id in standing:
            role, speaker, text, tokens, occurred_at, review = standing[message.memory_id]
            is_suspected = review == Review.SUSPECTED
            found.append(WindowMessage(message.memory_id, role, speaker, text, tokens, occurred_at, is_suspected))
    return found
