#!/usr/bin/env python
"""How much of the machine the worker leaves to requests: the same load with the worker at work, and with it held still.

    python bench/yielding.py http://127.0.0.1:8000 --key mos_… --server PID

`--server` is the process of `make run`; the worker is found below it. Fills a namespace with turns while the worker is
held by SIGSTOP, so that there is much to do in the background, then sends queries with eight clients in windows of some
seconds, with the worker held in every other one; then the same with batches. Prints one JSON object: requests a second
in both kinds of windows, their ratio, and the processor time that all of MemOS took for a request: where others use the
machine, too, the ratio of those says what the worker takes.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.serving import Client, engine_alone, questions, turns


def send_signal(pid: int, number: signal.Signals) -> None:
    """To the process and all below it."""
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def count_in(seconds: float, clients: int, send: Callable[[int], int]) -> float:
    """What `send` (given a number, answers how much it did) achieves a second with so many clients."""
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
    """The process of the worker that all others of it are below."""
    for process in psutil.Process(server).children(recursive=True):
        if process.cmdline() and "qcluster worker" in process.cmdline()[0]:
            return process.pid
    raise SystemExit(f"There is no worker below the process {server}.")


def processor_seconds(server: int) -> float:
    """What the server's processes have used of processors until now."""
    total = 0.0
    for process in psutil.Process(server).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def alternate(server: int, windows: int, seconds: float, clients: int, send: Callable[[int], int]) -> dict[str, object]:
    """Figures with the worker held and at work, window by window."""
    worker = worker_of(server)
    rates: dict[str, list[float]] = {"held": [], "working": []}
    costs: dict[str, list[float]] = {"held": [], "working": []}
    for _ in range(windows):
        for state, number in (("held", signal.SIGSTOP), ("working", signal.SIGCONT)):
            send_signal(worker, number)
            used, started = processor_seconds(server), time.perf_counter()
            rate = count_in(seconds, clients, send)
            count = rate * (time.perf_counter() - started)
            rates[state].append(rate)
            costs[state].append((processor_seconds(server) - used) / count * 1000)
    mean = {state: statistics.mean(values) for state, values in rates.items()}
    cost = {state: statistics.mean(values) for state, values in costs.items()}
    return {
        "per_second": {state: round(value, 1) for state, value in mean.items()},
        "ratio": round(mean["working"] / mean["held"], 3),
        "processor_ms_each": {state: round(value, 2) for state, value in cost.items()},
        "ratio_by_processor": round(cost["held"] / cost["working"], 3),
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

    worker = worker_of(options.server)
    try:
        send_signal(worker, signal.SIGSTOP)
        for number in range(options.turns // 200):
            batch(number, namespace)
        for number in range(50):
            query(number)
        common = (options.server, options.windows, options.seconds)
        result: dict[str, object] = {"query_8": alternate(*common, 8, query), "batch": alternate(*common, 1, batch)}
        send_signal(worker, signal.SIGSTOP)
        result["engine"] = engine_alone(texts[:1000], options.model_dir)
    finally:
        send_signal(worker, signal.SIGCONT)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
