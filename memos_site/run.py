"""`make run`: starts everything, keeps it running, says where it is, and stops all of it on Ctrl-C."""

from __future__ import annotations

import logging
import logging.config
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

from memory.conf import ConfigurationError
from memos_site import local_model, log_files, processes, runtime
from memos_site.application import Application
from memos_site.embedded import EmbeddedError, EmbeddedServers, Server
from memos_site.first_start import FirstStart
from memos_site.local_model import LocalModel
from memos_site.processes import Process
from memos_site.servers import data_dir, in_environment

log = logging.getLogger("memos.run")

READY_SECONDS = 60.0
LOGS_EVERY_SECONDS = 60.0
# A process that stops its own parts has a little longer than they have.
STOP_SECONDS = processes.STOP_SECONDS + 5


class Supervisor:
    """The servers, the embedding process, and the application with its web server and worker, of one data folder."""

    def __init__(self) -> None:
        self._folder = data_dir()
        self._stopping = threading.Event()
        self._servers = EmbeddedServers(
            self._folder, database=not _is_set("DATABASE_URL"), redis=not _is_set("REDIS_URL")
        )
        self._embedding: Process | None = None
        self._local_model: LocalModel | None = None
        self._application = Application()
        # Another MemOS may own the folder: its runtime file is not ours to remove.
        self._is_announced = False

    def run(self) -> int:
        """Runs until a signal; the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        try:
            return self._run()
        finally:
            self._shut_down()

    def _run(self) -> int:
        os.umask(0o022)
        self._folder.mkdir(parents=True, exist_ok=True)
        if not _is_set("MEMOS_SECRET_KEY"):
            os.environ["MEMOS_SECRET_KEY"] = runtime.keep_secret_key(self._folder)
        self._servers.launch()
        addresses = self._servers.urls
        has_embedding = not _is_set("MEMOS_EMBEDDING_SOCKET")
        if has_embedding:
            addresses["MEMOS_EMBEDDING_SOCKET"] = str(self._servers.private_dir / "embedding.sock")
        if (python := os.environ.get("MEMOS_HF_PYTHON")) and not _is_set("MEMOS_HF_BASE_URL"):
            if problem := local_model.find_problem(python):
                raise ConfigurationError(problem)
            self._local_model = LocalModel(python, log_file=self._folder / "logs" / "local-model.log")
            addresses["MEMOS_HF_BASE_URL"] = self._local_model.url
        os.environ.update(addresses)
        self._application.start()
        settings = self._application.read_settings()
        logging.config.dictConfig(settings.logging)
        logs = self._folder / "logs"
        for folder in (logs, Path(settings.static_root)):
            folder.mkdir(exist_ok=True)
        logs.chmod(0o700)
        if has_embedding and settings.embedding is not None:
            command = [*_EMBEDDING, addresses["MEMOS_EMBEDDING_SOCKET"], *settings.embedding]
            self._embedding = Process("embedding", command, log_file=logs / "embedding.log")
            self._embedding.start()
        if self._local_model is not None:
            self._local_model.idle_seconds = settings.hf_idle_seconds
        self._servers.wait_ready()
        self._is_announced = True
        runtime.write_runtime(self._folder, MEMOS_ADDRESS=settings.public_address, **addresses)
        made = self._application.begin()
        if not self._wait_until_up(settings.address, logs / "web.log"):
            # A secret that is shown once must not be lost with a start that fails.
            print("\n".join(_secrets(made, self._folder)), file=sys.stderr)
            return 0 if self._stopping.is_set() else 1
        _announce(settings.address, self._folder, made, demo=settings.demo)
        self._supervise()
        return 0

    def _wait_until_up(self, address: str, log_file: Path) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        while not self._stopping.is_set() and time.monotonic() < deadline:
            if self._application.has_ended():
                print(f"The web server did not start; {log_file} says why. Its end:", file=sys.stderr)
                print("\n".join(log_file.read_text("utf-8", "replace").splitlines()[-20:]), file=sys.stderr)
                return False
            if _answers(f"{address}/health/live"):
                return True
            time.sleep(0.05)
        if not self._stopping.is_set():
            print(f"The web server did not answer in {READY_SECONDS:.0f} s; see {log_file}", file=sys.stderr)
        return False

    def _supervise(self) -> None:
        """Starts again whatever ends, until we are asked to stop."""
        logs_seen_at = time.monotonic()
        while not self._stopping.wait(0.3):
            if time.monotonic() - logs_seen_at > LOGS_EVERY_SECONDS:
                logs_seen_at = time.monotonic()
                self._rotate_logs()
            for server in self._servers.servers:
                if not server.is_running():
                    self._restart(server)
            for process in (self._embedding, self._application):
                if process is not None and process.has_ended():
                    self._start_again(process)
            if self._local_model is not None:
                self._local_model.tend()

    def _start_again(self, process: Process) -> None:
        log.error("restarting", extra={"part": process.name})
        process.kill_rest()
        self._stopping.wait(processes.RESTART_PAUSE_SECONDS)
        process.start()
        if isinstance(process, Application):
            try:
                process.read_settings()
                process.begin()
            except EmbeddedError as error:
                log.error("not up yet", extra={"part": process.name, "reason": str(error)})

    def _rotate_logs(self) -> None:
        try:
            rotated = log_files.rotate(self._folder / "logs")
        except OSError as error:
            log.error("logs cannot be kept small", extra={"reason": str(error)})
        else:
            if rotated:
                log.info("logs rotated", extra={"files": ", ".join(rotated)})

    def _restart(self, server: Server) -> None:
        """One attempt; the supervision comes back to a server that did not make it."""
        log.error("restarting", extra={"part": server.name})
        try:
            server.start()
            server.wait_ready()
        except (EmbeddedError, OSError) as error:
            log.error("not up yet", extra={"part": server.name, "reason": str(error)})
            self._stopping.wait(processes.RESTART_PAUSE_SECONDS)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()

    def _shut_down(self) -> None:
        # Requests that are under way still need vectors.
        for process in (self._application, self._embedding, self._local_model):
            if process is not None:
                processes.stop([process], time.monotonic() + STOP_SECONDS)
        self._servers.stop()
        if self._is_announced:
            runtime.remove_runtime(self._folder)


_EMBEDDING = [sys.executable, "-m", "memory.providers.minilm.server"]


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - our own address
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _secrets(made: FirstStart, folder: Path) -> list[str]:
    """The login and key that this start made, or how to come by others."""
    python = f"{in_environment(folder)}.venv/bin/python manage.py"
    login = f"  login      made at the first start (forgotten: {python} changepassword {made.admin_user or 'admin'})"
    if made.admin_user:
        shown = made.admin_password or "(the one in MEMOS_ADMIN_PASSWORD)"
        login = f"  login      {made.admin_user} / {shown}    (shown once)"
    key = f"  API key    another: {python} issue_api_key NAME --all-namespaces"
    if made.api_key:
        key = f"  API key    {made.api_key}    (shown once)"
    return [login, key]


def _announce(address: str, folder: Path, made: FirstStart, *, demo: bool) -> None:
    shown_key = made.api_key or "$MEMOS_API_KEY"
    route, body = "/v1/ingest", '{"namespace": "mine", "text": "I prefer the train to the plane."}'
    if demo:
        route = "/v1/query"
        body = '{"namespace": "demo", "query": "How many working days does the store review need?", "lean": true}'
    lines = [
        "",
        f"  MemOS is up at {address}",
        "",
        f"  console    {address}/ops/",
        f"  admin      {address}/admin/",
        f"  API docs   {address}/docs",
        f"  data       {folder}",
        f"  logs       {folder / 'logs'}",
        *_secrets(made, folder),
    ]
    lines += [
        "",
        "  Try it:",
        "",
        f'    curl -s {address}{route} -H "Authorization: Bearer {shown_key}" \\',
        f"      -H 'Content-Type: application/json' -d '{body}'",
        "",
        "  Ctrl-C stops everything; the data stay.",
        "",
    ]
    print("\n".join(lines), flush=True)


def main() -> int:
    try:
        return Supervisor().run()
    except (EmbeddedError, ConfigurationError) as error:
        print(f"MemOS cannot start: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
