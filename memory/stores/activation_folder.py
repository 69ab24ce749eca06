"""The folder of activation caches: one file each, written by llama.cpp's server or MemOS, read and deleted by MemOS.

The file `.memos-activation` in it identifies the folder, so that a row knows which folder has its file, on whatever
machine and wherever it is mounted. It also identifies the installation, because two must not share a folder: each would
delete the other's files. Nothing here is ever unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import struct
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from django.conf import settings

from memory.errors import Conflict

_MARKER = ".memos-activation"
_NAME = re.compile(r"memos-[0-9a-f]{12}-[0-9a-f]{12}-(?P<id>[0-9a-f]{32})\.(slot|safetensors|part)")
# Maximum number of additional tokens that llama.cpp puts into its file; it depends on the version.
_MOST_AROUND = 64
_SLOT_HEAD = struct.Struct("<4sII")
_SLOT_MAGIC = b"qsgg"


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """The folder on this machine. Paths are only made from names that `name_file` returns."""

    path: Path
    id: uuid.UUID

    def path_of(self, name: str) -> Path:
        """Return the path of a file, existing or not. Raise ValueError for a name that `name_file` can't return."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a cache's file.")
        return self.path / name

    def size_of(self, name: str) -> int | None:
        """Return the size of a file in bytes, None if it doesn't exist or isn't a regular file."""
        try:
            found = self.path_of(name).lstat()
        except FileNotFoundError:
            return None
        return found.st_size if _is_regular(found.st_mode) else None

    def delete(self, name: str) -> bool:
        """Delete the file and its `.part`, and sync the folder; return whether there was one. Raise OSError."""
        whole = self.path_of(name)
        deleted = False
        for path in (whole, whole.with_suffix(".part")):
            try:
                path.unlink()
            except FileNotFoundError:
                continue
            deleted = True
        if deleted:
            self.sync()
        return deleted

    def sync(self) -> None:
        """Wait until the folder's directory entries are on disk."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def list_files(self) -> Iterator[tuple[str, uuid.UUID]]:
        """Yield the names of existing cache files with the ids of their caches. Raise OSError."""
        for entry in os.scandir(self.path):
            if found := _NAME.fullmatch(entry.name):
                yield entry.name, uuid.UUID(found["id"])


def open_folder() -> CacheFolder | None:
    """Return the folder of MEMOS_ACTIVATION_DIR, created if necessary; None if the setting is empty.

    Raise Conflict if it can't be used or belongs to another installation.
    """
    if not settings.MEMOS_ACTIVATION_DIR:
        return None
    path = Path(settings.MEMOS_ACTIVATION_DIR)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        marker = _read_marker(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Conflict(
            f"The folder of MEMOS_ACTIVATION_DIR cannot be used ({type(error).__name__}): it must be one that MemOS "
            f"may read and write, with `{_MARKER}` as MemOS wrote it, or without."
        ) from error
    if not hmac.compare_digest(marker["of"], _installation()):
        raise Conflict(
            "The folder of MEMOS_ACTIVATION_DIR belongs to another MemOS (or MEMOS_SECRET_KEY was changed): name a "
            f"folder of this one's own; if the other is gone, empty the folder, `{_MARKER}` too."
        )
    return CacheFolder(path, uuid.UUID(marker["id"]))


def name_file(*, model_sha256: str, prefix_sha256: str, cache_id: uuid.UUID, ending: str) -> str:
    """Return the name of a cache's file, made of its model, its prefix and its row."""
    return f"memos-{model_sha256[:12]}-{prefix_sha256[:12]}-{cache_id.hex}.{ending}"


def has_tokens(path: Path, tokens: Sequence[int]) -> bool:
    """Tell whether a slot's file, as written by llama.cpp, was made of exactly these tokens. Raise OSError.

    Another caller of the server may have used the slot in between; its prompt must not be stored under this name.
    """
    with path.open("rb") as stream:
        head = stream.read(_SLOT_HEAD.size)
        if len(head) < _SLOT_HEAD.size:
            return False
        magic, _version, count = _SLOT_HEAD.unpack(head)
        if magic != _SLOT_MAGIC or not len(tokens) <= count <= len(tokens) + _MOST_AROUND:
            return False
        inside = stream.read(4 * count)
    if len(inside) != 4 * count:
        return False
    held = struct.unpack(f"<{count}i", inside)
    wanted = tuple(tokens)
    return any(held[start : start + len(wanted)] == wanted for start in range(count - len(wanted) + 1))


def _is_regular(mode: int) -> bool:
    return mode & 0o170000 == 0o100000


def _read_marker(path: Path) -> dict[str, str]:
    """Return the content of `.memos-activation`, which is created once, even if several processes start together."""
    marker = path / _MARKER
    if not marker.exists():
        own = path / f"{_MARKER}.{uuid.uuid4().hex}"
        own.write_bytes(orjson.dumps({"id": str(uuid.uuid4()), "of": _installation()}))
        try:
            os.link(own, marker)
        except FileExistsError:
            pass  # Another process was first, so its marker counts.
        finally:
            own.unlink()
    said = orjson.loads(marker.read_bytes())
    return {"id": str(uuid.UUID(said["id"])), "of": str(said["of"])}


def _installation() -> str:
    return hmac.new(settings.SECRET_KEY.encode(), b"activation caches", hashlib.sha256).hexdigest()[:32]
