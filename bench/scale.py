#!/usr/bin/env python
"""Fills one table with a million synthetic memories and measures search at every size of a namespace.

    MEMOS_DATA_DIR=/tmp/scale MEMOS_PORT=8077 make run          # in another terminal; an empty folder with 6 GB free
    MEMOS_DATA_DIR=/tmp/scale MEMOS_PORT=8077 .venv/bin/python bench/scale.py

Vectors lie in topics and subtopics that all namespaces share, so that every question has near neighbours in other
namespaces; a question is a memory with the same amount of noise added again. Words follow Zipf's law. Rows are written
by COPY; the product's own jobs make HNSW indexes and counts. With `--memories 5000000`, the table grows by namespaces
of Zipf sizes, up to 20,000; `--fill` measures nothing. Prints a line for each size, and one JSON object. A second run
measures the table that the first has filled. Only ratios within a run can be compared, because the figures depend on
the machine and its load.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")

import django

django.setup()

import numpy as np
from django.conf import settings
from django.db import connection
from django.utils import timezone

from bench.scale_world import FILLER, SIZES, TOTAL, TURNS_A_SESSION, World, fill, plan, plan_growth, word
from bench.serving import Client, spread
from memory.models import Memory, Namespace
from memory.postgresql import reach
from memory.retrieval.arms import ArmHit, WordHits, dense, lexical
from memory.retrieval.candidate_features import DENSE_POOL, LEXICAL_POOL
from memory.retrieval.question import Question, question
from memory.services.index import common_terms, hnsw_indexes
from memory.services.index.embedding_model import active_model
from memory.services.index.hnsw_indexes import HnswReport
from memory.services.tenancy.keys import issue_key
from memory.types import Scope

QUESTION_WORDS = 7
WARM_UP = 20
# The size of the exact ranking, which has all memories of the top 10 and all with equal scores.
EXACT = 1000


@dataclass(frozen=True)
class Measured:
    """Holds the results of one size: recall of the top 10 against exact search, and milliseconds."""

    memories: int
    full: bool
    dense_recall: float
    lexical_recall: float
    dense_ms: dict[str, float]
    lexical_ms: dict[str, float]
    http_ms: dict[str, float]


def measure(world: World, client: Client, name: str, size: int, *, model_id: int, questions: int) -> Measured:
    scope = Scope(Namespace.objects.get(name=name).pk, name, "bench")
    asked = make_questions(world, scope, size, model_id=model_id, questions=questions)
    settings.MEMOS_SEARCH_TIMEOUT_MS = 600_000
    arms = {"dense": (dense, DENSE_POOL), "lexical": (lexical, LEXICAL_POOL)}
    times, recalls, full = {}, {}, True
    for name_of, (arm, pool) in arms.items():
        calls = [lambda q=q, arm=arm, pool=pool: _hits(arm.search(scope, q, limit=pool)) for q in asked]
        # The exact search comes first, because it fills the caches like those of a server in use.
        exact = [_hits(arm.exact(scope, question, limit=EXACT)) for question in asked]
        found, times[name_of] = time_calls(calls)
        full &= all(len(hits[:10]) >= len(best[:10]) for hits, best in zip(found, exact, strict=True))
        recalls[name_of] = statistics.mean(recall(*pair) for pair in zip(found, exact, strict=True))
    body = {"namespace": name, "session_id": "s0", "top_k": 10}
    http = [client.post("/v1/query", {**body, "query": question.text}) for question in asked][WARM_UP:]
    return Measured(
        size, full, round(recalls["dense"], 4), round(recalls["lexical"], 4),
        spread(times["dense"]), spread(times["lexical"]), spread(http),
    )  # fmt: skip


def make_questions(world: World, scope: Scope, size: int, *, model_id: int, questions: int) -> list[Question]:
    """Makes WARM_UP + `questions` questions, the same in each run, each near one of the namespace's memories."""
    chance = np.random.default_rng(99)
    near = chance.choice(size, min(size, WARM_UP + questions), replace=False)
    stored = Memory.objects.in_scope(scope).filter(pk__in=[row.pk for row in _some_of(scope, near)])
    texts = [row.text.split() for row in stored]
    vectors = np.array([_vector(scope, model_id, row.pk) for row in stored])
    return [
        _build_question(words, vector, model_id)
        for words, vector in zip(
            (_question_words(world, chance, words) for words in texts), world.questions(chance, vectors), strict=True
        )
    ]


def _hits(found: list[ArmHit] | WordHits) -> list[ArmHit]:
    return found.hits if isinstance(found, WordHits) else found


def _build_question(words: list[str], vector: np.ndarray, model_id: int) -> Question:
    text = " ".join(words)
    asked = question(text, vector=vector, model_id=model_id, familiarity=1.0, now=timezone.now())
    return replace(asked, terms=list(dict.fromkeys(words)))


def time_calls(calls: list[Callable[[], list[ArmHit]]]) -> tuple[list[list[ArmHit]], list[float]]:
    """Returns the results of each call, and the milliseconds of the calls after WARM_UP."""
    found, times = [], []
    for call in calls:
        started = time.perf_counter()
        found.append(call())
        times.append((time.perf_counter() - started) * 1000)
    return found, times[WARM_UP:]


def recall(found: list[ArmHit], exact: list[ArmHit]) -> float:
    """Returns the recall of the top 10, by the exact scores.

    The retriever's own scores differ a little, because it counts common words only now and then. All memories with an
    equal score are right: words of equal frequency in memories of equal length are common.
    """
    scores = {hit.memory_id: hit.score for hit in exact}
    best = exact[:10]
    enough = best[-1].score - 1e-6
    return sum(scores.get(hit.memory_id, -1.0) >= enough for hit in found[:10]) / len(best)


def _some_of(scope: Scope, turns: np.ndarray) -> list[Memory]:
    places = {divmod(int(turn), TURNS_A_SESSION) for turn in turns}
    found = (Memory.objects.in_scope(scope).filter(session=f"s{session}", turn=turn + 1) for session, turn in places)
    return [memory for rows in found for memory in rows]


def _vector(scope: Scope, model_id: int, memory_id: object) -> np.ndarray:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT embedding::real[] FROM memory_memoryvector "
            "WHERE namespace_id = %s AND model_id = %s AND memory_id = %s",
            [scope.namespace_id, model_id, memory_id],
        )
        return np.array(cursor.fetchone()[0], dtype=np.float32)


def _question_words(world: World, chance: np.random.Generator, words: list[str]) -> list[str]:
    """Returns words of a memory and other words, as frequent as in text."""
    own = list(chance.permutation(words)[: QUESTION_WORDS - 2])
    others = np.searchsorted(world.words, chance.random(QUESTION_WORDS - len(own)))
    return [*map(str, own), *(word(number) for number in others)]


def ingest_ms(client: Client, namespace: str, *, turns: int = 200) -> float:
    """Returns the median milliseconds of an ingest over HTTP."""
    body = {"namespace": namespace, "session_id": f"growth-{time.time()}", "role": "user"}
    texts = [" ".join(word(number) for number in range(start, start + 12)) for start in range(turns)]
    return round(statistics.median(client.post("/v1/ingest", {**body, "text": text}) for text in texts), 2)


def keep_up_all() -> None:
    """Makes indexes and counts; the server's worker may be doing the same."""
    started = time.monotonic()
    _say(f"terms of {common_terms.keep_up()} namespaces counted")
    while (kept := hnsw_indexes.keep_up(seconds=60)) != HnswReport():
        _say(f"{kept} after {time.monotonic() - started:.0f} s")
        time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--memories", type=int, default=TOTAL, help="fill the table up to so many memories")
    parser.add_argument("--fill", action="store_true", help="fill the table, and measure nothing")
    options = parser.parse_args()
    if options.memories < TOTAL:
        parser.error(f"--memories: at least {TOTAL:,}, which are measured.")
    reach.open_process()
    model = active_model()
    world = World(model.dimensions)
    key = issue_key(
        name="bench", scopes=["read", "write"], namespaces=[], all_namespaces=True, expires_at=None,
        requests_per_minute=0, actor="bench", now=timezone.now(),
    )[1]  # fmt: skip

    def client() -> Client:
        # Each time a new connection is opened, because the server closes idle ones while indexes are made.
        return Client(f"http://127.0.0.1:{settings.MEMOS_PORT}", key)

    result: dict[str, object] = {}
    written = 0
    namespaces = plan() + (plan_growth(options.memories) if options.memories > TOTAL else [])
    for name, size in namespaces:
        if not fill(world, name, size, model_id=model.id):
            continue
        written += size
        if not options.fill and written - size < 10_000 <= written:
            result["ingest_ms_at_10_000"] = ingest_ms(client(), "scale-growth-small")
            _say(str(result))
        if written // TOTAL > (written - size) // TOTAL or size > FILLER:
            _say(f"{written} written, {name}")
    _say("filled")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    _say("vacuumed")
    keep_up_all()
    if options.fill:
        return
    result[f"ingest_ms_at_{options.memories:_}"] = ingest_ms(client(), "scale-growth-large")
    result["ingest_ms_into_the_largest"] = ingest_ms(client(), f"scale-{max(SIZES)}-0")
    _say(str(result))
    sizes = []
    for size in SIZES:
        sizes.append(measure(world, client(), f"scale-{size}-0", size, model_id=model.id, questions=options.questions))
        _say(str(sizes[-1]))
    result["sizes"] = [vars(entry) for entry in sizes]
    print(json.dumps(result))


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
