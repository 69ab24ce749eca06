#!/usr/bin/env python
"""How much of the machine the worker leaves to requests: the same load with the worker at work, and with it held still.

    python bench/yielding.py http://127.0.0.1:8000 --key mos_… --worker PID

Fills a namespace with turns while the worker (the process PID and all below it, of this machine) is held by SIGSTOP, so
that there is much to do in the background, then sends queries with eight clients in windows of some seconds, with the
worker held in every other one; then the same with batches. Prints one JSON object: requests a second in both kinds of
windows, and the ratio of their sums. Windows alternate, so that a machine that others use, too, slows both alike.
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


def alternate(pid: int, windows: int, measure: Callable[[], float]) -> dict[str, float]:
    """Figures with the worker held and at work, window by window."""
    held, working = [], []
    for _ in range(windows):
        send_signal(pid, signal.SIGSTOP)
        held.append(measure())
        send_signal(pid, signal.SIGCONT)
        # It has to see that there is load.
        time.sleep(0.2)
        working.append(measure())
    ratios = [mine / other for mine, other in zip(working, held, strict=True)]
    return {
        "held": round(statistics.mean(held), 1),
        "working": round(statistics.mean(working), 1),
        "ratio": round(sum(working) / sum(held), 3),
        "ratio_median": round(statistics.median(ratios), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--key", required=True)
    parser.add_argument("--worker", type=int, required=True)
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

    try:
        send_signal(options.worker, signal.SIGSTOP)
        for number in range(options.turns // 200):
            batch(number, namespace)
        for number in range(50):
            query(number)
        result: dict[str, object] = {
            "query_8": alternate(options.worker, options.windows, lambda: count_in(options.seconds, 8, query))
        }
        result["batch"] = alternate(options.worker, options.windows, lambda: count_in(options.seconds, 1, batch))
        send_signal(options.worker, signal.SIGSTOP)
        result["engine"] = engine_alone(texts[:1000], options.model_dir)
    finally:
        send_signal(options.worker, signal.SIGCONT)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
