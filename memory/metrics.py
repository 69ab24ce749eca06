"""Prometheus metrics, counted per process and added up when they are read (PROMETHEUS_MULTIPROC_DIR)."""

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
    """Take the first metrics slot of this kind that no live process uses, and continue its counts.

    The kernel frees the slot of a process that ends. A process without a slot has its own files, which stay; a file for
    every process that ever ran would be read with every scrape.
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
    """Count the facts of one batch: stored, already there, and refused by reason."""
    by_outcome = {"stored": stored, "merged": merged, **{reason.value: count for reason, count in refused.items()}}
    for outcome, count in by_outcome.items():
        FACTS.labels(outcome).inc(count)


def count_preferences(*, taken: int, refused: Mapping[FactRefusal, int], unanswered: int) -> None:
    """Count what a language model read in one batch: taken, refused by reason, and turns without a usable answer."""
    by_outcome = {"taken": taken, "unanswered": unanswered, **{str(reason): count for reason, count in refused.items()}}
    for outcome, count in by_outcome.items():
        PREFERENCES.labels(outcome).inc(count)


def count_delivery(outcome: str) -> None:
    """Count one delivery attempt as delivered, retried or failed."""
    DELIVERIES.labels(outcome).inc()


def observe_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count one answered request under its route; ids in paths would create a series each."""
    known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
    REQUESTS.labels(known, route, str(status)).inc()
    SECONDS.labels(route).observe(seconds)


def exposition(gauges: dict[str, tuple[str, float]]) -> bytes:
    """Return the text for Prometheus: the counters of all processes, and `gauges` {name: (help, value)}."""
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
    lines = []
    for name, (help_text, value) in gauges.items():
        lines += [f"# HELP {name} {help_text}", f"# TYPE {name} gauge", f"{name} {value}"]
    return generate_latest(registry) + ("\n".join(lines) + "\n").encode()
