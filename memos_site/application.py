"""The process that loads MemOS once, and forks the web server and the worker, which share what is loaded.

It tells its parent what it finds as JSON, a line each on standard output: the settings that its parent needs; and, once
a line on standard input says that the servers answer, what the start has made. It starts again whichever of the two
ends. With `--again` it makes nothing ready.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from setproctitle import setproctitle

from memory.conf import ConfigurationError
from memos_site import processes, runtime
from memos_site.embedded import EmbeddedError, die_with_parent
from memos_site.first_start import FirstStart, StartSettings
from memos_site.processes import ForkedProcess, Process
from memos_site.servers import data_dir

log = logging.getLogger("memos.run")

# A web server that ends by itself so soon will do so each time.
STARTING_SECONDS = 60.0

# Of <linux/mman.h>.
_MADV_DONTNEED = 4

_CONFIG = str(Path(__file__).resolve().parent / "gunicorn.conf.py")


class Application(Process):
    """The process, as its parent sees it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "memos_site.application"]
        # What it forked ends with it, each part in its own way.
        super().__init__("application", command, log_file=Path(os.devnull), orphan_signal=signal.SIGKILL)

    def start(self) -> None:
        """Starts it; what it logs goes where this process logs."""
        if self._child is not None:
            self._command = [*self._command[:3], "--again"]
        self._launch(stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read_settings(self) -> StartSettings:
        """Waits for the settings. Raises EmbeddedError."""
        return StartSettings(**self._read())

    def begin(self) -> FirstStart:
        """Says that the servers answer, and waits for what was made. Raises EmbeddedError."""
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            self._child.stdin.write("\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended: what it said last tells why.
        return FirstStart(**self._read())

    def _read(self) -> dict[str, Any]:
        assert self._child is not None
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise EmbeddedError(f"making it ready failed (exit status {self._child.wait()}); what it wrote is above")
        told: dict[str, Any] = json.loads(line)
        if "refusal" in told:
            self._child.wait()
            raise EmbeddedError(told["refusal"])
        return told


class _Parts:
    """The web server and the worker."""

    def __init__(self, logs: Path) -> None:
        # Its database goes with us: waiting for requests would only keep the port from our successor.
        self.web = ForkedProcess("web", _serve, log_file=logs / "web.log", orphan_signal=signal.SIGQUIT)
        self.worker = ForkedProcess("worker", _work, log_file=logs / "worker.log")
        self._stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)

    def watch(self) -> int:
        """Starts again what ends, until we are asked to stop; the exit status."""
        starting_until = time.monotonic() + STARTING_SECONDS
        both = (self.web, self.worker)
        try:
            while not self._stopping.wait(0.3):
                if (self.web.status or 0) > 0 and time.monotonic() < starting_until:
                    return 1
                for part in both:
                    if part.has_ended():
                        log.error("restarting", extra={"part": part.name})
                        # A worker killed by force leaves children that would go on beside the new one.
                        part.kill_rest()
                        self._stopping.wait(processes.RESTART_PAUSE_SECONDS)
                        part.start()
        finally:
            processes.stop(both, time.monotonic() + processes.STOP_SECONDS)
        return 0

    def _stop(self, *_: object) -> None:
        self._stopping.set()


def main() -> int:
    """The exit status."""
    setproctitle("memos: application")
    # What others print goes to the log, and not among the lines that the parent reads.
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(value: dict[str, Any]) -> None:
        told.write(json.dumps(value) + "\n")
        told.flush()

    metrics = tempfile.mkdtemp(prefix="memos-metrics-")
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", metrics)
    # What is loaded stays: looking through it meanwhile takes a fifth of the time.
    gc.disable()
    try:
        tell(asdict(_read_settings()))
        load()
        return _run(tell, is_first="--again" not in sys.argv)
    except (EmbeddedError, ConfigurationError) as error:
        tell({"refusal": str(error)})
        return 1
    finally:
        shutil.rmtree(metrics, ignore_errors=True)


def _read_settings() -> StartSettings:
    """Sets Django up. Raises ConfigurationError, and EmbeddedError when the port is taken."""
    import django  # noqa: PLC0415 - the module is imported by who shall not load it
    from django.conf import settings  # noqa: PLC0415

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    django.setup()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.MEMOS_HOST, settings.MEMOS_PORT))
        except OSError as error:
            raise EmbeddedError(
                f"port {settings.MEMOS_PORT} on {settings.MEMOS_HOST} cannot be used ({error.strerror}): "
                "choose another with MEMOS_PORT=8001 make run"
            ) from error
    return StartSettings(
        runtime.local_address(settings.MEMOS_HOST, settings.MEMOS_PORT),
        settings.MEMOS_ADDRESS,
        str(settings.STATIC_ROOT),
        settings.MEMOS_DEMO,
        settings.LOGGING,
        _embedding_arguments(),
        settings.MEMOS_HF_IDLE_SECONDS,
    )


def _embedding_arguments() -> list[str] | None:
    from django.conf import settings  # noqa: PLC0415 - as above

    from memory.providers.embedding.minilm import DEFAULT_MODEL, read_precision  # noqa: PLC0415 - as above

    if settings.MEMOS_EMBEDDING_PROVIDER != "minilm":
        return None
    return [
        "--model-dir",
        str(settings.MEMOS_MODEL_DIR),
        "--precision",
        read_precision(settings.MEMOS_EMBEDDING_MODEL or DEFAULT_MODEL),
        "--threads",
        str(settings.MEMOS_EMBEDDING_THREADS),
    ]


def load() -> None:
    """Loads what both parts need, before they are forked, and sets it aside: a collection that looks through it would
    write into the pages that are shared. Raises ConfigurationError."""
    import_module("memos_site.wsgi")
    # Requests are held against the document, which takes a second to make.
    import_module("memory.api.known_fields").read_document()
    import_module("memory.services.jobs.registry").load_tasks()
    import_module("django_redis.cache")
    import_module("memory.text.tokens").count_tokens("ready")
    _let_go_of_pages("rs_bpe")
    gc.collect()
    gc.freeze()
    gc.enable()


def _let_go_of_pages(package: str) -> None:
    """Unmaps what this process has read of a package's libraries: what is read again comes back from the disk.

    The tokenizer has unpacked its tables from 32 MB of its library, which nobody reads a second time (Linux).
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "madvise"):
        return
    try:
        mapped = Path("/proc/self/smaps").read_text("utf-8", "surrogateescape")
    except OSError:
        return
    start = end = 0
    for line in mapped.splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            # Of another mapping, whose pages are not looked at: what follows is not said of the one before.
            is_read = rest[0] == "r--p" and f"/{package}/" in line
            start, end = (int(place, 16) for place in name.split("-")) if is_read else (0, 0)
        # Pages of which none was written to, as those are that the loader has relocated.
        elif end and line.split() == ["Anonymous:", "0", "kB"]:
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)


def _run(tell: Callable[[dict[str, Any]], None], *, is_first: bool) -> int:
    sys.stdin.readline()
    parts = _Parts(data_dir() / "logs")
    made = FirstStart(None, None, None, 0)
    if is_first:
        preparing = _Preparing()
        if preparing.is_migrated():
            parts.web.start()  # while it loads, the rest is brought up to date
        try:
            made = preparing.finish()
        except EmbeddedError:
            parts.web.kill_rest()
            raise
    if not parts.web.was_started:
        parts.web.start()
    parts.worker.start()
    tell(asdict(made))
    return parts.watch()


class _Preparing:
    """A process that makes MemOS ready: this one keeps none of it, and has no connection that its children inherit."""

    def __init__(self) -> None:
        self._received, sent = multiprocessing.Pipe(duplex=False)
        fork = multiprocessing.get_context("fork").Process
        self._child = fork(target=_prepare, args=(sent, die_with_parent(signal.SIGKILL)))
        self._child.start()
        sent.close()

    def is_migrated(self) -> bool:
        """Whether the tables are those of this version. Raises EmbeddedError."""
        return bool(self._receive())

    def finish(self) -> FirstStart:
        """Waits for the end. Raises EmbeddedError."""
        made: FirstStart = self._receive()
        self._child.join()
        return made

    def _receive(self) -> Any:
        try:
            return self._received.recv()
        except EOFError:
            self._child.join()
            raise EmbeddedError(
                f"making it ready failed (exit status {self._child.exitcode}); what it wrote is above"
            ) from None


def _prepare(sent: Connection, bind: Callable[[], None] | None) -> None:
    if bind:
        bind()
    from django.conf import settings  # noqa: PLC0415 - the module is imported by who shall not load it

    from memos_site.bootstrap import bootstrap  # noqa: PLC0415 - as above
    from memos_site.migrated import is_migrated  # noqa: PLC0415 - as above

    sent.send(is_migrated())
    sent.send(bootstrap(demo=settings.MEMOS_DEMO))


def _serve() -> None:
    from gunicorn.app.wsgiapp import run  # noqa: PLC0415 - the module is imported by who shall not load it

    sys.argv = ["gunicorn", "memos_site.wsgi:application", "--config", _CONFIG]
    run()


def _work() -> None:
    from django.core.management import call_command  # noqa: PLC0415 - the module is imported by who shall not load it

    call_command("qcluster")


if __name__ == "__main__":
    sys.exit(main())
