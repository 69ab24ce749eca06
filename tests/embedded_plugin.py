"""Starts the embedded PostgreSQL and Valkey before Django reads its settings; tests need no server of yours.

Loaded by `-p tests.embedded_plugin` (pyproject.toml), so that it runs before pytest-django. With DATABASE_URL and
REDIS_URL set, those servers are used. In a parallel run (`-n 2`) the workers share the PostgreSQL of the process that
leads them, each with a database of its own, and each has its own Valkey.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from memos_site.embedded import EmbeddedServers

_folder = Path(tempfile.mkdtemp(prefix="memos-tests-"))
_leader_has_redis = os.environ.get("MEMOS_TESTS_REDIS") == "embedded"
_servers = EmbeddedServers(
    _folder / "data",
    database=not os.environ.get("DATABASE_URL"),
    redis=_leader_has_redis or not os.environ.get("REDIS_URL"),
)
if not os.environ.get("REDIS_URL"):
    os.environ["MEMOS_TESTS_REDIS"] = "embedded"
os.environ["MEMOS_DATA_DIR"] = str(_folder / "data")
os.environ["MEMOS_SECRET_KEY"] = "only-for-tests-" + "x" * 50
os.environ["MEMOS_EMBEDDING_PROVIDER"] = "hash"
os.environ["MEMOS_REQUEST_LOG"] = "0"
os.environ["MEMOS_ALLOWED_HOSTS"] = "localhost,127.0.0.1,testserver"
for _name in ("MEMOS_DEBUG", "MEMOS_ANONYMOUS", "MEMOS_LLM_ENABLED", "MEMOS_LLM_API_KEY", "MEMOS_EMBEDDING_MODEL"):
    os.environ.pop(_name, None)
_servers.start()
os.environ.update(_servers.urls)


def pytest_unconfigure(config: pytest.Config) -> None:
    _servers.stop()
    shutil.rmtree(_folder, ignore_errors=True)
