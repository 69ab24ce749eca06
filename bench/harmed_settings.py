"""The settings of MemOS under the harm of bench/faults.py, in which the current time is off by some seconds.

The file named by FAULTS_CLOCK has the number of seconds. All of MemOS reads the time from `timezone.now`. PostgreSQL,
Valkey and waiting (`time.monotonic`) are not affected.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from memos_site.settings import *  # noqa: F403 - these are the settings

_FILE = Path(os.environ["FAULTS_CLOCK"])

MEMOS_SUMMARY_LOCK_SECONDS = 10
# An erasure that waits for parts of the server must not fail because its job was also killed four times.
MEMOS_JOB_ATTEMPTS = 25


def now() -> datetime:
    """Return the time with the offset."""
    return datetime.now(UTC) + timedelta(seconds=float(_FILE.read_text("ascii") or 0))


timezone.now = now
