"""Background jobs of the console, for bulk actions on more memories than fit a request."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from ops import bulk


def carry_out_bulk(action_id: str, *, now: datetime) -> int:
    """Run the rest of a bulk action; return how many memories it changed."""
    return len(bulk.carry_out(UUID(action_id), now=now).changed)


def undo_bulk(action_id: str, *, now: datetime) -> int:
    """Undo the rest of a bulk action; return how many memories it had changed."""
    return len(bulk.undo(UUID(action_id), now=now).changed)
