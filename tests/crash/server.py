"""A complete MemOS as `make run` starts it, on a separate folder and port, whose parts can be killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 90
ENVIRONMENT = {
    "MEMOS_EMBEDDING_PROVIDER": "hash",
    "MEMOS_JOB_TIMEOUT_SECONDS": "30",
    "DJANGO_SETTINGS_MODULE": "tests.crash.settings",
}


class Server:
    """A server that a test can start, query and partly kill."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.port = _free_port()
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("MEMOS_", "DATABASE_", "REDIS_"))
        }
        self.environment = inherited | ENVIRONMENT | {"MEMOS_DATA_DIR": str(folder), "MEMOS_PORT": str(self.port)}
        self.environment |= environment
        self.key = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Start everything and return the output."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memos_site.run"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        lines: list[str] = []
        deadline = time.monotonic() + START_SECONDS
        for line in self._process.stdout:
            lines.append(line)
            if "API key" in line and "mos_" in line:
                self.key = line.split()[2]
            if "Ctrl-C stops" in line:
                return "".join(lines)
            assert time.monotonic() < deadline, "".join(lines)
        raise AssertionError("the server did not start:\n" + "".join(lines))

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Press Ctrl-C, and return the exit status."""
        assert self._process is not None
        self._process.send_signal(number)
        status = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def supervisor(self) -> psutil.Process:
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def part(self, words: str) -> psutil.Process:
        """Return the process below the supervisor that is closest to it and has `words` in its command line."""
        below = self.supervisor.children(recursive=True)
        for child in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                if words in " ".join(child.cmdline()):
                    return child
        raise AssertionError(f"no {words} below the supervisor")

    def kill(self, words: str) -> None:
        """Kill one part with kill -9, and wait until the supervisor has replaced it."""
        victim = self.part(words)
        victim.kill()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if self.part(words).pid != victim.pid:
                    return
            except (AssertionError, psutil.NoSuchProcess):
                pass
            time.sleep(0.1)
        raise AssertionError(f"{words} was not started again")

    def call(self, path: str, body: Any = None, **headers: str) -> Any:
        """Send one request; raise OSError if its status is not 2xx or the answer breaks off."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return json.loads(response.read())
        except http.client.HTTPException as error:
            raise ConnectionError(f"the answer to {path} broke off: {error!r}") from error

    def patient_call(self, path: str, body: Any = None, *, seconds: float = 30, **headers: str) -> Any:
        """Repeat `call` until it is answered."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.call(path, body, **headers)
            except (OSError, urllib.error.URLError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def manage(self, *arguments: str) -> str:
        """Run a management command against this server."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{' '.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


def wait_for(condition: Any, *, seconds: float = 180, what: str) -> Any:
    """Return the first true value of `condition()`, and fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {what}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
