"""The settings of MemOS for bench/faults.py, in which the clock of Django and MemOS is off by some seconds.

The number of seconds is in the file that FAULTS_CLOCK names. All of MemOS reads the time from `timezone.now`.
PostgreSQL, Valkey and waiting (`time.monotonic`) are not affected.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from memos_site.settings import *  # noqa: F403 - these are the settings

_FILE = Path(os.environ["FAULTS_CLOCK"])

MEMOS_SUMMARY_LOCK_SECONDS = 10
# The limit is high, so that an erasure that waits for unavailable parts does not give up after some kills.
MEMOS_JOB_ATTEMPTS = 25


def now() -> datetime:
    """Returns the time with the offset."""
    return datetime.now(UTC) + timedelta(seconds=float(_FILE.read_text("ascii") or 0))


timezone.now = now
