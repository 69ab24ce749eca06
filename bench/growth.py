#!/usr/bin/env python
"""Compares two servers, one with many more memories: queries and ingests over HTTP by turns, and what they cost.

    MEMOS_DATA_DIR=/tmp/small MEMOS_PORT=8078 .venv/bin/python bench/growth.py --other /tmp/large --other-port 8077

Both were filled by `bench/scale.py`, the larger one from a copy of the smaller one's folder, so that both have the same
namespaces with the same memories. Each question goes to both, one right after the other, in alternating order, so that
other load affects both alike; the ratio is the result. CPU time is that of all processes of a server, including
PostgreSQL, less that of an idle server. Prints a line for each size, and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# This import sets Django up, for the first of the two servers.
from bench.scale import QUESTION_WORDS

# isort: split
import numpy as np
import psutil
import psycopg
from django.conf import settings

from bench.scale_world import SIZES, World, word
from bench.serving import Client, spread
from memory.postgresql import reach
from memory.services.index.embedding_model import active_model
from memos_site import runtime

NAMESPACES = {**{f"scale-{size}-0": size for size in SIZES}, "scale-filler-0": 8_000}
ROUNDS = 6
EACH = 8
IDLE_SECONDS = 30
# A server needs less time than this to load the namespaces that it holds in memory.
LOADING_SECONDS = 20
COSTED = 80


@dataclass(frozen=True, slots=True)
class Node:
    """Represents a running server by its folder, its port and a key that reaches all namespaces."""

    folder: Path
    port: int
    key: str

    @property
    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.port}", self.key)

    def read_seconds(self) -> dict[str, float]:
        """Returns the CPU seconds that its processes have taken so far: of PostgreSQL, and of all others."""
        supervisor = psutil.Process(json.loads((self.folder / "runtime.json").read_text())["pid"])
        taken = {"postgres": 0.0, "memos": 0.0}
        for process in (supervisor, *supervisor.children(recursive=True)):
            try:
                times = process.cpu_times()
                part = "postgres" if process.name() == "postgres" else "memos"
            except psutil.NoSuchProcess:
                continue
            # The time of ended children is counted with their parent.
            taken[part] += times.user + times.system + times.children_user + times.children_system
        return taken

    def read_blocks(self) -> int:
        """Returns the number of pages of 8 kB that PostgreSQL has read so far, from its buffers or not."""
        with psycopg.connect(runtime.discover(self.folder)["DATABASE_URL"]) as connection:
            rows = connection.execute(
                "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
            ).fetchall()
        return int(rows[0][0])

    def read_megabytes(self) -> dict[str, float]:
        """Returns the memory (PSS) of its processes, by kind."""
        supervisor = psutil.Process(json.loads((self.folder / "runtime.json").read_text())["pid"])
        found: dict[str, float] = {}
        for process in (supervisor, *supervisor.children(recursive=True)):
            try:
                own = process.name()
                name = own if own in ("postgres", "valkey-server") else "memos"
                found[name] = found.get(name, 0.0) + process.memory_full_info().pss / 2**20
            except psutil.NoSuchProcess:
                continue
        return {name: round(megabytes) for name, megabytes in found.items()}

    def read_bytes(self) -> dict[str, list[float]]:
        """Returns for each table the bytes per memory of rows (with TOAST) and of indexes, if they are 1 or more."""
        with psycopg.connect(runtime.discover(self.folder)["DATABASE_URL"]) as connection:
            [memories] = connection.execute("SELECT sum(memories)::bigint FROM memory_namespacestat").fetchone() or (0,)
            rows = connection.execute(
                "SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
                "ORDER BY pg_total_relation_size(oid) DESC"
            ).fetchall()
            packs = connection.execute(
                "SELECT count(*), pg_total_relation_size('memory_contextpack') FROM memory_contextpack"
            ).fetchone() or (0, 0)
        sizes = {name: [round(table / memories, 1), round(index / memories, 1)] for name, table, index in rows}
        kept = {name: pair for name, pair in sizes.items() if sum(pair) >= 1}
        total = [round(sum(pair[place] for pair in sizes.values()), 1) for place in (0, 1)]
        return {"memories": [memories], "all tables": total, "a pack": [round(packs[1] / max(packs[0], 1))], **kept}

    def read_job_seconds(self) -> dict[str, float]:
        """Returns the median seconds of the last runs of each kind of background work, if they are 0.1 or more."""
        with psycopg.connect(runtime.discover(self.folder)["DATABASE_URL"]) as connection:
            rows = connection.execute(
                "SELECT kind, "
                "       extract(epoch FROM percentile_cont(0.5) WITHIN GROUP (ORDER BY finished_at - started_at)) "
                "FROM (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY finished_at DESC) AS age "
                "      FROM memory_job WHERE state = 'done' AND namespace_id = 0) AS job WHERE age <= 5 GROUP BY kind"
            ).fetchall()
        return {kind: round(float(seconds), 1) for kind, seconds in rows if seconds >= 0.1}


def ask(node: Client, namespace: str, text: str) -> float:
    return node.post("/v1/query", {"namespace": namespace, "session_id": "s0", "top_k": 10, "query": text})


def ingest(node: Client, namespace: str, text: str) -> float:
    body = {"namespace": namespace, "session_id": f"growth-{time.time()}", "role": "user", "text": text}
    return node.post("/v1/ingest", body)


def compare(nodes: list[Node], texts: list[str]) -> dict[str, object]:
    """Returns by namespace the milliseconds at each server, and the ratios of their medians, overall and by round.

    Questions that one of the servers could not answer in time are left out, and counted for that server.
    """
    ended = {name: [0, 0] for name in [*NAMESPACES, "ingest"]}
    taken = {name: [[], []] for name in [*NAMESPACES, "ingest"]}  # type: dict[str, list[list[list[float]]]]
    chance = random.Random(7)
    warm_up([node.client for node in nodes], texts)
    for _ in range(ROUNDS):
        clients = [node.client for node in nodes]
        for name in taken:
            rounds: list[list[float]] = [[], []]
            for number in range(-3, EACH):
                text = chance.choice(texts)
                work, of = (ingest, "scale-growth") if name == "ingest" else (ask, name)
                pair = [0.0, 0.0]
                for place in (0, 1) if number % 2 else (1, 0):
                    try:
                        pair[place] = work(clients[place], of, text)
                    except SystemExit as refused:
                        _say(f"{name}: {refused}")
                        ended[name][place] += 1
                # The first questions of a round are not counted, because they find the caches of the round before.
                if number >= 0 and all(pair):
                    for place in (0, 1):
                        rounds[place].append(pair[place])
            for place in (0, 1):
                taken[name][place].append(rounds[place])
    result = {}
    for name, sides in taken.items():
        flat = [[value for one in side for value in one] for side in sides]
        medians = [[round(statistics.median(one), 1) for one in side] for side in sides]
        ratio = statistics.median(flat[1]) / statistics.median(flat[0])
        of_rounds = sorted(large / small for small, large in zip(*medians, strict=True))
        result[name] = {
            "ms": [spread(side) for side in flat],
            "ratio": round(ratio, 2),
            "ratios_of_rounds": [round(one, 2) for one in of_rounds],
            "ended": ended[name],
        }
        _say(f"{name}: {result[name]}")
    return result


def warm_up(clients: list[Client], texts: list[str]) -> None:
    """Asks each question once, so that its data are in memory, as on a server in use."""
    for name in NAMESPACES:
        for client in clients:
            for text in texts:
                try:
                    ask(client, name, text)
                except SystemExit as refused:
                    _say(f"{name}: {refused}")
    time.sleep(LOADING_SECONDS)


def cost(node: Node, texts: list[str]) -> dict[str, dict[str, float]]:
    """Measures the CPU milliseconds and the pages read of one query at each size, and of one ingest."""
    client, costs = node.client, {}

    def count(seconds: float) -> dict[str, float]:
        return {**node.read_seconds(), "pages": node.read_blocks(), "clock": seconds}

    before = count(time.monotonic())
    time.sleep(IDLE_SECONDS)
    after = count(time.monotonic())
    passed = after["clock"] - before["clock"]
    idle = {part: (after[part] - before[part]) / passed for part in ("postgres", "memos", "pages")}
    for name in ("scale-100-0", "scale-5000-0", "scale-20000-0", "scale-100000-0", "scale-500000-0", "ingest"):
        before = count(time.monotonic())
        for text in texts[:COSTED]:
            try:
                _ = ingest(client, "scale-growth", text) if name == "ingest" else ask(client, name, text)
            except SystemExit as refused:
                _say(f"{name}: {refused}")
        # PostgreSQL publishes the statistics of a connection only after it has been idle for a moment.
        time.sleep(2)
        after = count(time.monotonic())
        passed = after["clock"] - before["clock"]
        spent = {part: (after[part] - before[part] - idle[part] * passed) / COSTED for part in idle}
        costs[name] = {
            "postgres_ms": round(1000 * spent["postgres"], 1),
            "memos_ms": round(1000 * spent["memos"], 1),
            "pages": round(spent["pages"]),
        }
        _say(f"{name}: {costs[name]}")
    return {"idle a second": {part: round(value, 3) for part, value in idle.items()}, **costs}


def issue(folder: Path) -> str:
    """Makes a key for the server of the folder by its management command."""
    command = [sys.executable, "manage.py", "issue_api_key", "growth", "--all-namespaces", "--requests-per-minute", "0"]
    environment = {**os.environ, "MEMOS_DATA_DIR": str(folder)}
    root = Path(__file__).resolve().parents[1]
    made = subprocess.run(command, env=environment, cwd=root, check=True, capture_output=True, text=True)
    return made.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, required=True, help="the folder of the larger one")
    parser.add_argument("--other-port", type=int, required=True)
    options = parser.parse_args()
    reach.open_process()
    places = [(Path(settings.MEMOS_DATA_DIR), settings.MEMOS_PORT), (options.other, options.other_port)]
    nodes = [Node(folder, port, issue(folder)) for folder, port in places]
    world, chance = World(active_model().dimensions), np.random.default_rng(3)
    drawn = np.searchsorted(world.words, chance.random((COSTED, QUESTION_WORDS)))
    texts = [" ".join(word(int(number)) for number in row) for row in drawn]
    result = {
        "bytes": [node.read_bytes() for node in nodes],
        "compared": compare(nodes, texts),
        "cost": [cost(node, texts) for node in nodes],
        "seconds of jobs": [node.read_job_seconds() for node in nodes],
        "megabytes": [node.read_megabytes() for node in nodes],
    }
    print(json.dumps(result, indent=1))


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
