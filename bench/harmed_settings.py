"""The settings of MemOS under the harm of bench/faults.py. What Django and MemOS call now is off by seconds.

The number of seconds is in the file that FAULTS_CLOCK names. `timezone.now` is where all of MemOS reads the time.
PostgreSQL, Valkey and waiting (`time.monotonic`) go on undisturbed.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from memos_site.settings import *  # noqa: F403 - these are the settings

_FILE = Path(os.environ["FAULTS_CLOCK"])

MEMOS_SUMMARY_LOCK_SECONDS = 10
# An erasure's wait for parts that are away must not count against a job that was killed four times.
MEMOS_JOB_ATTEMPTS = 25


def now() -> datetime:
    """The time with the offset."""
    return datetime.now(UTC) + timedelta(seconds=float(_FILE.read_text("ascii") or 0))


timezone.now = now
