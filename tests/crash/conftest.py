from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server in a folder whose path contains a space."""
    folder: Path = tmp_path_factory.mktemp("crash") / "a data folder"
    running = Server(folder)
    running.start()
    yield running
    if running.supervisor.is_running():
        running.stop()
