"""The settings of MemOS, with waits and attempts that a test of a kill can outlast."""

import os

from memos_site.settings import *  # noqa: F403

MEMOS_SUMMARY_LOCK_SECONDS = 5
MEMOS_WEBHOOK_SECONDS = 60.0
MEMOS_JOB_ATTEMPTS = int(os.environ.get("CRASH_JOB_ATTEMPTS", "5"))
