"""Opens a file to import: plain, or a zip of which only the requested parts are read, in place.

Only a zip within a zip is unpacked to disk, and the directory of a zip is checked before any of it is read.
"""

from __future__ import annotations

import codecs
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from memory.parsers.encoding import find_encoding, find_wide
from memory.parsers.refusal import FileRefused
from memory.services.imports.disk import write_file
from memory.services.imports.source import UnreadableImport
from memory.spool import open_folder
from memory.zip_directory import UnsafeDirectory, check_directory

# The limit of one conversation or page, the largest object that is in memory at once.
MAX_ITEM_BYTES = 64 * 1024**2
MAX_MEMBERS = 200_000
MAX_MEMBER_BYTES = 8 * 1024**3
# The levels of nested zips that are opened: a zip of zips of zips.
MAX_LEVELS = 3
# Text shrinks to a tenth; a large file that shrinks to less than a two-hundredth is an attack.
MAX_RATIO = 200
RATIO_COUNTS_FROM = 16 * 1024**2
_MAX_DIRECTORY_BYTES = 64 * 1024**2
_HEAD_BYTES = 4096
_CHUNK_BYTES = 1024**2
# The encoding of a text is detected by this much of its beginning.
_LOOKED_AT_BYTES = 4 * 1024**2
UTF_8 = "utf-8"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1
_AGAIN = "Download it again"
# The usual compressions. Others use a dictionary as large as the file demands.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The beginnings of other kinds of files, and what to do about each.
_OTHERS = {
    b"\x1f\x8b": "is compressed by gzip: unpack it first",
    b"\x80": "is a Python pickle, which is never read: export as JSON",
    b"%PDF": "is a PDF: send it to POST /v1/documents",
    b"7z\xbc\xaf": "is a 7z archive: make it a zip",
    b"Rar!": "is a RAR archive: make it a zip",
    b"SQLite format 3": "is a database: export as JSON",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a member of a zip: its name there (with its folders) and its bytes, read from the start each time that
    it is opened. `guessed`: the `encoding` is not certain."""

    name: str
    size: int
    opened: Callable[[], IO[bytes]]
    encoding: str = UTF_8
    guessed: bool = False

    @property
    def base(self) -> str:
        return PurePosixPath(self.name).name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open its text as UTF-8, without a byte order mark. Raises UnreadableImport when it is damaged."""
        with self.opened() as stream:
            try:
                if self.encoding != UTF_8:
                    yield cast(IO[bytes], _RecodedStream(stream, self.encoding))
                    return
                if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                    stream.seek(0)
                yield stream
            except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
                raise UnreadableImport(f"{self.base} cannot be unpacked: {error}. Download the export again.") from None

    def read_text(self, remedy: str) -> str:
        """Read all of it as text. Raises UnreadableImport with the `remedy` when it is too large or not UTF-8."""
        with self.open() as stream:
            data = stream.read(MAX_ITEM_BYTES + 1)
        if len(data) > MAX_ITEM_BYTES:
            raise UnreadableImport(f"{self.base} is larger than {MAX_ITEM_BYTES // 1024**2} MB. {remedy}")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise UnreadableImport(f"{self.base} is not UTF-8: save it as UTF-8.") from None

    def with_encoding(self) -> Part:
        """Return the part with the encoding detected in its beginning; a part that is not text stays. Raises
        UnreadableImport."""
        with self.open() as stream:
            beginning = stream.read(_LOOKED_AT_BYTES)
        if _is_binary(beginning):
            return self
        try:
            encoding, guessed = find_encoding(beginning)
        except FileRefused as refusal:
            raise UnreadableImport(refusal.says) from None
        return replace(self, encoding=encoding, guessed=guessed)

    def head(self) -> bytes:
        """Return its first bytes."""
        with self.open() as stream:
            return stream.read(_HEAD_BYTES)


def list_parts(path: Path, *, most: int = MAX_MEMBERS, kind: str = "An export") -> list[Part]:
    """Return the file itself, or the members of a zip, of which a file of this `kind` has at most `most`.

    Raises UnreadableImport for a file that is damaged, hostile or not text.
    """
    if is_archive(path):
        return _list_members(path, most, kind)
    with path.open("rb") as stream:
        _refuse_other_kinds(stream.read(_HEAD_BYTES))
    return [Part(path.name, path.stat().st_size, lambda: path.open("rb"))]


def is_archive(path: Path) -> bool:
    """Return whether the file is a zip, by its first bytes."""
    with path.open("rb") as stream:
        return stream.read(len(_ZIPS[0])) in _ZIPS


def open_inner_zips(parts: Sequence[Part], *, packed: int) -> list[Part]:
    """Replace each part that is a zip by its members, whose names begin with that of the zip.

    `packed` is the size of the outer file, which limits the unpacked size. Raises UnreadableImport.
    """
    found, size = list(parts), 0
    for _ in range(MAX_LEVELS - 1):
        zips = [part for part in found if is_zip(part)]
        found = [part for part in found if not is_zip(part)]
        for part in zips:
            size += part.size
            if _is_bomb(size, packed):
                raise _refuse_bomb()
            members = _open_inner(part)
            size += sum(member.size for member in members)
            if _is_bomb(size, packed):
                raise _refuse_bomb()
            found += members
            if len(found) > MAX_MEMBERS:
                raise UnreadableImport(f"The zips in it have more than {MAX_MEMBERS} files: no export has.")
    return found


def is_zip(part: Part) -> bool:
    """Return whether a member of a zip is named as a zip."""
    return part.base.lower().endswith(".zip")


def _open_inner(part: Part) -> list[Part]:
    with open_folder() as folder, part.open() as stream:
        path = folder / "inner.zip"
        write_file(path, iter(partial(stream.read, _CHUNK_BYTES), b""), size=part.size)
        if not is_archive(path):
            raise UnreadableImport(f"{part.base} is no zip: {_AGAIN.lower()}, or take it out.")
        # The opened file outlives the folder.
        return [replace(member, name=f"{part.name}/{member.name}") for member in list_parts(path)]


def _refuse_bomb() -> UnreadableImport:
    return UnreadableImport(
        f"The zip would unpack to more than {MAX_RATIO} times its size: it was made to fill the memory. Nothing of "
        "it was read."
    )


def _refuse_other_kinds(head: bytes) -> None:
    if not head.strip():
        raise UnreadableImport("The file is empty.")
    for mark, says in _OTHERS.items():
        if head.startswith(mark):
            raise UnreadableImport(f"The file {says}.")
    if _is_binary(head):
        raise UnreadableImport("The file is neither text nor a zip: give the export as it was downloaded.")


def _is_binary(beginning: bytes) -> bool:
    return b"\0" in beginning and find_wide(beginning) is None


def _list_members(path: Path, most: int, kind: str) -> list[Part]:
    try:
        check_directory(path, most=most, most_bytes=_MAX_DIRECTORY_BYTES)
        # It stays open as long as one of its parts is referenced.
        archive = zipfile.ZipFile(path)
    except UnsafeDirectory as fault:
        remedy = f"{kind} has no more: nothing of it was read" if fault.is_too_large else _AGAIN
        raise UnreadableImport(f"The zip {fault.says}. {remedy}.") from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError) as error:
        raise UnreadableImport(f"The zip cannot be read: {error}. {_AGAIN}.") from None
    entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
    # Each member alone may be small, and several may share the same bytes.
    if _is_bomb(sum(entry.file_size for entry in entries), path.stat().st_size):
        raise _refuse_bomb()
    return [_check_member(archive, entry) for entry in entries]


def _is_bomb(size: int, packed: int) -> bool:
    return size > RATIO_COUNTS_FROM and size > MAX_RATIO * max(packed, 1)


def _check_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Part:
    name = entry.filename.replace("\\", "/")
    way = PurePosixPath(name)
    if not way.parts:
        raise UnreadableImport("The zip has a file without a name: no export has. Nothing of it was read.")
    if way.is_absolute() or ".." in way.parts or ":" in way.parts[0] or stat.S_ISLNK(entry.external_attr >> 16):
        raise UnreadableImport("The zip has a file whose path leads out of it: no export has. Nothing of it was read.")
    if entry.flag_bits & _ENCRYPTED:
        raise UnreadableImport("The zip has a password: unpack it, and make a zip without one.")
    if entry.compress_type not in _COMPRESSIONS:
        raise UnreadableImport(f"{way.name} is compressed in a rare way: make the zip again, as `zip` does by itself.")
    if entry.file_size > MAX_MEMBER_BYTES:
        raise UnreadableImport(f"{way.name} has {entry.file_size} bytes; {MAX_MEMBER_BYTES} are the limit.")
    if _is_bomb(entry.file_size, entry.compress_size):
        raise UnreadableImport(
            f"{way.name} would unpack to more than {MAX_RATIO} times its size: it was made to fill the memory."
        )
    return Part(name, entry.file_size, lambda: _open_member(archive, entry))


def _open_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return archive.open(entry)
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise UnreadableImport(f"The zip cannot be read: {error}. {_AGAIN}.") from None


class _RecodedStream:
    """A stream in another encoding, read as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, encoding, newline="")

    def read(self, size: int = -1) -> bytes:
        """Read about `size` bytes: that number of characters. Raises UnreadableImport."""
        try:
            return self._text.read(size).encode()
        except UnicodeError:
            raise UnreadableImport(f"The file is no whole {self._text.encoding}: save it as UTF-8.") from None
