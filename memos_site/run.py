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
from memos_site import local_model, log_files, runtime
from memos_site.embedded import EmbeddedError, EmbeddedServers, Server
from memos_site.first_start import FirstStart, StartSettings, announce, list_secrets
from memos_site.local_model import LocalModel
from memos_site.processes import Preparation, Process
from memos_site.servers import data_dir

log = logging.getLogger("memos.run")

READY_SECONDS = 60.0
LOGS_EVERY_SECONDS = 60.0
RESTART_PAUSE_SECONDS = 1.0


class Supervisor:
    """The servers of one data folder, the embedding process, the web server and the worker."""

    def __init__(self) -> None:
        self._folder = data_dir()
        self._stopping = threading.Event()
        self._servers = EmbeddedServers(
            self._folder, database=not _is_set("DATABASE_URL"), redis=not _is_set("REDIS_URL")
        )
        # They are listed in the order in which they are stopped: requests that are under way still need vectors.
        self._processes: list[Process] = []
        self._local_model: LocalModel | None = None
        # Another MemOS may own the folder: its runtime file is not ours to remove.
        self._is_announced = False

    def run(self) -> int:
        """Run until a signal; return the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        try:
            return self._run()
        finally:
            self._shut_down()

    def _run(self) -> int:
        os.umask(0o022)
        logs = self._folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        logs.chmod(0o700)
        if not _is_set("MEMOS_SECRET_KEY"):
            os.environ["MEMOS_SECRET_KEY"] = runtime.keep_secret_key(self._folder)
        names = " and ".join(server.name for server in self._servers.servers)
        self._say(f"Starting {names}…" if names else "Reading the settings…")
        self._servers.launch()
        addresses = self._servers.urls
        has_embedding = not _is_set("MEMOS_EMBEDDING_SOCKET")
        if has_embedding:
            addresses["MEMOS_EMBEDDING_SOCKET"] = str(self._servers.private_dir / "embedding.sock")
        if (python := os.environ.get("MEMOS_HF_PYTHON")) and not _is_set("MEMOS_HF_BASE_URL"):
            if problem := local_model.find_problem(python):
                raise ConfigurationError(problem)
            self._local_model = LocalModel(python, log_file=logs / "local-model.log")
            addresses["MEMOS_HF_BASE_URL"] = self._local_model.url
        os.environ.update(addresses)
        metrics = self._servers.private_dir / "metrics"
        metrics.mkdir(exist_ok=True)
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(metrics))
        (self._folder / "static").mkdir(exist_ok=True)
        preparation = Preparation()
        # Its database goes with us: a web server without one would only keep the port from our successor.
        web = Process("web", _WEB, log_file=logs / "web.log", orphan_signal=signal.SIGKILL)
        # It loads while MemOS is made ready, and begins when that is done.
        self._start(web, held=True)
        try:
            settings, made = self._prepare(preparation, web, addresses, logs, has_embedding=has_embedding)
        finally:
            preparation.end()
        if not self._wait_until_up(settings.address, logs / "web.log"):
            # A secret that is shown once must not be lost with a start that fails.
            print("\n".join(list_secrets(made, self._folder)), file=sys.stderr)
            return 0 if self._stopping.is_set() else 1
        announce(settings.address, self._folder, made, demo=settings.demo)
        self._supervise()
        return 0

    def _prepare(
        self, preparation: Preparation, web: Process, addresses: dict[str, str], logs: Path, *, has_embedding: bool
    ) -> tuple[StartSettings, FirstStart]:
        """Start what settings name, make MemOS ready, and let the web server and the worker begin."""
        settings = StartSettings(**preparation.read())
        logging.config.dictConfig(settings.logging)
        if has_embedding and settings.embedding is not None:
            command = [*_EMBEDDING, addresses["MEMOS_EMBEDDING_SOCKET"], *settings.embedding]
            self._start(Process("embedding", command, log_file=logs / "embedding.log"))
        if self._local_model is not None:
            self._local_model.idle_seconds = settings.hf_idle_seconds
        self._servers.wait_ready()
        self._is_announced = True
        runtime.write_runtime(self._folder, MEMOS_ADDRESS=settings.public_address, **addresses)
        preparation.go_on()
        if not preparation.read()["is_migrated"]:
            self._say("Making the tables" + (" and the demo data…" if settings.demo else "…"))
        made = FirstStart(**preparation.read())
        self._say("Starting the web server and the worker…")
        web.release()
        self._start(Process("worker", _WORKER, log_file=logs / "worker.log"))
        return settings, made

    def _start(self, process: Process, *, held: bool = False) -> None:
        self._processes.insert(0, process)
        process.start(held=held)

    def _wait_until_up(self, address: str, log_file: Path) -> bool:
        deadline = time.monotonic() + READY_SECONDS
        while not self._stopping.is_set() and time.monotonic() < deadline:
            if any(process.name == "web" and process.status is not None for process in self._processes):
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
        """Start again whatever ends, until we are asked to stop."""
        logs_seen_at = time.monotonic()
        while not self._stopping.wait(0.3):
            if time.monotonic() - logs_seen_at > LOGS_EVERY_SECONDS:
                logs_seen_at = time.monotonic()
                self._rotate_logs()
            for server in self._servers.servers:
                if not server.is_running():
                    self._restart(server)
            for process in self._processes:
                if process.status is not None:
                    log.error("restarting", extra={"part": process.name, "status": process.status})
                    process.kill_rest()
                    self._stopping.wait(RESTART_PAUSE_SECONDS)
                    process.start()
            if self._local_model is not None:
                self._local_model.tend()

    def _rotate_logs(self) -> None:
        try:
            rotated = log_files.rotate(self._folder / "logs")
        except OSError as error:
            log.error("logs cannot be kept small", extra={"reason": str(error)})
        else:
            if rotated:
                log.info("logs rotated", extra={"files": ", ".join(rotated)})

    def _restart(self, server: Server) -> None:
        """Try once; the supervision comes back to a server that did not make it."""
        log.error("restarting", extra={"part": server.name})
        try:
            server.start()
            server.wait_ready()
        except (EmbeddedError, OSError) as error:
            log.error("not up yet", extra={"part": server.name, "reason": str(error)})
            self._stopping.wait(RESTART_PAUSE_SECONDS)

    @staticmethod
    def _say(doing: str) -> None:
        print(doing, flush=True)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()

    def _shut_down(self) -> None:
        for process in self._processes:
            process.stop()
        if self._local_model is not None:
            self._local_model.stop()
        self._servers.stop()
        if self._is_announced:
            runtime.remove_runtime(self._folder)


_WEB = [sys.executable, "-m", "memos_site.web"]
_WORKER = [sys.executable, "manage.py", "qcluster"]
_EMBEDDING = [sys.executable, "-m", "memory.providers.minilm.server"]


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310 - our own address
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> int:
    try:
        return Supervisor().run()
    except (EmbeddedError, ConfigurationError) as error:
        print(f"MemOS cannot start: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
