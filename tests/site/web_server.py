"""The web server on loopback with `tests.site.echo`, for tests on the wire."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


@contextmanager
def run_web(folder: Path, **environment: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Start the server, yield its port and its first process, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    variables = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.site.echo_settings",
        "MEMOS_SECRET_KEY": "only-for-tests-0123456789012345678901234567890123456789",
        "MEMOS_DATA_DIR": str(folder),
        "MEMOS_PORT": str(port),
        "MEMOS_EMBEDDING_PROVIDER": "hash",
        "MEMOS_WEB_WORKERS": "1",
        **environment,
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "memos_site.web"], cwd=ROOT, env=variables, stderr=log)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
    try:
        yield port, process
    finally:
        process.terminate()
        status = process.wait(30)
    assert status in (0, -signal.SIGKILL)
