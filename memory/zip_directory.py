"""The directory of a zip, checked before `zipfile` opens it: that reads all of it at once, 370 bytes for each entry."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# The record at the end: entries, bytes and place of the directory, in 2, 4 and 4 bytes; a comment may follow.
_END, _END_RECORD, _MAX_COMMENT = b"PK\x05\x06", struct.Struct("<4s4H2LH"), 65_535
# Before it, where numbers do not fit into it: the record with larger ones, and where that is.
_LARGE_END, _LARGE_END_RECORD = b"PK\x06\x06", struct.Struct("<4sQ2H2L4Q")
_LOCATOR, _LOCATOR_RECORD = b"PK\x06\x07", struct.Struct("<4sLQL")
_ENTRY, _ENTRY_RECORD = b"PK\x01\x02", struct.Struct("<4s24x3H12x")
_UNTRUE = "lists other files than its end says: it is damaged, or was made to do harm"


class UnsafeDirectory(Exception):
    """`says` follows the name of the file: what is wrong. `is_too_large`: a limit was passed, nothing is damaged."""

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
    """Reads what the end of a zip says of its directory, and follows that without keeping it.

    Raises UnsafeDirectory for more than `most` entries, for a directory of more than `most_bytes`, and for one that
    is not what the end says, by its entries, bytes or place.
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
        # What stands there is believed by zipfile, whatever the usual end says.
        place = locator - _LARGE_END_RECORD.size
        if place < 0 or not tail.startswith(_LARGE_END, place):
            raise UnsafeDirectory("is cut off")
        *_, entries, directory, offset = _LARGE_END_RECORD.unpack_from(tail, place)
        _, _, named, _ = _LOCATOR_RECORD.unpack_from(tail, locator)
        if named - offset != directory:
            raise UnsafeDirectory(_UNTRUE)
    start = tail_start + place - directory
    # Bytes may stand before a zip, as in a program that unpacks itself; its directory cannot lie behind its end.
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
