"""Background jobs that import memories."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.services.imports import requests, run, uploads

__all__ = ["forget_imports", "import_memories"]


def import_memories(namespace_id: int, import_id: str, *, now: datetime) -> int:
    """Import the rest of a file; return how many turns were processed."""
    return run.carry_out(namespace_id=namespace_id, import_id=UUID(import_id), now=timezone.now)


def forget_imports(*, now: datetime) -> int:
    """Delete old imports, and unused uploads; return the number of imports."""
    try:
        uploads.forget(now=now)
    finally:
        deleted = requests.forget(now=now)
    return deleted
