"""Checks for room on the disks of temporary files, and of the database that `make run` starts."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.db import connection

from memory.errors import NoRoom

# This much of a disk stays free, or less of a small one, because PostgreSQL and other programs go on writing.
LEFT_BYTES = 2**30
_LEFT_SHARE = 20


def write_file(path: Path, chunks: Iterable[bytes | memoryview], *, size: int = 0) -> None:
    """Write a file of `size` bytes, as far as that is known. Raises NoRoom when the disk has no room for it."""
    mend = "free some, or give MemOS another place by TMPDIR."
    _check_disk(path.parent, size, shown=path.parent.parent, mend=mend)
    try:
        with path.open("wb") as stream:
            for chunk in chunks:
                stream.write(chunk)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoRoom(f"{path.parent.parent} on the server is full: {mend}") from error


def check_database(size: int) -> None:
    """Raise NoRoom when the database has no room for `size` more bytes, if its disk belongs to this machine."""
    folder = Path(settings.MEMOS_DATA_DIR) / "postgres"
    # `make run` starts the server of this folder, which listens on a socket.
    if str(connection.settings_dict["HOST"]).startswith("/") and folder.is_dir():
        _check_disk(folder, size, shown=folder, mend="free some; uploads go when they are imported, loaded or deleted.")


def _check_disk(folder: Path, size: int, *, shown: Path, mend: str) -> None:
    usage = shutil.disk_usage(folder)
    left = min(LEFT_BYTES, usage.total // _LEFT_SHARE)
    if size > usage.free - left:
        what = f"the file takes {size}" if size else "a file takes more"
        raise NoRoom(
            f"{shown} on the server has {usage.free} bytes free, of which {left} stay free, and {what}: {mend}"
        )
