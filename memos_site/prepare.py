"""Reports settings to `make run`, and prepares MemOS: `python -m memos_site.prepare`.

It writes lines of JSON: first the settings; after a line on standard input, which says that the servers answer, whether
the tables are those of this version; and after the preparation what it created. A refusal ends it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import asdict
from typing import Any

import django
from django.conf import settings

from memory.conf import ConfigurationError
from memos_site import runtime
from memos_site.first_start import StartSettings

# The process of the provider `hf` ends after this many seconds without a request, and frees its memory.
HF_IDLE_SECONDS = 600.0


def main() -> int:
    """Runs the preparation, and returns the exit status."""
    # Output of other code goes to the log, and not among the lines that the parent reads.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def write(value: Any) -> None:
        lines.write(json.dumps(value) + "\n")
        lines.flush()

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    try:
        django.setup()
        _check_port()
    except ConfigurationError as error:
        write({"refusal": str(error)})
        return 1
    write(asdict(_read_settings()))
    from memos_site.bootstrap import bootstrap  # noqa: PLC0415 - Django is set up by now
    from memos_site.migrated import is_migrated  # noqa: PLC0415

    if sys.stdin.readline():
        write({"is_migrated": is_migrated()})
        write(asdict(bootstrap(demo=settings.MEMOS_DEMO)))
    return 0


def _check_port() -> None:
    """Raises ConfigurationError if another program uses the port, because Granian would share it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.MEMOS_HOST, settings.MEMOS_PORT))
        except OSError as error:
            raise ConfigurationError(
                f"port {settings.MEMOS_PORT} on {settings.MEMOS_HOST} cannot be used ({error.strerror}): "
                "choose another with MEMOS_PORT=8001 make run"
            ) from error


def _read_settings() -> StartSettings:
    from memory.providers.embedding.minilm import DEFAULT_MODEL, read_model  # noqa: PLC0415 - Django is set up

    embedding = None
    if settings.MEMOS_EMBEDDING_PROVIDER == "minilm":
        model = read_model(settings.MEMOS_EMBEDDING_MODEL or DEFAULT_MODEL)
        embedding = ["--model-dir", str(settings.MEMOS_MODEL_DIR), "--model", model]
        embedding += ["--threads", str(settings.MEMOS_EMBEDDING_THREADS)]
    return StartSettings(
        runtime.local_address(settings.MEMOS_HOST, settings.MEMOS_PORT),
        settings.MEMOS_ADDRESS,
        settings.MEMOS_DEMO,
        settings.LOGGING,
        embedding,
        HF_IDLE_SECONDS,
    )


if __name__ == "__main__":
    sys.exit(main())
