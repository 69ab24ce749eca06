#!/usr/bin/env python
"""Measures the cost of row-level security for POST /v1/query: the same requests with and without it, alternately.

    python bench/row_security.py --memories 5000 --questions 200 --rounds 5

Requests go through all of Django, but not the web server. Each way has a thread with a separate database connection;
without row-level security, it works as the login, to which policies do not apply. The namespace changes with each
request, which is the worst case. Prints one JSON object: for each round the medians in milliseconds and their ratio,
and over all rounds the CPU time of a query in the thread and in the PostgreSQL process (on this machine, Linux), which
depends less on other load.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product
from bench.serving import questions, turns

BATCH = 200
NAMESPACES = ("bench-a", "bench-b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=5000, help="of each namespace")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.setdefault("MEMOS_LOG_LEVEL", "ERROR")
    with product("memos-bench-row-security"):
        print(json.dumps(measure(options), indent=2))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from django.utils import timezone  # noqa: PLC0415

    from memory.postgresql import reach  # noqa: PLC0415
    from memory.postgresql.base import open_connection  # noqa: PLC0415
    from memory.services.tenancy.keys import issue_key  # noqa: PLC0415
    from memory.services.tenancy.namespaces import ensure_namespace  # noqa: PLC0415

    with reach.hold(reach.LOGIN):
        assert not open_connection().row_security_state().lacks
        spaces = [ensure_namespace(name) for name in NAMESPACES]
        for space in spaces:
            _fill(space, options.memories)
        _key, token = issue_key(
            name="bench", scopes=["read", "write"], namespaces=spaces, all_namespaces=False, expires_at=None,
            requests_per_minute=0, actor="bench", now=timezone.now(),
        )  # fmt: skip
        with open_connection().cursor() as cursor:
            cursor.execute("ANALYZE")
    ways = {way: ThreadPoolExecutor(1, initializer=_begin, initargs=(way, token)) for way in ("without", "with")}
    asked = questions(options.questions)
    for pool in ways.values():
        pool.submit(_ask, asked[0], 0).result()
    rounds = []
    before = {way: pool.submit(_measure_processor_time).result() for way, pool in ways.items()}
    for _ in range(options.rounds):
        took: dict[str, list[float]] = {way: [] for way in ways}
        for number, question in enumerate(asked):
            # Each way comes first equally often.
            for way in sorted(ways, reverse=bool(number % 2)):
                took[way].append(ways[way].submit(_ask, question, number).result())
        medians = {way: statistics.median(values) for way, values in took.items()}
        rounds.append({**{way: round(value, 3) for way, value in medians.items()},
                       "ratio": round(medians["with"] / medians["without"], 4)})  # fmt: skip
    queries = options.rounds * len(asked)
    spent = {
        way: (pool.submit(_measure_processor_time).result() - before[way]) * 1000 / queries
        for way, pool in ways.items()
    }
    return {
        "rounds": rounds,
        "median ratio": statistics.median(one["ratio"] for one in rounds),
        "processor ms": {way: round(value, 3) for way, value in spent.items()},
        "processor ratio": round(spent["with"] / spent["without"], 4),
    }


def _fill(space: Any, memories: int) -> None:
    from django.utils import timezone  # noqa: PLC0415

    from memory.models import Memory  # noqa: PLC0415
    from memory.services.ingestion.ingest import ingest_batch  # noqa: PLC0415
    from memory.types import NewMemory, Scope  # noqa: PLC0415

    there = Memory.objects.filter(namespace_id=space.pk).count()
    scope = Scope(space.pk, space.name, "bench")
    texts = turns(memories)[there:]
    for start in range(0, len(texts), BATCH):
        part = [NewMemory(session=f"s{start}", role="user", text=text) for text in texts[start : start + BATCH]]
        ingest_batch([(scope, memory) for memory in part], now=timezone.now())


class _Asker(threading.local):
    """Holds the client of this thread, which asks its namespaces in turn."""

    client: Any = None


_asker = _Asker()


def _begin(way: str, token: str) -> None:
    from django.test import Client  # noqa: PLC0415

    from memory.postgresql.base import open_connection  # noqa: PLC0415

    _asker.client = Client(headers={"Authorization": f"Bearer {token}"}, SERVER_NAME="localhost")
    if way == "without":
        database: Any = open_connection()
        database.execute_wrappers.clear()
        database.send_reach = lambda: None


def _measure_processor_time() -> float:
    """Returns the CPU seconds of this thread and of the PostgreSQL process that serves its connection."""
    from memory.postgresql.base import open_connection  # noqa: PLC0415

    pid = open_connection().connection.info.backend_pid
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return time.thread_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ask(question: str, number: int) -> float:
    """Returns the milliseconds of one query."""
    body = {"namespace": NAMESPACES[number % len(NAMESPACES)], "session_id": "bench", "query": question}
    started = time.perf_counter()
    answer = _asker.client.post("/v1/query", data=body, content_type="application/json")
    took = (time.perf_counter() - started) * 1000
    if answer.status_code != 200 or not answer.json()["raw_chunks"]:
        raise SystemExit(f"{answer.status_code}: {answer.content[:300]!r}")
    return took


if __name__ == "__main__":
    main()
