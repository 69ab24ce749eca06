"""Room on the disks of files that are looked at, and of the database that `make run` starts."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.db import connection

from memory.errors import NoRoom

# PostgreSQL and the others of a machine go on writing: so much of a disk stays free, and less of a small one.
LEFT_BYTES = 2**30
_LEFT_SHARE = 20


def write_file(path: Path, chunks: Iterable[bytes | memoryview], *, size: int = 0) -> None:
    """Writes a file that has `size` bytes, as far as that is known. Raises NoRoom when the disk has none for it."""
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
    """Raises NoRoom when `size` bytes more have no room in the database, where its disk is one of this machine."""
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
