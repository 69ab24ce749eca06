"""Runs PostgreSQL with pgvector, and Valkey, from Python wheels, without Docker, root or downloads at run time.

Each server is a child of this process, listens only on a Unix socket in a private folder, and stores its data in the
data folder. Unlike the launchers of the wheels, this works in paths with spaces, and leaves no daemon if it is killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from memos_site.embedded.postgres import POSTGRES_OPTIONS, Postgres
from memos_site.embedded.server import EmbeddedError, Server, die_with_parent
from memos_site.embedded.valkey import Valkey

__all__ = ["POSTGRES_OPTIONS", "EmbeddedError", "EmbeddedServers", "Postgres", "Server", "Valkey", "die_with_parent"]


class EmbeddedServers:
    """Manages the servers of a data folder that the environment does not name; one process at a time may own them."""

    def __init__(self, data_dir: Path, *, database: bool = True, redis: bool = True) -> None:
        self.data_dir = data_dir.resolve()
        self._lock: int | None = None
        tag = hashlib.sha256(str(self.data_dir).encode()).hexdigest()[:12]
        # Socket paths are limited to some 100 bytes, so they live under the system's temporary folder.
        base = Path(tempfile.gettempdir()) / f"memos-{os.geteuid()}-{tag}"
        self._base = base
        self.postgres = Postgres(self.data_dir / "postgres", base / "pg") if database else None
        self.valkey = Valkey(self.data_dir / "valkey", base / "valkey") if redis else None

    @property
    def servers(self) -> list[Server]:
        return [server for server in (self.postgres, self.valkey) if server is not None]

    @property
    def private_dir(self) -> Path:
        """Returns a folder for sockets that only this user can enter; it exists from `launch` to `stop`."""
        return self._base / "private"

    @property
    def urls(self) -> dict[str, str]:
        """Returns the settings that name the servers."""
        urls = {}
        if self.postgres:
            urls["DATABASE_URL"] = self.postgres.url
        if self.valkey:
            urls["REDIS_URL"] = self.valkey.url
        return urls

    def launch(self) -> None:
        """Starts the servers, which answer after `wait_ready`. Raises EmbeddedError if the folder is in use."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        self._make_socket_dirs()
        for server in self.servers:
            server.start()

    def wait_ready(self) -> None:
        """Waits until all servers answer. Raises EmbeddedError with the end of the log of one that does not."""
        for server in self.servers:
            server.wait_ready()

    def start(self) -> None:
        """Starts the servers and waits until they answer; if that fails, none is left running."""
        try:
            self.launch()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops the servers and removes their sockets."""
        for server in reversed(self.servers):
            server.stop()
        if self._lock is not None:
            shutil.rmtree(self._base, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        handle = os.open(self.data_dir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise EmbeddedError(
                f"another MemOS already uses the data folder {self.data_dir}: stop it, or give this one a "
                "folder of its own with MEMOS_DATA_DIR (and a port with MEMOS_PORT)"
            ) from None
        self._lock = handle

    def _make_socket_dirs(self) -> None:
        self._base.mkdir(mode=0o711, exist_ok=True)
        if self._base.is_symlink() or self._base.stat().st_uid != os.geteuid():
            raise EmbeddedError(f"{self._base} belongs to someone else: remove it")
        for folder in (self.private_dir, *(server.socket_dir for server in self.servers)):
            folder.mkdir(mode=0o700, exist_ok=True)
