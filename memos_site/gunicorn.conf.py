"""Gunicorn's settings, from the same environment as Django's. Threads, not an event loop: the work is in C and SQL."""

import gc
import itertools
import os
import shutil
import socket
import struct
import sys
import tempfile

from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from memory.conf import Environment
from memos_site.forwarding import Balance, Forwarding

_env = Environment()
_host = _env.text("MEMOS_HOST", "127.0.0.1", "")
_port = _env.integer("MEMOS_PORT", 8000, "", alias="MEMOS_API_PORT")

# A client that takes nothing of its answer for so long loses it.
SEND_SECONDS = 20
# A request makes some thousand objects and leaves next to none: looked through every 700, as Python does by itself,
# they cost a query 7 % of its time.
COLLECT_EVERY = 20_000
# A request that computes lets the threads of the others in after so long, five times as often as Python does by itself:
# each of their statements ends with a wait for it.
SWITCH_SECONDS = 0.001

bind = f"{_host}:{_port}"
# Streams have a process of their own, beside the web processes.
_forwarding = Forwarding() if _env.integer("MEMOS_STREAM_THREADS", 64, "") else None
_processes = _env.integer("MEMOS_WEB_WORKERS", 2, "", minimum=1)
_balance = Balance(_processes) if _processes > 1 else None
workers = _processes + (1 if _forwarding else 0)
threads = _env.integer("MEMOS_WEB_THREADS", 4, "", minimum=1)
worker_class = "memos_site.web_worker.BufferedWorker"
# Where a request comes from, and under which path, is not a header's to say; MEMOS_HTTPS believes a proxy's scheme.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
# Loaded once and shared by the workers; what must not be forked (connections, the model) is made in them.
preload_app = True
keepalive = 75
timeout = 120
graceful_timeout = 20
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 - heartbeat files, not data
control_socket_disable = True
accesslog = None
errorlog = "-"
loglevel = "warning"


class ServerLogger(Logger):
    """The request log of MemOS has one line a request: gunicorn makes none beside it, which it would not write."""

    access_log_enabled = False


logger_class = ServerLogger
# The lines of gunicorn itself take the form of the request log.
logconfig_dict = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "memos_site.logging.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"gunicorn.error": {"handlers": [], "level": "WARNING", "propagate": True}},
}

# Who has set it removes it.
_metrics_dir = None if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else tempfile.mkdtemp(prefix="memos-metrics-")
if _metrics_dir:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = _metrics_dir


def when_ready(server: Arbiter) -> None:
    """Loads what the web processes share, and sets it aside: a collection that looks through it would write into the
    pages that are shared."""
    from django.utils import timezone

    from memory.text.timespan import spans

    # The library of dates is imported, and reads its languages, with the first question that needs it.
    spans("on 3 May 2023", timezone.now())
    gc.collect()
    gc.freeze()


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Says which worker has the streams: one that starts when none does of those that stay beside it. The others get a
    number that none of these has, and all a place in the metrics that nobody has who still runs.

    In a reload those of before are there still, and will be ended, the oldest first. This file has then been read
    again: what was made above for the new ones is not what those have.
    """
    worker.forwarding = _forwarding
    taken = {other.metrics_number for other in server.WORKERS.values()}
    worker.metrics_number = next(number for number in itertools.count() if number not in taken)
    staying = sorted(server.WORKERS.values(), key=lambda other: other.age)[-(server.num_workers - 1) :]
    worker.has_streams = _forwarding is not None and not any(other.has_streams for other in staying)
    if _balance is not None and not worker.has_streams:
        free = set(_balance.numbers) - {other.balance_number for other in staying if other.balance is _balance}
        if free:
            worker.balance, worker.balance_number = _balance, min(free)


def post_fork(server: Arbiter, worker: Worker) -> None:
    """Counts on where the last worker in this place ended. In a reload, closes what those of before hand over by."""
    from memory import metrics

    # Other servers may have the same folder: one that takes over from this one, for instance.
    metrics.take_place(f"web-{server.pid}-{worker.metrics_number}")
    for other in server.WORKERS.values():
        for handing in (other.balance, other.forwarding):
            if handing is not None and handing not in (worker.balance, _balance, _forwarding):
                handing.close()


def post_worker_init(worker: Worker) -> None:
    """Loads what the first request would wait for."""
    # Inherited by the accepted connections.
    for listener in worker.sockets:
        listener.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))

    from django.conf import settings
    from django.db import Error, connection, connections
    from django.db.backends.signals import connection_created

    from memory import free_memory
    from memory.errors import EmbeddingUnavailable
    from memory.models.sql import end_long_statements
    from memory.retrieval.beside import open_second_thread
    from memory.retrieval.columns.store import open_store
    from memory.retrieval.rerank import rerank
    from memory.services.index.embedding_model import active_model

    sys.setswitchinterval(SWITCH_SECONDS)
    connection_created.connect(end_long_statements)
    if worker.has_streams:
        # Its threads are many, and each of them would keep one.
        for database in connections.settings.values():
            database["CONN_MAX_AGE"] = 0
        if not settings.MEMOS_LLM_ENABLED:
            # Without a model that answers it has streams only: where nobody asks for one, it loads nothing.
            return
    open_store()
    if not worker.has_streams:
        open_second_thread()
    rerank("ready", ["ready"])
    try:
        provider = active_model().provider
        provider.embed(["ready"])
        provider.frames()
    except (EmbeddingUnavailable, Error) as error:
        # A worker that fails here would end the whole server; its requests say what is away.
        worker.log.warning("embedding is not ready: %s", error)
    finally:
        connection.close()
    free_memory.trim_regularly()
    # What is loaded stays: no collection looks through it again.
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 20, 20)


def child_exit(server: Arbiter, worker: Worker) -> None:
    if worker.balance is not None:
        worker.balance.forget(worker.balance_number)
    # After a reload nobody else needs what the last of the workers of before has handed requests over by.
    needed = [_balance, _forwarding]
    needed += [handing for other in server.WORKERS.values() for handing in (other.balance, other.forwarding)]
    for handing in (worker.balance, worker.forwarding):
        if handing is not None and not any(handing is other for other in needed):
            handing.close()


def on_exit(server: Arbiter) -> None:
    if _metrics_dir:
        shutil.rmtree(_metrics_dir, ignore_errors=True)
