"""Gives memory that was freed back to the system. glibc keeps it for later, in a heap for each of a few threads."""

from __future__ import annotations

import ctypes
import os
import threading

EVERY_SECONDS = 30.0
# Python lets one thread in at a time: a heap for each would only hold what others could use again.
HEAPS = 2
# Of <malloc.h>.
_M_ARENA_MAX = -8


def share_heaps() -> bool:
    """Has the threads of this process, and of those it forks, take memory from HEAPS heaps, unless the environment says
    how many; before they are started. Whether there is a glibc that does."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None or "MALLOC_ARENA_MAX" in os.environ:
        return False
    return bool(set_option(_M_ARENA_MAX, HEAPS))


def trim_heaps() -> bool:
    """Whether anything was given back. Takes some ms; where there is no glibc, nothing happens."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))


def trim_regularly() -> None:
    """Has a thread of this process do so every EVERY_SECONDS, as long as the process runs."""
    threading.Thread(target=_run, name="free-memory", daemon=True).start()


def _run() -> None:
    pause = threading.Event()
    while not pause.wait(EVERY_SECONDS):
        trim_heaps()
