"""`make run`: starts everything, keeps it running, says where it is, and stops all of it on Ctrl-C."""

from __future__ import annotations

import contextlib
import logging
import logging.config
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

import psycopg

from memory.conf import ConfigurationError
from memos_site import log_files, runtime
from memos_site.embedded import EmbeddedError, EmbeddedServers, Server, die_with_parent
from memos_site.first_start import FirstStart, Preparation
from memos_site.servers import data_dir

log = logging.getLogger("memos.run")

READY_SECONDS = 60.0
STOP_SECONDS = 25.0
RESTART_PAUSE_SECONDS = 1.0
LOGS_EVERY_SECONDS = 60.0
# Requests go first: summaries are made in what they leave.
WORKER_NICENESS = 19


class Process:
    """A child of ours in a session of its own, so that it can be ended with everything it started."""

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        log_file: Path,
        niceness: int = 0,
        orphan_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        """`orphan_signal` is sent to it when we are killed."""
        self.name = name
        self.log_file = log_file
        self._command = command
        self._niceness = niceness
        self._orphan_signal = orphan_signal
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        bind = die_with_parent(self._orphan_signal)

        def prepare() -> None:
            if bind:
                bind()
            os.nice(self._niceness)

        with self.log_file.open("ab") as log_file:
            self._child = subprocess.Popen(  # noqa: S603 - our own command line
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                cwd=Path(__file__).resolve().parent.parent,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - no thread runs here
            )

    def has_ended(self) -> bool:
        return self._child is not None and self._child.poll() is not None

    def ask_to_stop(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def make_sure(self, deadline: float) -> None:
        """Waits for the end until `deadline` (monotonic seconds), then ends what is left of its session by force."""
        if self._child is None:
            return
        try:
            self._child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("did not stop in time", extra={"part": self.name})
        self.kill_rest()

    def kill_rest(self) -> None:
        if self._child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()


class Supervisor:
    """The servers, the embedding process, the web server and the worker of one data folder."""

    def __init__(self) -> None:
        self._folder = data_dir()
        self._stopping = threading.Event()
        self._servers = EmbeddedServers(
            self._folder, database=not _is_set("DATABASE_URL"), redis=not _is_set("REDIS_URL")
        )
        self._embedding: list[Process] = []
        self._processes: list[Process] = []
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
        os.environ.update(addresses)
        preparation = Preparation()
        settings = preparation.read_settings()
        logging.config.dictConfig(settings.logging)
        logs = self._folder / "logs"
        for folder in (logs, Path(settings.static_root)):
            folder.mkdir(exist_ok=True)
        logs.chmod(0o700)
        if has_embedding and settings.embedding is not None:
            command = [*_EMBEDDING, addresses["MEMOS_EMBEDDING_SOCKET"], *settings.embedding]
            self._embedding = [Process("embedding", command, log_file=logs / "embedding.log")]
            self._embedding[0].start()
        self._servers.wait_ready()
        self._is_announced = True
        runtime.write_runtime(self._folder, **addresses)
        # Its database goes with us: waiting for requests would only keep the port from our successor.
        web = Process("web", _WEB, log_file=logs / "web.log", orphan_signal=signal.SIGQUIT)
        worker = Process("worker", _WORKER, log_file=logs / "worker.log", niceness=WORKER_NICENESS)
        self._processes = [web, worker]
        if preparation.begin():
            web.start()  # while it loads, the rest is brought up to date
            made = preparation.finish()
        else:
            made = preparation.finish()
            web.start()
        worker.start()
        if not self._wait_until_up(web, settings.address):
            # What is shown once must not be lost with a start that fails.
            print("\n".join(_secrets(made)), file=sys.stderr)
            return 0 if self._stopping.is_set() else 1
        _announce(settings.address, self._folder, made, demo=settings.demo)
        self._supervise()
        return 0

    def _wait_until_up(self, web: Process, address: str) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        while not self._stopping.is_set() and time.monotonic() < deadline:
            if web.has_ended():
                log_file = web.log_file
                print(f"The web server did not start; {log_file} says why. Its end:", file=sys.stderr)
                print("\n".join(log_file.read_text("utf-8", "replace").splitlines()[-20:]), file=sys.stderr)
                return False
            if _answers(f"{address}/health/live"):
                return True
            time.sleep(0.05)
        if not self._stopping.is_set():
            log_file = web.log_file
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
            for process in (*self._embedding, *self._processes):
                if process.has_ended():
                    log.error("restarting", extra={"part": process.name})
                    # A worker killed by force leaves children that would go on beside the new one.
                    process.kill_rest()
                    self._stopping.wait(RESTART_PAUSE_SECONDS)
                    process.start()

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
        except (EmbeddedError, OSError, psycopg.Error) as error:
            log.error("not up yet", extra={"part": server.name, "reason": str(error)})
            self._stopping.wait(RESTART_PAUSE_SECONDS)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()

    def _shut_down(self) -> None:
        deadline = time.monotonic() + STOP_SECONDS
        # Requests that are under way still need vectors.
        for processes in (self._processes, self._embedding):
            for process in processes:
                process.ask_to_stop()
            for process in processes:
                process.make_sure(deadline)
        self._servers.stop()
        if self._is_announced:
            runtime.remove_runtime(self._folder)


_CONFIG = str(Path(__file__).resolve().parent / "gunicorn.conf.py")
_WEB = [sys.executable, "-m", "gunicorn", "memos_site.wsgi:application", "--config", _CONFIG]
_EMBEDDING = [sys.executable, "-m", "memory.providers.minilm.server"]
_WORKER = [sys.executable, "manage.py", "qcluster"]


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - our own address
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _secrets(made: FirstStart) -> list[str]:
    """The login and key that this start made, or how to come by others."""
    python = ".venv/bin/python manage.py"
    login = f"  login      made at the first start (forgotten: {python} changepassword {made.admin_user or 'admin'})"
    if made.admin_user:
        shown = made.admin_password or "(the one in MEMOS_ADMIN_PASSWORD)"
        login = f"  login      {made.admin_user} / {shown}    (shown once)"
    key = f"  API key    another: {python} issue_api_key NAME --all-namespaces"
    if made.api_key:
        key = f"  API key    {made.api_key}    (shown once)"
    return [login, key]


def _announce(address: str, folder: Path, made: FirstStart, *, demo: bool) -> None:
    shown_key = made.api_key or "$MEMOS_KEY"
    route, body = "/v1/ingest", '{"namespace": "mine", "text": "I prefer the train to the plane."}'
    if demo:
        route = "/v1/query"
        body = '{"namespace": "demo", "query": "How many working days does the store review need?"}'
    lines = [
        "",
        f"  MemOS is up at {address}",
        "",
        f"  console    {address}/ops/",
        f"  admin      {address}/admin/",
        f"  API docs   {address}/docs",
        f"  data       {folder}",
        f"  logs       {folder / 'logs'}",
        *_secrets(made),
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
