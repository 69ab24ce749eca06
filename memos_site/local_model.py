"""Runs the models of the provider `hf` in one process, which starts when a request arrives."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import select
import socket
import subprocess
from pathlib import Path

from memos_site.processes import ROOT, Process

log = logging.getLogger("memos.run")

_MODULE = "memory.transformers_server"
_CHECK_SECONDS = 60
# The process gets only these variables of the environment, which say where programs, models and the hub are.
_KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_KEPT_PREFIXES = ("HF_", "CUDA_", "ROCR_", "HIP_", "OMP_", "TORCH_", "PYTORCH_")


class LocalModel(Process):
    """Supervises the process that answers at `url`.

    The supervisor keeps the listening socket, where requests wait until the process has started. So the process may end
    whenever it has answered all requests.
    """

    def __init__(self, python: str, *, log_file: Path) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        password = secrets.token_urlsafe(32)
        self.url = f"http://memos:{password}@127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.idle_seconds = 0.0
        self._python = python
        descriptor = self._listener.fileno()
        environment = {**_environment(), "MEMOS_HF_PASSWORD": password}
        super().__init__("local model", [], log_file=log_file, environment=environment, pass_fds=(descriptor,))

    def start(self, *, held: bool = False) -> None:
        self._command = [self._python, "-m", _MODULE, str(self._listener.fileno()), f"{self.idle_seconds:g}"]
        super().start(held=held)

    def tend(self) -> None:
        """Starts the process if a request waits. If it ended with an error, waiting connections are closed."""
        if (status := self.status) is not None:
            self.kill_rest()
            self._child = None
            if status != 0:
                log.error("ended by a fault", extra={"part": self.name, "status": status})
                self._hang_up()
        if self._child is None and select.select([self._listener], [], [], 0)[0]:
            self.start()

    def _hang_up(self) -> None:
        self._listener.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()


def find_problem(python: str) -> str:
    """Says why this Python cannot run the models, and how to mend it; "" when it can."""
    try:
        done = subprocess.run(  # noqa: S603 - the program is the one of the settings, its arguments are constants
            [python, "-m", _MODULE, "--check"],
            capture_output=True,
            timeout=_CHECK_SECONDS,
            env=_environment(),
            cwd=ROOT,
            check=True,
        )
        missing = json.loads(done.stdout)["missing"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return f"MEMOS_HF_PYTHON={python} is no Python that starts: `make install-hf` makes one, and names it."
    if not missing:
        return ""
    return (
        f"MEMOS_HF_PYTHON={python} lacks {', '.join(missing)}, which models of the provider hf need: `make install-hf` "
        "makes a Python that has them, and names it."
    )


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false"}
