"""Reads the pinned memories of a namespace, which are returned with every question."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.enums import MemoryState, Review
from memory.models.memory import spans_of
from memory.models.sql import fetch
from memory.retrieval.predicate import RETIRED_THEN, TEXT_THEN, SqlCondition
from memory.text.utterances import live_text
from memory.types import Scope

# The limit on pinned memories read, latest first; an agent's context has room for far fewer.
MOST_DURABLE = 100


@dataclass(frozen=True, slots=True)
class DurableMemory:
    """Holds a memory that is returned with every question.

    `text` leaves out statements that no longer hold. `suspected`: the memory may try to steer its reader, and must be
    shown as a quotation.
    """

    id: uuid.UUID
    role: str
    speaker: str
    text: str
    tokens: int
    occurred_at: datetime
    session: str = ""
    suspected: bool = False


_PINNED = """
SELECT m.id, m.role, m.speaker, {text}, {retired}, m.tokens, m.occurred_at, m.session, m.review
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.pinned AND m.state = %(state)s AND {condition}
ORDER BY m.id DESC LIMIT %(most)s
"""
_HOLDING = "(m.valid_to IS NULL OR m.valid_to > %(holding_at)s::timestamptz)"


def list_durable(
    scope: Scope,
    *,
    among: SqlCondition | None = None,
    holding_at: datetime | None = None,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
) -> list[DurableMemory]:
    """Lists up to MOST_DURABLE pinned memories that meet `among` and hold at `holding_at`, oldest first.

    Their texts are as known at `as_of`, without statements that were over by `valid_at`. The question has no influence
    otherwise.
    """
    parameters: dict[str, Any] = {
        "namespace_id": scope.namespace_id,
        "state": MemoryState.ACTIVE.value,
        "most": MOST_DURABLE,
    }
    conditions = []
    if among is not None:
        conditions.append(among.sql)
        parameters |= among.parameters
    if holding_at is not None:
        conditions.append(_HOLDING)
        parameters["holding_at"] = holding_at
    text, retired = "m.text", "m.retired_spans"
    if as_of is not None or valid_at is not None:
        retired = RETIRED_THEN
        parameters |= {"as_of": as_of, "valid_at": valid_at}
    if as_of is not None:
        text = TEXT_THEN
    statement = _PINNED.format(text=text, retired=retired, condition=" AND ".join(conditions) or "true")
    rows = fetch(statement, parameters, prepared=among is None)
    return [_durable(row) for row in reversed(rows)]


def _durable(row: tuple) -> DurableMemory:
    identity, role, speaker, text, retired, tokens, occurred_at, session, review = row
    live = live_text(text, spans_of(retired or []))
    return DurableMemory(identity, role, speaker, live, tokens, occurred_at, session, review == Review.SUSPECTED)
