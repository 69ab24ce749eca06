#!/usr/bin/env python
"""Compares the product's IVF lists with pgvector's HNSW in the large namespaces that `bench/scale.py` has filled.

    MEMOS_DATA_DIR=/tmp/scale MEMOS_PORT=8077 .venv/bin/python bench/hnsw.py [--sizes 20000 100000]

For each namespace: the lists are made anew and measured, then the namespace chooses HNSW by its policy, the index is
made by the product's own job and measured with the same questions, and the policy is set back. Recall is of the top 10
against exact search. Every memory meets the filter. What the ingest of one turn costs stands beside that
into a small namespace at the same time. Prints a line a way and one JSON object; compare figures of one run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# Sets Django up.
from bench.scale import EXACT, LARGE, WARM_UP, ingest_ms, make_questions, recall, time_calls

# isort: split
from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench.growth import Node
from bench.scale_world import World
from bench.serving import Client, spread
from memory import caches
from memory.models import IVFIndex, IVFList, MemoryVector, Namespace
from memory.postgresql import reach
from memory.retrieval import hnsw
from memory.retrieval.arms import dense
from memory.retrieval.arms.searches import DENSE_POOL
from memory.retrieval.filters import Condition, MemoryField, Operator
from memory.retrieval.predicate import predicate
from memory.retrieval.question import Question
from memory.services.index import hnsw_indexes
from memory.services.index.embedding import active_model
from memory.services.index.upkeep import keep_up
from memory.services.tenancy.keys import issue_key
from memory.services.tenancy.policy import put_policy
from memory.types import Scope

TURNS = 60
SMALL = "scale-100-0"
# Every memory meets it: what costs most, for it narrows nothing.
BY_USERS = predicate(Condition(MemoryField.ROLE, Operator.EQ, "user"))


@dataclass(frozen=True)
class Way:
    """One way to search one namespace: milliseconds, bytes of what it keeps beside the vectors, what making it took."""

    name: str
    memories: int
    recall: float
    recall_filtered: float
    ms: dict[str, float]
    ms_filtered: dict[str, float]
    http_ms: dict[str, float]
    seconds_to_make: float
    processor_seconds_to_make: float
    bytes: int
    ingest_ms: float
    ingest_ms_into_a_small_one: float


def measure(
    name: str, scope: Scope, size: int, asked: list[Question], client: Client, *, seconds: tuple[float, float]
) -> Way:
    caches.forget_all()
    recalls, times = {}, {}
    for place, narrow in (("all", None), ("filtered", BY_USERS)):
        narrowed = [replace(question, predicate=narrow) for question in asked]
        exact = [dense.exact(scope, question, limit=EXACT) for question in narrowed]
        found, times[place] = time_calls(
            [lambda q=question: dense.search(scope, q, limit=DENSE_POOL) for question in narrowed]
        )
        recalls[place] = round(statistics.mean(recall(*pair) for pair in zip(found, exact, strict=True)), 4)
    body = {"namespace": scope.namespace, "session_id": "s0", "top_k": 10}
    http = [client.post("/v1/query", {**body, "query": question.text}) for question in asked][WARM_UP:]
    # By turns, for other load comes and goes.
    ingests = [
        (ingest_ms(client, scope.namespace, turns=TURNS), ingest_ms(client, SMALL, turns=TURNS)) for _ in range(3)
    ]
    into, into_small = (statistics.median(column) for column in zip(*ingests, strict=True))
    kept = _bytes_of_index(scope) if name == "hnsw" else _bytes_of_lists(scope)
    return Way(
        name, size, recalls["all"], recalls["filtered"], spread(times["all"]), spread(times["filtered"]), spread(http),
        round(seconds[0], 1), round(seconds[1], 1), kept, into, into_small,
    )  # fmt: skip


def make_lists(scope: Scope) -> tuple[float, float]:
    """Files all vectors of the namespace anew; returns seconds, and those of the processor."""
    IVFList.objects.in_scope(scope).delete()
    IVFIndex.objects.in_scope(scope).delete()
    MemoryVector.objects.in_scope(scope).filter(filed=True).update(filed=False)
    return _time_until(
        lambda: keep_up(now=timezone.now(), seconds=60),
        lambda: MemoryVector.objects.in_scope(scope).filter(filed=False).count() < 1_000,
    )


def choose(scope: Scope, index: str, *, model_id: int) -> tuple[float, float]:
    """Sets the policy and has its index made or dropped; returns seconds, and those of the processor."""
    put_policy(scope, wanted={"index": index}, reason="bench/hnsw.py", now=timezone.now())
    place = hnsw_indexes.Place(scope.namespace_id, model_id)
    return _time_until(
        lambda: hnsw_indexes.keep_up(seconds=60),
        lambda: (place in hnsw_indexes.list_ready()) == (index == "hnsw"),
    )


def _time_until(work: Callable[[], object], is_done: Callable[[], bool]) -> tuple[float, float]:
    # The server's worker may be at the same: what all of its processes take is counted, and this one's.
    node = Node(Path(settings.MEMOS_DATA_DIR), settings.MEMOS_PORT, "")
    started, before = time.monotonic(), sum(node.read_seconds().values()) + time.process_time()
    while True:
        work()
        if is_done():
            return time.monotonic() - started, sum(node.read_seconds().values()) + time.process_time() - before
        time.sleep(0.5)


def _bytes_of_index(scope: Scope) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size(%s::regclass)", [hnsw.name_index(scope.namespace_id, active_model().id)]
        )
        return int(cursor.fetchone()[0])


def _bytes_of_lists(scope: Scope) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_column_size(codes) + pg_column_size(centroid)) FROM memory_ivflist WHERE namespace_id = %s",
            [scope.namespace_id],
        )
        return int(cursor.fetchone()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=LARGE, choices=LARGE)
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    reach.open_process()
    settings.MEMOS_SEARCH_TIMEOUT_MS = 600_000
    model = active_model()
    world = World(model.dimensions)
    key = issue_key(
        name="bench", scopes=["read", "write"], namespaces=[], all_namespaces=True, expires_at=None,
        requests_per_minute=0, actor="bench", now=timezone.now(),
    )[1]  # fmt: skip
    ways: list[Way] = []
    for size in options.sizes:
        name = f"scale-{size}-0"
        scope = Scope(Namespace.objects.get(name=name).pk, name, "bench")
        asked = make_questions(world, scope, size, model_id=model.id, questions=options.questions)
        for way in ("ivf", "hnsw"):
            seconds = make_lists(scope) if way == "ivf" else choose(scope, way, model_id=model.id)
            # The server's processes go on with what they knew.
            time.sleep(hnsw.KNOWN_SECONDS + 1)
            client = Client(f"http://127.0.0.1:{settings.MEMOS_PORT}", key)
            ways.append(measure(way, scope, size, asked, client, seconds=seconds))
            print(f"{time.strftime('%H:%M:%S')} {ways[-1]}", file=sys.stderr, flush=True)
        choose(scope, "ivf", model_id=model.id)
    print(json.dumps([vars(way) for way in ways]))


if __name__ == "__main__":
    main()
