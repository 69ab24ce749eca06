"""Child processes, each in a session of its own, so that one can be ended with everything it started."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from memos_site.embedded import die_with_parent

log = logging.getLogger("memos.run")

RESTART_PAUSE_SECONDS = 1.0
# Processes that wait for requests under way have so long for them.
STOP_SECONDS = 25.0

ROOT = Path(__file__).resolve().parent.parent


class Child(Protocol):
    """A process that is watched by the one that started it."""

    name: str

    def start(self) -> None: ...
    def has_ended(self) -> bool: ...
    def ask_to_stop(self) -> None: ...

    def make_sure(self, deadline: float) -> None:
        """Waits for the end until `deadline` (monotonic seconds), then ends what is left of its session by force."""

    def kill_rest(self) -> None:
        """Ends what is left of its session by force."""


class Process:
    """A separate program. `orphan_signal` is sent to it when we are killed; without an `environment` it has ours."""

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        log_file: Path,
        orphan_signal: signal.Signals = signal.SIGTERM,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._command = command
        self._log_file = log_file
        self._orphan_signal = orphan_signal
        self._environment = environment
        self._pass_fds = pass_fds
        self._child: subprocess.Popen[str] | None = None

    def start(self) -> None:
        with self._log_file.open("ab") as log_file:
            self._launch(stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file)

    def has_ended(self) -> bool:
        return self._child is not None and self._child.poll() is not None

    def ask_to_stop(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def make_sure(self, deadline: float) -> None:
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

    def _launch(self, stdin: int, stdout: int | IO[bytes], stderr: IO[bytes] | None = None) -> subprocess.Popen[str]:
        self._child = subprocess.Popen(  # noqa: S603 - our own command line
            self._command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            env=self._environment,
            pass_fds=self._pass_fds,
            # Ctrl-C is for us, who let it come to its end.
            start_new_session=True,
            preexec_fn=die_with_parent(self._orphan_signal),  # noqa: PLW1509 - no thread runs here
        )
        return self._child


class ForkedProcess:
    """A copy of this process that does `work`, and shares with it what is loaded.

    `orphan_signal` as that of `Process`. Fork only while no other thread of this process runs.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        *,
        log_file: Path,
        niceness: int = 0,
        orphan_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.name = name
        self.log_file = log_file
        self._work = work
        self._niceness = niceness
        self._orphan_signal = orphan_signal
        self._child: multiprocessing.context.ForkProcess | None = None

    def start(self) -> None:
        bind = die_with_parent(self._orphan_signal)
        self._child = multiprocessing.get_context("fork").Process(target=self._run, args=(bind,), name=self.name)
        self._child.start()

    @property
    def was_started(self) -> bool:
        return self._child is not None

    @property
    def status(self) -> int | None:
        """The exit status, negative after a signal; None while it runs."""
        return self._child.exitcode if self._child else None

    def has_ended(self) -> bool:
        return self.status is not None

    def ask_to_stop(self) -> None:
        if self._child is not None:
            self._child.terminate()

    def make_sure(self, deadline: float) -> None:
        if self._child is None:
            return
        self._child.join(max(0.0, deadline - time.monotonic()))
        if not self.has_ended():
            log.warning("did not stop in time", extra={"part": self.name})
        self.kill_rest()

    def kill_rest(self) -> None:
        if self._child is None or self._child.pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.join()

    def _run(self, bind: Callable[[], None] | None) -> None:
        os.setsid()
        if bind:
            bind()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.nice(self._niceness)
        log_file = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for standard in (1, 2):
            os.dup2(log_file, standard)
        os.close(log_file)
        self._work()


def stop(processes: Sequence[Child], deadline: float) -> None:
    """Asks all of them to stop, and ends by force what has not until `deadline` (monotonic seconds)."""
    for process in processes:
        process.ask_to_stop()
    for process in processes:
        process.make_sure(deadline)
