"""Files that are sent in parts."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

FilePath = str | PathLike[str]


def measure(path: FilePath) -> tuple[int, str]:
    """The bytes that a file has, and their SHA-256 (hex). Raises OSError."""
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return stream.tell(), digest.hexdigest()


def read_part(path: FilePath, number: int, size: int) -> bytes:
    """Part `number`, from 0 on, of `size` bytes each but for the last. Raises OSError."""
    with Path(path).open("rb") as stream:
        stream.seek(number * size)
        return stream.read(size)
