"""Starts the servers that a command needs, and finds their data folder."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from memos_site import runtime
from memos_site.embedded import EmbeddedServers

DEFAULT_DATA_DIR = Path(__file__).resolve().parent.parent / "data"
_WITHOUT_SERVERS = frozenset(
    (
        "",
        "help",
        "--help",
        "-h",
        "version",
        "--version",
        "makemigrations",
        "config_docs",
        "spectacular",
        "collectstatic",
    )
)


@contextlib.contextmanager
def with_servers(argv: list[str]) -> Iterator[None]:
    """Runs the servers that a command of `manage.py` needs, if the environment names none and `make run` is not up.

    They stop when the command ends. Commands that need no database start none.
    """
    command = argv[1] if len(argv) > 1 else ""
    folder = data_dir()
    found = runtime.discover(folder)
    if not os.environ.get("MEMOS_SECRET_KEY") and not os.environ.get("MEMOS_SECRET_KEY_FILE"):
        folder.mkdir(parents=True, exist_ok=True)
        runtime.keep_secret_key(folder)
    if command in _WITHOUT_SERVERS or "--help" in argv:
        yield
        return
    servers = EmbeddedServers(
        folder,
        database=not (os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE") or "DATABASE_URL" in found),
        redis=not (os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE") or "REDIS_URL" in found),
    )
    if not servers.servers:
        if "DATABASE_URL" in found and not os.environ.get("DATABASE_URL"):
            sys.stderr.write(f"The MemOS that runs on the data folder {folder} serves this command (MEMOS_DATA_DIR).\n")
        yield
        return
    sys.stderr.write(f"Servers start for this command on the data folder {folder} (MEMOS_DATA_DIR).\n")
    servers.start()
    os.environ.update(servers.urls)
    try:
        yield
    finally:
        servers.stop()


def data_dir() -> Path:
    """Returns the data folder that the environment names, or the default one."""
    named = os.environ.get("MEMOS_DATA_DIR")
    return Path(named).expanduser().resolve() if named else DEFAULT_DATA_DIR


def in_environment(folder: Path) -> str:
    """Returns the prefix that makes a shell command use this data folder; empty for the default folder."""
    return "" if folder == DEFAULT_DATA_DIR else f"MEMOS_DATA_DIR={shlex.quote(str(folder))} "
