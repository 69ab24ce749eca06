"""Background jobs of the console: what staff do to more memories than one request should."""

from __future__ import annotations

import uuid

from django.utils import timezone

from memory.tasks import job
from ops import bulk


@job
def carry_out_bulk(action_id: str) -> int:
    """Does what is left of a bulk action; returns how many memories it changed."""
    return len(bulk.carry_out(uuid.UUID(action_id), now=timezone.now()).changed)


@job
def undo_bulk(action_id: str) -> int:
    """Takes back what is left of a bulk action; returns how many memories it had changed."""
    return len(bulk.undo(uuid.UUID(action_id), now=timezone.now()).changed)
