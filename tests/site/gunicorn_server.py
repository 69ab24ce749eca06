"""Gunicorn on loopback with a configuration of its own, for tests of the web server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30


@contextmanager
def run_gunicorn(
    application: str, config: str, folder: Path, **environment: str
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Its port, and its first process. `config` is what its configuration says, with `{port}` where that stands."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    conf = folder / "conf.py"
    conf.write_text(config.replace("{port}", str(port)))
    variables = os.environ | {
        "DJANGO_SETTINGS_MODULE": "memos_site.settings",
        "MEMOS_SECRET_KEY": "test",
        "MEMOS_DATA_DIR": str(folder),
        **environment,
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", application, "--config", str(conf)],
            cwd=ROOT,
            env=variables,
            stdout=log,
            stderr=log,
        )
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
        assert status == 0
