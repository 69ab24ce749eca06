"""Gives memory that was freed back to the system. glibc keeps it for later, in a heap for each of a few threads."""

from __future__ import annotations

import ctypes
import threading

EVERY_SECONDS = 30.0


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
