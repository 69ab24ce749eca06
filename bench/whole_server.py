"""Runs a separate MemOS, as `make run` starts it, for measurements under load or faults.

Supervisor, web server, worker, PostgreSQL and Valkey use a scratch folder; each process is known by its role.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 180.0
STOP_SECONDS = 60.0

# The role of a process is the first one whose words are in its command line.
_ROLES = (
    ("valkey-server", "valkey"),
    ("granian", "web"),
    ("qcluster", "worker"),
    ("minilm.server", "embedding"),
    ("memos_site.run", "supervisor"),
)


class WholeServer:
    """Starts and stops the server, and finds its processes.

    `settings` are added to the environment of all processes of MemOS; MEMOS_ variables of the caller are not inherited.
    `key` is the API key that the first start made.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port = _free_port()
        self.key = ""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MEMOS_", "DATABASE_", "REDIS_", "PROMETHEUS_", "PYTHONDONTWRITEBYTECODE"))
        }
        own = {"MEMOS_DATA_DIR": str(folder), "MEMOS_PORT": str(self.port), "MEMOS_DEMO": "0"}
        self.environment = {**kept, **own, **settings}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_file(self) -> Path:
        return self.folder / "supervisor.log"

    def launch(self) -> None:
        """Starts the supervisor without waiting; its output goes to `log_file`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memos_site.run"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start(self) -> None:
        """Starts the server and waits until it is up. Raises RuntimeError with the end of its log if that fails."""
        before = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.launch()
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            said = self.log_file.read_bytes()[before:].decode("utf-8", "replace")
            if "Ctrl-C stops" in said:
                self.key = self.key or _key_in(said)
                return
            if not self.is_running():
                break
            time.sleep(0.1)
        raise RuntimeError("the server did not start:\n" + self.log_file.read_text("utf-8", "replace")[-3000:])

    def is_running(self) -> bool:
        """Tells whether the supervisor runs."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stops the server like Ctrl-C, or kills it after STOP_SECONDS."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for process in self.processes():
                process.kill()
            self._process.wait()

    def processes(self) -> list[psutil.Process]:
        """Returns the supervisor and all processes below it that still run."""
        if self._process is None:
            return []
        try:
            top = psutil.Process(self._process.pid)
            return [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def by_role(self) -> dict[str, list[psutil.Process]]:
        """Returns the processes by role.

        The roles are supervisor, web master, web worker, worker main, worker guard, worker part (started by the guard),
        valkey, postmaster, postgres backend (one a connection) and postgres helper.
        """
        found: dict[str, list[psutil.Process]] = {}
        processes = self.processes()
        roles: dict[int, str] = {}
        for process in processes:
            try:
                roles[process.pid] = role = _role(process, roles)
            except psutil.NoSuchProcess:
                continue
            found.setdefault(role, []).append(process)
        return found

    def urls(self) -> dict[str, str]:
        """Returns DATABASE_URL and REDIS_URL of its servers. Raises OSError while they are not up."""
        state = json.loads((self.folder / "runtime.json").read_text("utf-8"))
        return {name: state[name] for name in ("DATABASE_URL", "REDIS_URL")}

    def manage(self, *arguments: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
        """Runs a management command against this server."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )


def _role(process: psutil.Process, roles: dict[int, str]) -> str:
    """Returns the role of a process; `roles` has those of the processes above it. Raises psutil.NoSuchProcess."""
    parent = roles.get(process.ppid(), "")
    if parent == "postmaster":
        is_backend = "[local]" in " ".join(process.cmdline())
        return "postgres backend" if is_backend else "postgres helper"
    if parent in ("web master", "web worker"):
        return "web worker"
    if parent == "worker main":
        return "worker guard" if "qcluster" in " ".join(process.cmdline()) else "worker helper"
    if parent == "worker guard":
        return "worker part"
    words = " ".join(process.cmdline())
    if "/bin/postgres" in words:
        return "postmaster"
    for word, role in _ROLES:
        if word in words:
            return {"web": "web master", "worker": "worker main"}.get(role, role)
    return "other"


def _key_in(said: str) -> str:
    for line in said.splitlines():
        if "API key" in line and "mos_" in line:
            return line.split()[2]
    raise RuntimeError("the first start made no API key")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
