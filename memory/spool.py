"""Folders for files that are on a disk while they are looked at.

Each is gone with the block that opened it. What a process that was killed has left is known by its lock, which nobody
holds, and taken away when the next folder is opened, and by the clock.
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
    """A folder that only this user may read."""
    clear_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / _UNLOCKED).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # It has this name only while somebody holds it.
            (folder / _UNLOCKED).rename(folder / _LOCK)
            yield folder


def clear_leftovers() -> int:
    """Takes away this user's folders whose process is gone; returns how many."""
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
            # It went meanwhile, is only just being made, or is in use.
            continue
    return cleared
