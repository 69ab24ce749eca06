"""The settings of MemOS, with delays and attempts short enough for a test that kills processes."""

import os

from memos_site.settings import *  # noqa: F403

MEMOS_SUMMARY_LOCK_SECONDS = 5
MEMOS_WEBHOOK_SECONDS = 60.0
MEMOS_JOB_ATTEMPTS = int(os.environ.get("CRASH_JOB_ATTEMPTS", "5"))
