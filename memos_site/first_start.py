"""What a start needs Django for, in a process that ends with it: whoever supervises the servers keeps none of it.

The process tells what it finds as JSON, a line each on standard output: the settings that its parent needs; once a line
on standard input says that the servers answer, whether the tables are those of this version; and what it has made.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from memory.conf import ConfigurationError
from memos_site.embedded import EmbeddedError, die_with_parent


@dataclass(frozen=True, slots=True)
class StartSettings:
    """Settings that whoever supervises the servers needs. `address`: the URL that MemOS will answer at.

    `embedding`: the arguments of the embedding process; None where none is needed.
    """

    address: str
    static_root: str
    demo: bool
    logging: dict[str, Any]
    embedding: list[str] | None


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What this run made; None for what was there already. Password and key cannot be shown again."""

    admin_user: str | None
    admin_password: str | None
    api_key: str | None
    demo_memories: int


class Preparation:
    """The process that makes MemOS ready, as its parent sees it."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "memos_site.first_start"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).resolve().parent.parent,
            # Ctrl-C is for the parent, which lets this come to its end.
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509 - no thread runs here
        )

    def read_settings(self) -> StartSettings:
        """Waits for the settings. Raises EmbeddedError."""
        return StartSettings(**self._read())

    def begin(self) -> bool:
        """Says that the servers answer; whether the tables are those of this version. Raises EmbeddedError."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write("\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended: what it said last tells why.
        return bool(self._read()["migrated"])

    def finish(self) -> FirstStart:
        """Waits for the end. Raises EmbeddedError."""
        made = FirstStart(**self._read())
        self._child.communicate()
        return made

    def _read(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise EmbeddedError(f"making it ready failed (exit status {self._child.wait()}); what it wrote is above")
        told: dict[str, Any] = json.loads(line)
        if "refusal" in told:
            self._child.wait()
            raise EmbeddedError(told["refusal"])
        return told


def _prepare(tell: Callable[[dict[str, Any]], None], begin: TextIO) -> None:
    settings = _read_settings()
    tell(asdict(settings))
    begin.readline()
    from memos_site.bootstrap import bootstrap  # noqa: PLC0415 - Django is set up only now
    from memos_site.migrated import is_migrated  # noqa: PLC0415

    tell({"migrated": is_migrated()})
    tell(asdict(bootstrap(demo=settings.demo)))


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
    host = "127.0.0.1" if settings.MEMOS_HOST in ("0.0.0.0", "::") else settings.MEMOS_HOST  # noqa: S104 - compared
    return StartSettings(
        f"http://{host}:{settings.MEMOS_PORT}",
        str(settings.STATIC_ROOT),
        settings.MEMOS_DEMO,
        settings.LOGGING,
        _embedding_arguments(),
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


def main() -> int:
    """The exit status."""
    # What others print goes to the log, and not among the lines that the parent reads.
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(value: dict[str, Any]) -> None:
        told.write(json.dumps(value) + "\n")
        told.flush()

    try:
        _prepare(tell, sys.stdin)
    except (EmbeddedError, ConfigurationError) as error:
        tell({"refusal": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
