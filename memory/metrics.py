"""Prometheus metrics. Counters are kept a process and added up when they are read (PROMETHEUS_MULTIPROC_DIR)."""

from __future__ import annotations

import fcntl
import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from memory.enums import FactRefusal

_place = ""
_lock: IO[str] | None = None


def take_place(kind: str) -> None:
    """Count in the files of the first place of this kind that no live process has, on from what was counted there.

    The kernel frees the place of a process that ends. A process without one has files of its own, which stay: a file
    for each process that ever ran would be read with each look at the metrics.
    """
    global _place, _lock
    for number in itertools.count():
        lock = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"], f"{kind}-{number}.lock").open("w")  # noqa: SIM115 - kept open
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            _place, _lock = f"{kind}-{number}", lock
            return


def _name_files() -> str:
    return _place or str(os.getpid())


if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    values.ValueClass = values.MultiProcessValue(_name_files)

REQUESTS = Counter("memos_http_requests_total", "Answered requests", ["method", "route", "status"])
SECONDS = Histogram(
    "memos_http_request_seconds",
    "Seconds to answer a request",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
FACTS = Counter("memos_facts_total", "Facts that a language model read in turns, by what became of them", ["outcome"])
PREFERENCES = Counter(
    "memos_preferences_total",
    "Preferences that a language model read in turns, by what became of them; unanswered: turns that it read to no use",
    ["outcome"],
)

DELIVERIES = Counter("memos_webhook_deliveries_total", "Attempts to deliver to a webhook, by outcome", ["outcome"])


def count_facts(*, stored: int, merged: int, refused: Mapping[FactRefusal, int]) -> None:
    """Counts the facts of one batch: stored, there already, and refused by reason."""
    by_outcome = {"stored": stored, "merged": merged, **{reason.value: count for reason, count in refused.items()}}
    for outcome, count in by_outcome.items():
        FACTS.labels(outcome).inc(count)


def count_preferences(*, taken: int, refused: Mapping[FactRefusal, int], unanswered: int) -> None:
    """Counts what a language model read in one batch: taken, refused by reason; turns for which it answered rubbish."""
    by_outcome = {"taken": taken, "unanswered": unanswered, **{str(reason): count for reason, count in refused.items()}}
    for outcome, count in by_outcome.items():
        PREFERENCES.labels(outcome).inc(count)


def count_delivery(outcome: str) -> None:
    """Counts one attempt to deliver: delivered, retried or failed."""
    DELIVERIES.labels(outcome).inc()


def observe_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Counts one answered request under its route (never its path: ids would make a series each)."""
    known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
    REQUESTS.labels(known, route, str(status)).inc()
    SECONDS.labels(route).observe(seconds)


def exposition(gauges: dict[str, tuple[str, float]]) -> bytes:
    """The text that Prometheus reads: the counters of all processes and `gauges` {name: (help, value)}."""
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
    lines = []
    for name, (help_text, value) in gauges.items():
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge", f"{name} {value}"]
    return generate_latest(registry) + ("\n".join(lines) + "\n").encode()
