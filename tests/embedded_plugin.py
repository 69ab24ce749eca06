"""Starts the embedded PostgreSQL and Valkey before Django reads its settings, so that tests need no servers of yours.

It is loaded by `-p tests.embedded_plugin` (pyproject.toml). In a parallel run (`-n 2`) each worker starts separate
servers, because state of a whole PostgreSQL (the oldest running transaction, sessions, roles) must not affect other
workers. With DATABASE_URL and REDIS_URL set, those servers are used, which only one test process at a time can share.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from memos_site.embedded import EmbeddedServers

# A test's data need not survive a crash of the machine. Code that asks for durable commits (synchronous_commit) still
# does. Autovacuum's transactions end in the middle of a test's, whose own changes PostgreSQL then treats as visible.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "autovacuum_naptime": "1h"}
# The leading process of a parallel run names here the folder for its workers' data, which it removes at the end.
FOLDER_OF_LEADER = "PYTEST_LEADER_FOLDER"

_folder: Path | None = None
_servers: EmbeddedServers | None = None


# A wrapper runs before pytest-django's hook, which reads the settings.
@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    global _folder, _servers  # noqa: PLW0603 - one process, one set of servers
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and FOLDER_OF_LEADER in os.environ:
        _folder = Path(os.environ[FOLDER_OF_LEADER]) / worker
    else:
        _folder = Path(tempfile.mkdtemp(prefix="memos-tests-"))
    os.environ["MEMOS_DATA_DIR"] = str(_folder / "data")
    os.environ["MEMOS_SECRET_KEY"] = "only-for-tests-" + "x" * 50
    os.environ["MEMOS_EMBEDDING_PROVIDER"] = "hash"
    os.environ["MEMOS_REQUEST_LOG"] = "0"
    os.environ["MEMOS_ALLOWED_HOSTS"] = "localhost,127.0.0.1,testserver"
    for name in ("MEMOS_DEBUG", "MEMOS_ANONYMOUS", "MEMOS_LLM_ENABLED", "MEMOS_LLM_API_KEY", "MEMOS_EMBEDDING_MODEL"):
        os.environ.pop(name, None)
    if not worker and _leads_workers(early_config):
        os.environ[FOLDER_OF_LEADER] = str(_folder)
    else:
        _servers = EmbeddedServers(
            _folder / "data", database=not os.environ.get("DATABASE_URL"), redis=not os.environ.get("REDIS_URL")
        )
        if _servers.postgres:
            _servers.postgres.options |= NOT_DURABLE
        _servers.start()
        os.environ.update(_servers.urls)
    return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _servers is not None:
        _servers.stop()
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)


def starts_postgresql() -> bool:
    """Return whether this run has started PostgreSQL, and so stops it."""
    return _servers is not None and _servers.postgres is not None


def _leads_workers(config: pytest.Config) -> bool:
    """Return whether pytest-xdist's workers run the tests instead of this process."""
    known = config.known_args_namespace
    return bool(getattr(known, "numprocesses", None) or getattr(known, "tx", None))
