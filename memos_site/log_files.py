"""Keeps the log files of `make run` from filling the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# At 20 requests a second the web server writes some 400 MB a day.
MOST_BYTES = 64 * 1024 * 1024


def rotate(folder: Path, *, most_bytes: int = MOST_BYTES) -> list[str]:
    """Copies each log larger than `most_bytes` to `NAME.log.1`, replacing that, and empties it; returns their names.

    Logs are not renamed, because their writers keep them open for appending. Lines that are written between copying and
    emptying are lost. Raises OSError if there is no room for a copy; the log is then left as it is.
    """
    rotated = []
    for log_file in sorted(folder.glob("*.log")):
        if log_file.stat().st_size <= most_bytes:
            continue
        kept = log_file.with_suffix(".log.1")
        try:
            shutil.copyfile(log_file, kept)
        except OSError:
            if kept.is_file():
                kept.unlink()
            raise
        kept.chmod(0o600)
        os.truncate(log_file, 0)
        rotated.append(log_file.name)
    return rotated
