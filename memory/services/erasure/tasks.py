"""Background jobs that erase."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.services.erasure import requests, run

__all__ = ["erase", "request_lost_erasures"]

request_lost_erasures = requests.request_lost


def erase(namespace_id: int, erasure_id: str, *, now: datetime) -> bool:
    """Carry out an erasure, or continue it; return False when it is finished or another worker is at it."""
    return run.carry_out(namespace_id=namespace_id, erasure_id=UUID(erasure_id), now=timezone.now)
