"""Background jobs that erase."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.services.erasure import requests, run

__all__ = ["erase", "request_lost_erasures"]

request_lost_erasures = requests.request_lost


def erase(namespace_id: int, erasure_id: str, *, now: datetime) -> bool:
    """Carries out an erasure, or goes on with it; False when it is over, or when another worker is at it."""
    return run.carry_out(namespace_id=namespace_id, erasure_id=UUID(erasure_id), now=timezone.now)
