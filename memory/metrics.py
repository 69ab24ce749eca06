"""Prometheus metrics. Counters are kept a process and added up when they are read (PROMETHEUS_MULTIPROC_DIR)."""

from __future__ import annotations

import os

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter("memos_http_requests_total", "Answered requests", ["method", "route", "status"])
SECONDS = Histogram(
    "memos_http_request_seconds",
    "Seconds to answer a request",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)


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
