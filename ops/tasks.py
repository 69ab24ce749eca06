"""Background jobs of the console: what staff do to more memories than one request should."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from ops import bulk


def carry_out_bulk(action_id: str, *, now: datetime) -> int:
    """Does what is left of a bulk action; returns how many memories it changed."""
    return len(bulk.carry_out(UUID(action_id), now=now).changed)


def undo_bulk(action_id: str, *, now: datetime) -> int:
    """Takes back what is left of a bulk action; returns how many memories it had changed."""
    return len(bulk.undo(UUID(action_id), now=now).changed)
