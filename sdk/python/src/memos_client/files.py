"""Reads files that are sent in parts."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

FilePath = str | PathLike[str]


def measure(path: FilePath) -> tuple[int, str]:
    """Return a file's size in bytes and its SHA-256 in hex. Raises OSError."""
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return stream.tell(), digest.hexdigest()


def read_part(path: FilePath, number: int, size: int) -> bytes:
    """Return part `number`, counted from 0, of `size` bytes; the last part may be shorter. Raises OSError."""
    with Path(path).open("rb") as stream:
        stream.seek(number * size)
        return stream.read(size)
