#!/usr/bin/env python
"""Measures a running server over HTTP with synthetic text: latency of one client, throughput of eight, batch ingest.

    python bench/serving.py http://127.0.0.1:8000 --key mos_…

Prints one JSON object. Only ratios within a run can be compared, because the figures depend on the machine and its
load. The same work by the embedding engine alone is measured in the same run (`engine`), because most of an ingest is
embedding.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import sys
import threading
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding

NAMES = "Ada Bo Chen Dana Emil Farah Goro Hana Ivo Jun Kira Leo Mina Nils Olga Pia Quinn Rosa Sven Tara".split()
PLACES = "harbour bakery museum workshop garden station library studio market clinic orchard archive".split()
THINGS = "ledger bicycle recipe contract painting telescope violin permit invoice map lantern sketch".split()
VERBS = "moved repaired ordered promised lost returned measured signed cancelled painted sold borrowed".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def turns(count: int) -> list[str]:
    """Returns sentences of the length of chat turns (about 30 tokens), the same in every run."""
    chance = random.Random(7)
    pick = chance.choice
    return [
        f"{pick(NAMES)}: On {pick(DAYS)} {pick(NAMES)} {pick(VERBS)} the {pick(THINGS)} at the {pick(PLACES)} because "
        f"the {pick(THINGS)} number {number} was needed for the {pick(PLACES)} before {pick(DAYS)} evening."
        for number in range(count)
    ]


def questions(count: int) -> list[str]:
    chance = random.Random(11)
    pick = chance.choice
    return [f"What did {pick(NAMES)} do with the {pick(THINGS)} at the {pick(PLACES)}?" for _ in range(count)]


class Client:
    """Holds a keep-alive connection for each thread."""

    def __init__(self, base: str, key: str) -> None:
        self._url = urllib.parse.urlparse(base)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._local = threading.local()

    def post(self, path: str, body: object) -> float:
        """Sends a request; returns the milliseconds until the whole answer is read."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=120)
            self._local.connection = connection
        payload = json.dumps(body)
        started = time.perf_counter()
        connection.request("POST", path, payload, self._headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(f"{path} answered {response.status}: {answer[:300]!r}")
        return (time.perf_counter() - started) * 1000


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {"p50": round(statistics.median(ordered), 2), "p95": round(ordered[int(len(ordered) * 0.95)], 2)}


def together(client: Client, jobs: list[tuple[str, object]], clients: int) -> dict[str, float]:
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        latencies = list(pool.map(lambda job: client.post(*job), jobs))
    return {**spread(latencies), "per_second": round(len(jobs) / (time.perf_counter() - started), 1)}


def engine_alone(texts: list[str], model_dir: Path) -> dict[str, float]:
    provider = MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=2)
    provider.embed(texts[:50])
    started = time.perf_counter()
    for start in range(0, len(texts), 200):
        provider.embed(texts[start : start + 200])
    batch = len(texts) / (time.perf_counter() - started)
    single = []
    for text in texts[:150]:
        began = time.perf_counter()
        provider.embed([text])
        single.append((time.perf_counter() - began) * 1000)
    return {"texts_per_second": round(batch, 1), "one_text_ms": round(statistics.median(single), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--key", required=True)
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--model-dir", type=Path, default=Path("data/models"))
    options = parser.parse_args()

    client = Client(options.base, options.key)
    texts = turns(options.turns)
    run = uuid.uuid4().hex[:8]

    def ingests(namespace: str) -> list[tuple[str, object]]:
        return [
            ("/v1/ingest", {"namespace": namespace, "session_id": f"s{number // 40}", "role": "user", "text": text})
            for number, text in enumerate(texts)
        ]

    def queries(namespace: str) -> list[tuple[str, object]]:
        return [
            ("/v1/query", {"namespace": namespace, "session_id": "s0", "query": text, "top_k": 10})
            for text in questions(200)
        ]

    one = f"bench-{run}-one"
    result: dict[str, object] = {"engine": engine_alone(texts, options.model_dir)}
    result["ingest_1"] = together(client, ingests(one), 1)
    result["query_1"] = together(client, queries(one), 1)
    result["ingest_8"] = together(client, ingests(f"bench-{run}-eight"), 8)
    result["query_8"] = together(client, queries(one), 8)
    started = time.perf_counter()
    for start in range(0, len(texts), 200):
        items = [
            {"namespace": f"bench-{run}-batch", "session_id": "s", "role": "user", "text": text}
            for text in texts[start : start + 200]
        ]
        client.post("/v1/ingest/batch", {"items": items})
    result["batch_documents_per_second"] = round(len(texts) / (time.perf_counter() - started), 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
