"""Runs MemOS in the web server Granian: `python -m memos_site.web`, for `make run` and for containers.

With `--held`, it loads MemOS and waits for a line on standard input before it serves.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import Error, connection, connections
from django.http import FileResponse
from django.utils import timezone
from granian import Granian
from granian.constants import Interfaces
from granian.http import HTTP1Settings, HTTP2Settings
from granian.log import LogLevels

from memory.api.event_stream import MAX_STREAMS
from memory.conf import ConfigurationError
from memos_site.embedded import die_with_parent
from memos_site.gateway import Gateway

log = logging.getLogger("memos.web")

MAX_HEAD_BYTES = 65_536
# The limit on connections of a process. An idle connection takes no thread.
MAX_CONNECTIONS = 1_024
# The limit on requests that a process has received: in work, or waiting for a connection to the database.
MAX_WAITING = 32
MAX_HTTP2_STREAMS = 16
# A process that exceeds this many MiB is replaced.
MAX_MEMORY_MB = 600
STOP_SECONDS = 20
# Connections to the database besides those of requests, to read changes into the columns.
BACKGROUND_CONNECTIONS = 2
# The threshold of garbage collection. A request creates some thousand objects and leaves hardly any; Python's default
# of 700 would cost a query 7 % of its time.
COLLECT_EVERY = 20_000
# The interval after which a thread that computes releases the interpreter, a fifth of Python's default, because each
# statement of the other threads ends with a wait for it.
SWITCH_SECONDS = 0.001

_bind_to_parent: Callable[[], None] | None = None


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    global _bind_to_parent  # noqa: PLW0603 - the processes are forked from this one
    _bind_to_parent = die_with_parent(signal.SIGKILL)
    metrics = None if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else tempfile.mkdtemp(prefix="memos-metrics-")
    if metrics:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics
    try:
        load()
        if "--held" in sys.argv and not sys.stdin.readline():
            return
        server = Granian(
            "memos",
            address=str(socket.getaddrinfo(settings.MEMOS_HOST, None)[0][4][0]),
            port=settings.MEMOS_PORT,
            interface=Interfaces.ASGINL,
            workers=settings.MEMOS_WEB_WORKERS,
            backpressure=MAX_CONNECTIONS,
            http1_settings=HTTP1Settings(
                header_read_timeout=settings.MEMOS_RECEIVE_SECONDS * 1000, max_buffer_size=MAX_HEAD_BYTES
            ),
            http2_settings=HTTP2Settings(
                max_concurrent_streams=MAX_HTTP2_STREAMS,
                max_headers_size=MAX_HEAD_BYTES,
                keep_alive_interval=settings.MEMOS_RECEIVE_SECONDS * 1000,
            ),
            websockets=False,
            respawn_failed_workers=True,
            workers_max_rss=MAX_MEMORY_MB,
            workers_kill_timeout=STOP_SECONDS,
            # Its warnings about threads and a kernel setting are answered in the guide.
            log_level=LogLevels.error,
            log_dictconfig=settings.LOGGING,
        )
        server.serve(target_loader=open_process, wrap_loader=False)
    finally:
        if metrics:
            shutil.rmtree(metrics, ignore_errors=True)


def load() -> None:
    """Loads what the web processes share, and exempts it from garbage collection, which would copy shared pages."""
    import_module("memos_site.wsgi")
    # Requests are checked against the OpenAPI document, which takes a second to make.
    import_module("memory.api.known_fields").read_document()
    import_module("django_redis.cache")
    import_module("memory.text.tokens").count_tokens("ready")
    # The library for dates loads its languages at the first question that needs them.
    import_module("memory.text.timespan").spans("on 3 May 2023", timezone.now())
    # Several blocks of a stream may wait for a slow client, so blocks are small; most files are one block.
    FileResponse.block_size = 2**17
    connections.close_all()
    gc.collect()
    gc.freeze()


def open_process() -> Gateway:
    """Prepares a web process, so that the first request does not wait, and returns the application."""
    if _bind_to_parent:
        _bind_to_parent()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(COLLECT_EVERY, 20, 20)

    from memory import metrics
    from memory.errors import EmbeddingUnavailable
    from memory.models.queries.jobs import WEB
    from memory.retrieval.columns.store import open_store
    from memory.retrieval.rerank import rerank
    from memory.services.index.embedding_model import active_model

    metrics.take_place("web")
    for database in connections.settings.values():
        share_connections(database, name=WEB, most=settings.MEMOS_WEB_THREADS + BACKGROUND_CONNECTIONS)
    open_store()
    rerank("ready", ["ready"])
    try:
        active_model().embed_questions(["ready"])
    except (EmbeddingUnavailable, Error) as error:
        # Requests will report what is unavailable.
        log.warning("embedding is not ready", extra={"reason": str(error)})
    finally:
        connection.close()
    import_module("memory.providers.calls").call_planned.connect(_give_connection_back)
    application = import_module("memos_site.wsgi").application
    return Gateway(application, threads=MAX_STREAMS + MAX_WAITING)


def _give_connection_back(**_signal: Any) -> None:
    """Returns the thread's connection to the pool while it waits for a model."""
    import_module("memory.api.event_stream").give_connection_back()


def share_connections(database: dict[str, Any], *, name: str, most: int) -> None:
    """Makes the threads of this process share a pool of connections, on which no statement outlasts a request.

    PostgreSQL shows them under `name`.
    """
    options = database["OPTIONS"]
    options["application_name"] = name
    limit = f"-c statement_timeout={settings.MEMOS_REQUEST_SECONDS * 1000}"
    options["options"] = f"{options.get('options', '')} {limit}".strip()
    options["pool"] = {"min_size": 1, "max_size": most, "timeout": 10.0, "max_idle": 60.0}
    database["CONN_MAX_AGE"] = 0


if __name__ == "__main__":
    try:
        main()
    except ConfigurationError as error:
        sys.exit(str(error))
