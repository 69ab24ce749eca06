"""Answers already given: kept as long as MEMOS_IDEMPOTENCY_HOURS promises, then forgotten."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from memory.models import IdempotencyRecord


def forget_old(*, now: datetime) -> int:
    """Deletes the records whose time is over; returns how many."""
    oldest = now - timedelta(hours=settings.MEMOS_IDEMPOTENCY_HOURS)
    return IdempotencyRecord.objects.filter(keep_forever=False, created_at__lt=oldest).delete()[0]
