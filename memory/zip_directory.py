"""Checks the directory of a zip before `zipfile` opens it and reads all of it at once, at 370 bytes per entry."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# The end record: number of entries, size and offset of the directory in 2, 4 and 4 bytes; a comment may follow.
_END, _END_RECORD, _MAX_COMMENT = b"PK\x05\x06", struct.Struct("<4s4H2LH"), 65_535
# If numbers don't fit into it: a record with larger ones before it, and the locator of that.
_LARGE_END, _LARGE_END_RECORD = b"PK\x06\x06", struct.Struct("<4sQ2H2L4Q")
_LOCATOR, _LOCATOR_RECORD = b"PK\x06\x07", struct.Struct("<4sLQL")
_ENTRY, _ENTRY_RECORD = b"PK\x01\x02", struct.Struct("<4s24x3H12x")
_UNTRUE = "lists other files than its end says: it is damaged, or was made to do harm"


class UnsafeDirectory(Exception):
    """Raised for a bad directory; `says` follows the file's name. `is_too_large` means a limit, rather than damage."""

    def __init__(self, says: str, *, is_too_large: bool = False) -> None:
        super().__init__(says)
        self.says = says
        self.is_too_large = is_too_large


@dataclass(frozen=True, slots=True)
class _Directory:
    entries: int
    start: int
    size: int


def check_directory(path: Path, *, most: int, most_bytes: int) -> None:
    """Read the end record of a zip, and walk through its directory without storing it.

    Raise UnsafeDirectory if there are more than `most` entries or `most_bytes`, or if the directory differs from the
    end record in entries, size or place.
    """
    with path.open("rb") as stream:
        found = _read_end(stream, path.stat().st_size)
        if found.entries > most:
            raise UnsafeDirectory(f"has {found.entries} files; {most} are the limit", is_too_large=True)
        if found.size > most_bytes:
            raise UnsafeDirectory(
                f"lists its files in {found.size} bytes; {most_bytes} are the limit", is_too_large=True
            )
        if found.start < 0:
            raise UnsafeDirectory(_UNTRUE)
        _follow(stream, found)


def _read_end(stream: IO[bytes], size: int) -> _Directory:
    before = _LOCATOR_RECORD.size + _LARGE_END_RECORD.size
    tail_start = max(0, size - _END_RECORD.size - _MAX_COMMENT - before)
    stream.seek(tail_start)
    tail = stream.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_RECORD.size:
        raise UnsafeDirectory("is cut off")
    _, _, _, _, entries, directory, offset, _ = _END_RECORD.unpack_from(tail, place)
    locator = place - _LOCATOR_RECORD.size
    if locator >= 0 and tail.startswith(_LOCATOR, locator):
        # zipfile believes this record, whatever the usual end record says.
        place = locator - _LARGE_END_RECORD.size
        if place < 0 or not tail.startswith(_LARGE_END, place):
            raise UnsafeDirectory("is cut off")
        *_, entries, directory, offset = _LARGE_END_RECORD.unpack_from(tail, place)
        _, _, named, _ = _LOCATOR_RECORD.unpack_from(tail, locator)
        if named - offset != directory:
            raise UnsafeDirectory(_UNTRUE)
    start = tail_start + place - directory
    # A zip may follow other bytes, as in a self-extracting program, but its directory can't be after its end record.
    return _Directory(entries, start if start >= offset else -1, directory)


def _follow(stream: IO[bytes], directory: _Directory) -> None:
    stream.seek(directory.start)
    left, entries = directory.size, 0
    while left > 0:
        head = stream.read(_ENTRY_RECORD.size)
        if len(head) < _ENTRY_RECORD.size:
            raise UnsafeDirectory(_UNTRUE)
        mark, *lengths = _ENTRY_RECORD.unpack(head)
        entries += 1
        if mark != _ENTRY or entries > directory.entries:
            raise UnsafeDirectory(_UNTRUE)
        more = sum(lengths)
        stream.seek(more, 1)
        left -= _ENTRY_RECORD.size + more
    if left < 0 or entries != directory.entries:
        raise UnsafeDirectory(_UNTRUE)
