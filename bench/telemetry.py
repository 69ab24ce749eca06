#!/usr/bin/env python
"""Measures the cost of traces for a query: alternately without telemetry and with each query traced, in one process.

    .venv/bin/python bench/telemetry.py [--queries 400]

Spans go by OTLP to a receiver in a separate process, which discards them. Prints one JSON object: milliseconds.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product

PORT = 18_118
MEMORIES = 400
ROUND = 25
_RECEIVE = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments):
        pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def measure(queries: int) -> dict[str, dict[str, float]]:
    """Returns the milliseconds of a query, median and 95th percentile, without and with telemetry."""
    from django.conf import settings  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor  # noqa: PLC0415
    from opentelemetry.instrumentation.redis import RedisInstrumentor  # noqa: PLC0415

    from memory import telemetry, tracing  # noqa: PLC0415
    from memory.models import Namespace  # noqa: PLC0415
    from memory.services.ingestion.ingest import ingest_batch  # noqa: PLC0415
    from memory.services.tenancy.keys import issue_key  # noqa: PLC0415
    from memory.types import NewMemory, Scope  # noqa: PLC0415

    settings.ALLOWED_HOSTS = ["*"]
    now = timezone.now()
    namespace = Namespace.objects.get_or_create(name=f"telemetry-{now:%H%M%S%f}")[0]
    scope = Scope(namespace.pk, namespace.name, "bench")
    turns = [
        NewMemory("s", "user", f"Ticket {n} is about the {n % 40}th pump of hall {n % 7}.") for n in range(MEMORIES)
    ]
    ingest_batch([(scope, turn) for turn in turns], now=now)
    _, token = issue_key(
        name="bench", scopes=["read"], namespaces=[namespace], all_namespaces=False, expires_at=None,
        requests_per_minute=None, actor="bench", now=now,
    )  # fmt: skip
    client = Client(headers={"Authorization": f"Bearer {token}"})
    started = telemetry.start("bench")
    instrumentors = PsycopgInstrumentor(), RedisInstrumentor()
    taken: dict[str, list[float]] = {"without": [], "with": []}
    for number in range(queries // ROUND * 2):
        name = ("without", "with")[number % 2]
        tracing.use(started if name == "with" else None)
        for instrumentor in instrumentors:
            instrumentor.uninstrument()
            if name == "with":
                instrumentor.instrument()
        # Only connections that are opened from now on make spans of statements.
        connection.close()
        for one in range(-2, ROUND):
            body = {"namespace": namespace.name, "session_id": "q", "query": f"Which hall has pump {one + number}?"}
            begun = time.perf_counter()
            answer = client.post("/v1/query", body, content_type="application/json")
            if one >= 0:
                taken[name].append((time.perf_counter() - begun) * 1000)
            assert answer.status_code == 200, answer.content
    return {
        name: {"p50": round(statistics.median(times), 2), "p95": round(statistics.quantiles(times, n=20)[18], 2)}
        for name, times in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=400)
    queries = parser.parse_args().queries
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{PORT}"
    receiver = subprocess.Popen([sys.executable, "-c", _RECEIVE, str(PORT)])
    # The receiver ends after the remaining spans have been sent, which also happens at the end of the program.
    atexit.register(receiver.terminate)
    with product("memos-bench-telemetry"):
        print(json.dumps(measure(queries), indent=2))


if __name__ == "__main__":
    main()
