"""Checks zip files, including DOCX, PPTX and XLSX, by what they declare, before anything unpacks them."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from memory.parsers.refusal import FileRefused
from memory.zip_directory import UnsafeDirectory, check_directory

MAX_MEMBERS = 5_000
MAX_MEMBER_BYTES = 256 * 1024**2
MAX_TOTAL_BYTES = 512 * 1024**2
# Office's XML shrinks to a twentieth. A large part that shrinks to less than 1/200 was made to fill memory.
MAX_RATIO = 200
RATIO_COUNTS_FROM = 8 * 1024**2
_MAX_DIRECTORY_BYTES = 2 * 1024**2
_LOCAL_HEADER_BYTES = 30
_ENCRYPTED = 0x1
_LOOKED_AT_BYTES = 4096
_DTD = ("<!DOCTYPE", "<!ENTITY")


def list_names(path: Path) -> list[str]:
    """Return the names of the zip's members. Raise `FileRefused` for a damaged or malicious one."""
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError):
        raise _describe_damage() from None
    for entry in entries:
        _check_member(entry)
    if sum(entry.file_size for entry in entries) > MAX_TOTAL_BYTES:
        raise FileRefused("bomb", f"The file would unpack to more than {MAX_TOTAL_BYTES // 1024**2} MB.")
    _check_overlaps(entries)
    return [entry.filename for entry in entries]


def refuse_declarations(path: Path) -> None:
    """Raise `FileRefused` for a part with a document type: no Office writes one, and it may declare entities."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.filename.lower().endswith((".xml", ".rels", ".vml")):
                    continue
                with archive.open(entry) as stream:
                    head = stream.read(_LOOKED_AT_BYTES)
                # The characters of the mark are ASCII in every encoding, possibly with zeros between them.
                seen = head.replace(b"\0", b"").decode("latin-1").upper()
                if any(mark in seen for mark in _DTD):
                    raise FileRefused(
                        "unsafe_xml",
                        "The file declares XML entities, which no Office does: open it there, and save it again.",
                    )
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError):
        raise _describe_damage() from None


def _check_member(entry: zipfile.ZipInfo) -> None:
    way = PurePosixPath(entry.filename.replace("\\", "/"))
    if way.is_absolute() or ".." in way.parts or stat.S_ISLNK(entry.external_attr >> 16):
        raise FileRefused("damaged", "The file has a part whose path leads out of it: no Office makes such files.")
    if entry.flag_bits & _ENCRYPTED:
        raise FileRefused("encrypted", "The file has a password: save it without one.")
    if entry.file_size > MAX_MEMBER_BYTES:
        raise FileRefused("bomb", f"A part of the file would unpack to more than {MAX_MEMBER_BYTES // 1024**2} MB.")
    if entry.file_size > RATIO_COUNTS_FROM and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
        raise FileRefused(
            "bomb",
            f"A part of the file would unpack to over {MAX_RATIO} times its size: it was made to fill memory.",
        )


def _check_overlaps(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse members that overlap: they make a small file unpack to a large one."""
    before = 0
    for entry in sorted(entries, key=lambda one: one.header_offset):
        if entry.header_offset < before:
            raise FileRefused("bomb", "Parts of the file share their bytes: it was made to fill memory.")
        before = entry.header_offset + _LOCAL_HEADER_BYTES + len(entry.filename) + entry.compress_size


def _check_directory(path: Path) -> None:
    try:
        check_directory(path, most=MAX_MEMBERS, most_bytes=_MAX_DIRECTORY_BYTES)
    except UnsafeDirectory as fault:
        if fault.is_too_large:
            raise FileRefused("bomb", f"The file {fault.says}: it was made to fill memory.") from None
        raise _describe_damage() from None


def _describe_damage() -> FileRefused:
    return FileRefused("damaged", "The file is cut off or damaged: send it again, or save it with its program again.")
