"""Temporary folders for files on disk while they are inspected.

Each is deleted at the end of its block. What a killed process leaves behind is recognised by its unlocked lock file,
and deleted when the next folder is opened and by a schedule.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "memos-spool-"
_LOCK, _UNLOCKED = "lock", "lock.new"


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a folder that only this user may read."""
    clear_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / _UNLOCKED).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # The file has this name only while it is locked.
            (folder / _UNLOCKED).rename(folder / _LOCK)
            yield folder


def clear_leftovers() -> int:
    """Delete this user's folders whose process is gone; return how many."""
    cleared = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                cleared += 1
        except (FileNotFoundError, BlockingIOError):
            # It was deleted meanwhile, is just being created, or is in use.
            continue
    return cleared
