#!/usr/bin/env python
"""Measures how much of the machine the worker leaves to requests: the same load with the worker running and stopped.

    python bench/yielding.py http://127.0.0.1:8000 --key mos_… --server PID

`--server` is the process of `make run`, below which the worker is found. It fills a namespace with turns while the
worker is stopped by SIGSTOP, so that there is much background work. Then eight clients send queries in windows of some
seconds, with the worker stopped in every other one. The same is done with batches, and in every third window the engine
alone embeds the same texts, with the worker stopped. Prints one JSON object: requests (for batches: turns) a second in
each kind of window, their ratios, and the CPU time of each. If the machine has other load, the ratios of CPU times show
the cost of the worker, and of a batch besides the engine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.serving import Client, questions, turns
from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding


def send_signal(pid: int, number: signal.Signals) -> None:
    """Sends a signal to the process and all processes below it."""
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def count_in(seconds: float, clients: int, send: Callable[[int], int]) -> float:
    """Returns the work per second of `clients` clients; `send` takes a number and returns the work it did."""
    done = threading.Event()

    def run(client: int) -> int:
        total, number = 0, client
        while not done.is_set():
            total += send(number)
            number += clients
        return total

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        futures = [pool.submit(run, client) for client in range(clients)]
        time.sleep(seconds)
        done.set()
        total = sum(future.result() for future in futures)
    return total / (time.perf_counter() - started)


def worker_of(server: int) -> int:
    """Returns the main process of the worker."""
    for process in psutil.Process(server).children(recursive=True):
        if process.cmdline() and "qcluster worker" in process.cmdline()[0]:
            return process.pid
    raise SystemExit(f"There is no worker below the process {server}.")


def processor_seconds(server: int) -> float:
    """Returns the CPU seconds of the server's processes so far, including ended ones."""
    root = psutil.Process(server)
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def compare(
    server: int, windows: int, seconds: float, kinds: Mapping[str, tuple[int, Callable[[int], int]]]
) -> dict[str, object]:
    """Measures each kind of window with that many clients. The worker is stopped in all but `working`."""
    worker, own = worker_of(server), psutil.Process()
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    costs: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(windows):
        for kind, (clients, send) in kinds.items():
            send_signal(worker, signal.SIGCONT if kind == "working" else signal.SIGSTOP)
            used, started = processor_seconds(server), time.perf_counter()
            used_here = sum(own.cpu_times()[:2])
            rate = count_in(seconds, clients, send)
            count = rate * (time.perf_counter() - started)
            spent = sum(own.cpu_times()[:2]) - used_here if kind == "engine" else processor_seconds(server) - used
            rates[kind].append(rate)
            costs[kind].append(spent / count * 1000)
    mean = {kind: statistics.mean(values) for kind, values in rates.items()}
    cost = {kind: statistics.mean(values) for kind, values in costs.items()}
    against = "engine" if "engine" in kinds else "held"
    return {
        "per_second": {kind: round(value, 1) for kind, value in mean.items()},
        f"share_of_{against}": {kind: round(value / mean[against], 3) for kind, value in mean.items()},
        "processor_ms_each": {kind: round(value, 2) for kind, value in cost.items()},
        f"share_of_{against}_by_processor": {kind: round(cost[against] / value, 3) for kind, value in cost.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--key", required=True)
    parser.add_argument("--server", type=int, required=True)
    parser.add_argument("--turns", type=int, default=6000)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--model-dir", type=Path, default=Path("data/models"))
    options = parser.parse_args()

    client, run = Client(options.base, options.key), uuid.uuid4().hex[:8]
    texts, asked = turns(options.turns), questions(200)
    namespace = f"yielding-{run}"
    engine = MiniLMEmbedding(DEFAULT_MODEL, model_dir=options.model_dir, threads=2)
    engine.embed(texts[:50])

    def batch(number: int, target: str = "") -> int:
        part = [texts[(number * 200 + place) % len(texts)] for place in range(200)]
        items = [
            {
                "namespace": target or f"{namespace}-batch",
                "session_id": f"s{number * 5 + place // 40}",
                "role": "user",
                "text": text,
            }
            for place, text in enumerate(part)
        ]
        client.post("/v1/ingest/batch", {"items": items})
        return len(items)

    def query(number: int) -> int:
        body = {
            "namespace": namespace, "session_id": f"s{number % 8}", "query": asked[number % len(asked)], "top_k": 10,
        }  # fmt: skip
        client.post("/v1/query", body)
        return 1

    def embed(number: int) -> int:
        part = [texts[(number * 200 + place) % len(texts)] for place in range(200)]
        engine.embed(part)
        return len(part)

    worker = worker_of(options.server)
    try:
        send_signal(worker, signal.SIGSTOP)
        for number in range(options.turns // 200):
            batch(number, namespace)
        for number in range(50):
            query(number)
        common = (options.server, options.windows, options.seconds)
        result = {
            "query_8": compare(*common, {"held": (8, query), "working": (8, query)}),
            "batch": compare(*common, {"held": (1, batch), "working": (1, batch), "engine": (1, embed)}),
        }
    finally:
        send_signal(worker, signal.SIGCONT)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
