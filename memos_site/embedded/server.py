"""Runs a server as a child process: starts it, waits until it answers, and stops it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 20.0
_PR_SET_PDEATHSIG = 1


class EmbeddedError(RuntimeError):
    """Raised if an embedded server cannot be started; the message says why and what to do."""


class Server:
    """Represents a child process that answers on a Unix socket."""

    name = "server"
    stop_signal = signal.SIGTERM

    def __init__(self, data_dir: Path, socket_dir: Path) -> None:
        self.data_dir = data_dir
        self.socket_dir = socket_dir
        self.process: subprocess.Popen[bytes] | None = None
        self.log_file = data_dir.parent / "logs" / f"{self.name}.log"

    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def socket_path(self) -> Path:
        raise NotImplementedError

    def prepare(self) -> None:
        """Prepares the data folder for the first start."""

    @property
    def user(self) -> str | None:
        """Returns the system user that the server runs as; None for the current one."""
        return None

    def start(self) -> None:
        """Starts the process, which answers after `wait_ready`. Children of an earlier process are killed first."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        # Data and logs may contain memory text, so no other user of the machine may read them.
        for folder in (self.data_dir, self.log_file.parent):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        self.prepare()
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own command line
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data_dir,
                # The rest of the environment has the secret key, and PostgreSQL may run as another user.
                env={name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ},
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
                # Ctrl-C in the terminal reaches the whole process group, but servers must outlive the processes that
                # use them.
                start_new_session=True,
                preexec_fn=die_with_parent(self.stop_signal),  # noqa: PLW1509 - no thread runs yet
            )

    def is_ready(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.socket_path)) == 0

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process is None or self.process.poll() is not None:
                raise EmbeddedError(f"{self.name} did not start; its log is {self.log_file}:\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{self.name} did not answer in {START_SECONDS:.0f} s; its log is {self.log_file}")
            time.sleep(0.02)

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Stops the server gracefully, or kills it after STOP_SECONDS."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _log_tail(self) -> str:
        return "\n".join(self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    """Returns a `preexec_fn` by which the kernel sends the child `death_signal` when this process dies (Linux only).

    It works even after kill -9. Returns None on other systems.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, death_signal.value, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
