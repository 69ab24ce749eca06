"""Measures a round trip of a cube: seconds and bytes of dump and load, and whether search returns the same.

    .venv/bin/python bench/cube_files.py --memories 100000

It uses the database of DATABASE_URL, which should be a disposable one, and leaves two namespaces in it. Both are
searched by comparing every vector, and then by HNSW indexes (only if the namespaces are large).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")

import django

django.setup()

from django.conf import settings
from django.utils import timezone

from memory import caches
from memory.postgresql import reach
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cube_files.local import dump_to_file, load_from_file
from memory.services.index import hnsw_indexes
from memory.services.ingestion.ingest import ingest_batch
from memory.services.recall.search import Ask, search
from memory.services.tenancy.namespaces import scope_for
from memory.types import NewMemory, Scope, system_access

START = datetime(2026, 1, 1, tzinfo=UTC)
THINGS = ("bees", "tulips", "trains", "chess", "bread", "maps", "violins", "kites", "tea", "lamps", "boats", "coins")
PLACES = ("Porto", "Graz", "Lyon", "Ghent", "Turin", "Bergen", "Split", "Cork", "Basel", "Riga")
NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana")
SESSION_TURNS = 50
QUESTIONS = 200


def fill(scope: Scope, memories: int, seed: int) -> None:
    """Fills the namespace with turns of sessions, with different words and numbers in each."""
    dice = random.Random(seed)
    for first in range(0, memories, 500):
        batch = [
            NewMemory(
                session=f"s{number // SESSION_TURNS}",
                role="user" if number % 3 else "agent",
                text=f"{_make_filler(dice)} {dice.choice(NAMES)} found {dice.randrange(2, 900)} {dice.choice(THINGS)} "
                f"in {dice.choice(PLACES)}, and left {dice.randrange(2, 900)} {dice.choice(THINGS)} with "
                f"{dice.choice(NAMES)} on day {number}.",
                speaker=dice.choice(NAMES),
                occurred_at=START + timedelta(minutes=number),
            )
            for number in range(first, min(first + 500, memories))
        ]
        ingest_batch([(scope, memory) for memory in batch], now=START + timedelta(minutes=first))


def _make_filler(dice: random.Random) -> str:
    """Returns words that make memories differ, because the search may return any of equally distant ones."""
    return " ".join(
        "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(3))
        for _ in range(dice.randrange(3, 30))
    )


def compare(one: Scope, other: Scope, seed: int, *, by: str) -> None:
    """Prints how many questions both namespaces answer alike, and the share (0..1) of answers that they have in common.

    Answers are alike if they have the same texts in the same order with the same scores.
    """
    caches.forget_all()
    dice = random.Random(seed)
    equal, shared = 0, 0.0
    for _ in range(QUESTIONS):
        question = f"How many {dice.choice(THINGS)} did {dice.choice(NAMES)} find in {dice.choice(PLACES)}?"
        first, second = ask(one, question), ask(other, question)
        equal += first == second
        texts = {text for text, _ in first}
        shared += len(texts & {text for text, _ in second}) / max(1, len(texts))
    print(f"{by}, equal answers: {equal} of {QUESTIONS}; they share {shared / QUESTIONS:.3f}", flush=True)


def ask(scope: Scope, question: str) -> list[tuple[str, float]]:
    """Returns the texts and scores of the ten best memories."""
    found = search(scope, Ask(text=question, top_k=10, now=START + timedelta(days=400), dry_run=True))
    return [(hit.text, round(hit.score, 5)) for hit in found.hits]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--source", help="a namespace that is there, in place of a new one")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    reach.open_process()
    access, mark = system_access("bench"), uuid.uuid4().hex[:8]
    source = scope_for(access, name=options.source or f"bench-{mark}-source")
    target = scope_for(access, name=f"bench-{mark}-target")
    if not options.source:
        began = time.perf_counter()
        fill(source, options.memories, options.seed)
        print(f"{source.namespace}: filled in {time.perf_counter() - began:.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for vectors in (False, True):
            path = Path(folder) / f"{vectors}.memcube"
            began, cpu = time.perf_counter(), time.process_time()
            dump_to_file(source, path, options=DumpOptions(vectors=vectors), now=timezone.now(), report=lambda *_: None)
            print(
                f"dump, vectors {vectors}: {path.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - began:.1f} s "
                f"({time.process_time() - cpu:.1f} s of CPU)",
                flush=True,
            )
        for dry_run in (False, True):
            began, cpu = time.perf_counter(), time.process_time()
            outcome = load_from_file(
                target, path, options=LoadOptions(), dry_run=dry_run, clock=timezone.now, report=lambda *_: None
            )
            print(
                f"load, dry run {dry_run}: {dict(outcome.counts['memories'])}, "
                f"{time.perf_counter() - began:.1f} s "
                f"({time.process_time() - cpu:.1f} s of CPU)",
                flush=True,
            )
    large = settings.MEMOS_LARGE_NAMESPACE_MEMORIES
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = sys.maxsize
    compare(source, target, options.seed, by="by every vector")
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = large
    while hnsw_indexes.keep_up(seconds=60).is_at_work:
        time.sleep(1)
    compare(source, target, options.seed, by="by HNSW indexes")
    print(f"most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
