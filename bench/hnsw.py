#!/usr/bin/env python
"""Compares the product's IVF lists with pgvector's HNSW in the large namespaces that `bench/scale.py` has filled.

    MEMOS_DATA_DIR=/tmp/scale MEMOS_PORT=8077 .venv/bin/python bench/hnsw.py [--sizes 20000 100000]

For each namespace the lists are made anew; then it chooses HNSW by its policy, the index is made by the product's own
job, and the policy is set back at the end. While the index is there the lists are, too: each question goes to both, one
right after the other. With a filter that every memory meets, a namespace without the index is searched exactly. What
the ingest of one turn costs stands beside that into a small namespace at the same time. Recall is of the top 10 against
exact search. Prints a line a way and one JSON object; compare figures of one run.
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
from bench.scale import EXACT, LARGE, WARM_UP, ingest_ms, make_questions, recall

# isort: split
from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench.growth import Node
from bench.scale_world import World
from bench.serving import Client, spread
from memory.models import IVFIndex, IVFList, MemoryVector, Namespace
from memory.postgresql import reach
from memory.retrieval import hnsw
from memory.retrieval.arms import ArmHit, dense, near_graph, near_lists
from memory.retrieval.arms.searches import DENSE_POOL
from memory.retrieval.filters import Condition, MemoryField, Operator
from memory.retrieval.predicate import predicate
from memory.retrieval.question import Question
from memory.services.index import hnsw_indexes
from memory.services.index.embedding_model import active_model
from memory.services.index.upkeep import keep_up
from memory.services.tenancy.keys import issue_key
from memory.services.tenancy.policy import put_policy
from memory.types import Scope

TURNS = 60
SMALL = "scale-100-0"
# Every memory meets it: what costs most, for it narrows nothing.
BY_USERS = predicate(Condition(MemoryField.ROLE, Operator.EQ, "user"))


@dataclass(frozen=True)
class Made:
    """What it took to make what one way keeps beside the vectors, its bytes, and what the ingest of a turn takes then,
    there and into a small namespace."""

    seconds: float
    processor_seconds: float
    bytes: int
    ingest_ms: float
    ingest_ms_into_a_small_one: float


def measure_made(took: tuple[float, float], kept: int, client: Client, namespace: str) -> Made:
    # By turns, for other load comes and goes.
    ingests = [(ingest_ms(client, namespace, turns=TURNS), ingest_ms(client, SMALL, turns=TURNS)) for _ in range(4)]
    into, into_small = (statistics.median(column) for column in zip(*ingests, strict=True))
    return Made(round(took[0], 1), round(took[1], 1), kept, round(into, 1), round(into_small, 1))


def compare(scope: Scope, asked: list[Question]) -> dict[str, dict[str, object]]:
    """Recall and milliseconds of each way, asked by turns; those of `exact` are for the filter."""
    ways: dict[str, Callable[[Question], list[ArmHit] | None]] = {
        "ivf": lambda question: near_lists.search(scope, question, limit=DENSE_POOL),
        "hnsw": lambda question: near_graph.search(scope, question, limit=DENSE_POOL),
        "exact, filtered": lambda question: dense.exact(scope, narrow(question), limit=DENSE_POOL),
        "hnsw, filtered": lambda question: near_graph.search(scope, narrow(question), limit=DENSE_POOL),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    recalls: dict[str, list[float]] = {name: [] for name in ways}
    for number, question in enumerate(asked):
        best = dense.exact(scope, question, limit=EXACT)
        order = list(ways) if number % 2 else list(reversed(ways))
        for name in order:
            started = time.perf_counter()
            found = ways[name](question)
            if number >= WARM_UP:
                times[name].append((time.perf_counter() - started) * 1000)
                recalls[name].append(recall(found or [], best))
    return {name: {"recall": round(statistics.mean(recalls[name]), 4), **spread(times[name])} for name in ways}


def narrow(question: Question) -> Question:
    return replace(question, predicate=BY_USERS)


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
    address = f"http://127.0.0.1:{settings.MEMOS_PORT}"
    world = World(model.dimensions)
    key = issue_key(
        name="bench", scopes=["read", "write"], namespaces=[], all_namespaces=True, expires_at=None,
        requests_per_minute=0, actor="bench", now=timezone.now(),
    )[1]  # fmt: skip
    result: list[dict[str, object]] = []
    for size in options.sizes:
        name = f"scale-{size}-0"
        scope = Scope(Namespace.objects.get(name=name).pk, name, "bench")
        asked = make_questions(world, scope, size, model_id=model.id, questions=options.questions)
        took, made = make_lists(scope), {}
        # A new one each time: the server closes connections that are idle meanwhile.
        made["ivf"] = measure_made(took, _bytes_of_lists(scope), Client(address, key), name)
        took = choose(scope, "hnsw", model_id=model.id)
        # The server's processes go on with what they knew.
        time.sleep(hnsw.KNOWN_SECONDS + 1)
        made["hnsw"] = measure_made(took, _bytes_of_index(scope), Client(address, key), name)
        compared = compare(scope, asked)
        result.append({"memories": size, "made": {way: vars(one) for way, one in made.items()}, "searched": compared})
        print(f"{time.strftime('%H:%M:%S')} {result[-1]}", file=sys.stderr, flush=True)
        choose(scope, "ivf", model_id=model.id)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
