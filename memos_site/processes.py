"""Child processes, each in a session of its own, so that one can be ended with everything it started."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memos_site.embedded import EmbeddedError, die_with_parent

log = logging.getLogger("memos.run")

# Processes that wait for requests under way have so long for them.
STOP_SECONDS = 25.0

ROOT = Path(__file__).resolve().parent.parent


class Process:
    """A program whose output goes to a log file.

    `orphan_signal` is sent to it when we are killed. Without an `environment` it has ours.
    """

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
        self.log_file = log_file
        self._command = command
        self._orphan_signal = orphan_signal
        self._environment = environment
        self._pass_fds = pass_fds
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, *, held: bool = False) -> None:
        """Start the program; what an earlier one left running is ended first.

        `held` tells it to wait with its work for `release`, by `--held` and a line on its standard input.
        """
        self.kill_rest()
        with self.log_file.open("ab") as log_file:
            self._child = subprocess.Popen(  # noqa: S603 - our own command line
                [*self._command, *(["--held"] if held else [])],
                stdin=subprocess.PIPE if held else subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                cwd=ROOT,
                env=self._environment,
                pass_fds=self._pass_fds,
                # Ctrl-C is for us, who let it come to its end.
                start_new_session=True,
                preexec_fn=die_with_parent(self._orphan_signal),  # noqa: PLW1509 - no thread runs here
            )

    def release(self) -> None:
        """Let a program begin that was held."""
        if self._child is not None and self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self._child.stdin as line:
                line.write(b"\n")

    @property
    def status(self) -> int | None:
        """The exit status, negative after a signal; None while it runs, and before it was started."""
        return self._child.poll() if self._child else None

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to stop, and end by force what is left of its session after `seconds`."""
        if self._child is not None and self.status is None:
            self._child.terminate()
            try:
                self._child.wait(seconds)
            except subprocess.TimeoutExpired:
                log.warning("did not stop in time", extra={"part": self.name})
        self.kill_rest()

    def kill_rest(self) -> None:
        """End what is left of its session by force."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()


class Preparation:
    """The process that reads the settings and makes MemOS ready (`memos_site.prepare`), line by line."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "memos_site.prepare"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - no thread runs here
        )

    def read(self) -> dict[str, Any]:
        """Wait for the next line. Raises EmbeddedError."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise EmbeddedError(f"making it ready failed (exit status {self._child.wait()}); what it wrote is above")
        said: dict[str, Any] = json.loads(line)
        if "refusal" in said:
            raise EmbeddedError(said["refusal"])
        return said

    def go_on(self) -> None:
        """Say that the servers answer."""
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.close()

    def end(self) -> None:
        """End it, whatever it does."""
        self._child.kill()
        self._child.wait()
