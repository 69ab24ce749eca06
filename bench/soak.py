#!/usr/bin/env python
"""Loads a separate server for an hour with 20 mixed requests a second, and records its memory and latency.

    python bench/soak.py --minutes 60 --out soak.jsonl

Requests are sent when they are due, whether or not earlier ones have been answered, and latency counts from then, so
that stalls of the server count. They are spread over several hundred namespaces, so that none grows beyond what one
user's agent remembers in months. Facts are taken back and replaced, so that the worker has to settle, condense and
index all the time.

Each minute has resident (RSS) and proportional (PSS) memory by role, errors by kind, latency by kind of request, and
the load of the machine, because other work on it raises latencies. If the server is too slow, requests that find
MOST_WAITING others waiting here are not sent, but counted (`unsent`). Growth is that of the memory that processes do
not share (PSS without shared memory); PostgreSQL's shared buffers, a cache of fixed size whose pages Linux allocates on
first use, are shown separately. `turns`: the number of turns that wait to be read for names or compared, as in
/metrics.

The aims are no errors, at most 5 % more memory at the end than after ten minutes, a p99 of the last ten minutes of at
most 1.2 times that of minutes 10 to 20, and no growing backlog of turns. Linux only (smaps_rollup).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import queue
import random
import re
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.whole_server import WholeServer

NAMES = "Ada Bo Chen Dana Emil Farah Goro Hana Ivo Jun Kira Leo Mina Nils Olga Pia Quinn Rosa Sven Tara".split()
CITIES = "Lisbon Oslo Kyoto Porto Graz Turin Bergen Leipzig Ghent Malaga Tartu Basel Utrecht Cork Riga Split".split()
FIRMS = "Northwind Halvorsen Tessera Marlow Quillon Brightsea Ostrava Kestrel Pembroke Vantage".split()
THINGS = "ledger bicycle recipe contract painting telescope violin permit invoice map lantern sketch".split()
PLACES = "harbour bakery museum workshop garden station library studio market clinic orchard archive".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
CITIES_ZH = "上海 北京 广州 成都 杭州 南京 西安 武汉 青岛 厦门".split()
NAMES_ZH = "王芳 李雷 张敏 刘洋 陈静 赵磊 孙丽 周强".split()

# The kinds of requests, and their shares.
MIX = {
    "ingest": 34,
    "batch": 5,
    "query": 25,
    "search": 12,
    "why": 3,
    "memories": 8,
    "sessions": 5,
    "packs": 3,
    "document": 2,
    "feedback": 2,
    "entities": 1,
}
BATCH = 10
SENDERS = 24
SESSION_TURNS = 40
REQUEST_SECONDS = 90
MOST_WAITING = 60
FIRST_MINUTES = 10


def turn_text(chance: random.Random) -> str:
    """Makes a turn of a conversation: small news, or a fact that later ones replace; a quarter is in Chinese."""
    pick = chance.choice
    number = chance.randrange(100_000)
    frames = (
        lambda: f"{pick(NAMES)} lives in {pick(CITIES)} now and takes the {pick(DAYS)} train.",
        lambda: f"I moved to {pick(CITIES)} last month, close to the {pick(PLACES)}.",
        lambda: f"{pick(NAMES)} no longer works at {pick(FIRMS)}; since {pick(DAYS)} it is {pick(FIRMS)}.",
        lambda: f"My favourite {pick(PLACES)} is the one in {pick(CITIES)}, number {number}.",
        lambda: (
            f"On {pick(DAYS)} {pick(NAMES)} left the {pick(THINGS)} at the {pick(PLACES)} because the {pick(THINGS)} "
            f"number {number} was needed for the {pick(PLACES)} before the evening, and {pick(NAMES)} will fetch it."
        ),
        lambda: f"Actually the {pick(THINGS)} {number} belongs to {pick(NAMES)}, not to {pick(NAMES)}.",
        lambda: f"{pick(NAMES_ZH)}上个月搬到{pick(CITIES_ZH)}了，房租是{number}元。",
        lambda: f"我现在住在{pick(CITIES_ZH)}，{pick(NAMES_ZH)}周末会来看我，订单号{number}。",
    )
    return pick(frames)()


def question(chance: random.Random) -> str:
    """Makes a question about such turns."""
    pick = chance.choice
    frames = (
        lambda: f"Where does {pick(NAMES)} live?",
        lambda: f"Who left the {pick(THINGS)} at the {pick(PLACES)}?",
        lambda: f"Where does {pick(NAMES)} work now?",
        lambda: f"Which {pick(PLACES)} do I like best?",
        lambda: f"{pick(NAMES_ZH)}现在住在哪里？",
    )
    return pick(frames)()


@dataclass
class Tenant:
    """Holds a namespace and the progress of its conversation."""

    name: str
    turns: int = 0
    memory_id: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def session(self) -> str:
        return f"s{self.turns // SESSION_TURNS}"

    def next_session(self, turns: int) -> str:
        with self.lock:
            session = self.session()
            self.turns += turns
        return session


class Traffic:
    """Makes requests of the mix; the same sequence for the same seed."""

    def __init__(self, namespaces: int, seed: int) -> None:
        self.tenants = [Tenant(f"soak-{number:03}") for number in range(namespaces)]
        self._chance = random.Random(seed)
        # Some namespaces are busier than others (Zipf with exponent 0.5: the busiest has 14 times the median's turns).
        self._weights = [(rank + 1) ** -0.5 for rank in range(namespaces)]

    def turns(self, tenant: Tenant, count: int) -> dict[str, Any]:
        session = tenant.next_session(count)
        items = [
            {
                "namespace": tenant.name,
                "session_id": session,
                "role": "user" if self._chance.random() < 0.7 else "assistant",
                "text": turn_text(self._chance),
            }
            for _ in range(count)
        ]
        return {"items": items}

    def make(self) -> tuple[str, str, str, Any, Tenant]:
        """Makes a request: (kind, method, path, body, tenant)."""
        chance = self._chance
        [kind] = chance.choices(list(MIX), weights=list(MIX.values()))
        [tenant] = chance.choices(self.tenants, weights=self._weights)
        if kind in ("feedback", "why") and not tenant.memory_id:
            kind = "ingest"
        where = f"namespace={tenant.name}"
        asked = {"namespace": tenant.name, "query": question(chance)}
        match kind:
            case "ingest":
                return kind, "POST", "/v1/ingest", self.turns(tenant, 1)["items"][0], tenant
            case "batch":
                return kind, "POST", "/v1/ingest/batch", self.turns(tenant, BATCH), tenant
            case "query":
                return kind, "POST", "/v1/query", {**asked, "session_id": tenant.session()}, tenant
            case "search":
                return kind, "POST", "/v1/search", asked, tenant
            case "why":
                return kind, "POST", "/v1/why", {**asked, "memory_id": tenant.memory_id}, tenant
            case "memories":
                return kind, "GET", f"/v1/memories?{where}&limit=20", None, tenant
            case "sessions":
                return kind, "GET", f"/v1/ops/condensations?{where}&limit=20", None, tenant
            case "packs":
                return kind, "GET", f"/v1/ops/context_packs?{where}&limit=10", None, tenant
            case "entities":
                return kind, "GET", f"/v1/entities?{where}&limit=20", None, tenant
            case "document":
                text = "\n\n".join(" ".join(turn_text(chance) for _ in range(6)) for _ in range(4))
                body = {"namespace": tenant.name, "document_id": f"doc-{chance.randrange(5)}", "text": text}
                return kind, "POST", "/v1/documents", body, tenant
            case _:
                path = f"/v1/memories/{tenant.memory_id}/feedback"
                return "feedback", "POST", path, {"namespace": tenant.name, "kind": "useful"}, tenant


class Minute:
    """Records the results of one minute."""

    def __init__(self) -> None:
        self.latencies: dict[str, list[float]] = {}
        self.errors: Counter[str] = Counter()


class Senders:
    """Sends due requests from a queue, on a pool of keep-alive connections."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._due: queue.Queue[tuple[float, tuple] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._minute = Minute()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def send(self, due: float, request: tuple) -> None:
        self._due.put((due, request))

    def is_behind(self) -> bool:
        """Tells whether MOST_WAITING requests wait, so that another one would only wait as well."""
        return self._due.qsize() >= MOST_WAITING

    def count_answered(self) -> int:
        """Counts the requests of this minute that have been answered."""
        with self._lock:
            return sum(len(values) for values in self._minute.latencies.values())

    def take_minute(self) -> Minute:
        with self._lock:
            done, self._minute = self._minute, Minute()
        return done

    def close(self) -> None:
        for _ in self._threads:
            self._due.put(None)
        for thread in self._threads:
            thread.join(REQUEST_SECONDS)

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=REQUEST_SECONDS)
        while (item := self._due.get()) is not None:
            due, (kind, method, path, body, tenant) = item
            error = ""
            try:
                connection.request(method, path, None if body is None else json.dumps(body), self._headers)
                response = connection.getresponse()
                answer = response.read()
                if response.status != 200:
                    error = f"{kind} {response.status}: {_describe_error(answer)}"
                elif kind == "ingest":
                    tenant.memory_id = json.loads(answer)["memory_id"] or tenant.memory_id
            except (OSError, http.client.HTTPException) as problem:
                connection.close()
                error = f"{kind} {type(problem).__name__}"
            milliseconds = (time.monotonic() - due) * 1000
            with self._lock:
                self._minute.latencies.setdefault(kind, []).append(milliseconds)
                if error:
                    self._minute.errors[error] += 1


def _describe_error(answer: bytes) -> str:
    try:
        error = json.loads(answer)["error"]
    except (ValueError, KeyError, TypeError):
        return answer[:100].decode("utf-8", "replace")
    return f"{error['code']}: {error['message'][:100]}"


def memory_of(process: psutil.Process) -> Counter[str]:
    """Returns the memory in MiB: rss, pss, and the parts of pss (anon, file, shmem)."""
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    kib = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    parts = {"rss": "Rss", "pss": "Pss", "anon": "Pss_Anon", "file": "Pss_File", "shmem": "Pss_Shmem"}
    return Counter({name: kib[key] / 1024 for name, key in parts.items()})


def memory_by_role(server: WholeServer) -> dict[str, dict[str, float]]:
    """Sums `memory_of` by role, with the number of processes; `all` is everything together.

    PostgreSQL's processes count as one role, because the process that a shared page is attributed to changes
    constantly.
    """
    found: dict[str, Counter[str]] = {}
    for role, processes in server.by_role().items():
        for process in processes:
            try:
                sizes = memory_of(process)
            except (FileNotFoundError, ProcessLookupError, KeyError):
                # The process has ended since it was listed.
                continue
            whole = "postgres" if role.startswith("post") else role
            for name in (whole, "all"):
                found.setdefault(name, Counter())
                found[name].update(sizes)
                found[name]["processes"] += 1
    return {role: {name: round(value, 1) for name, value in sizes.items()} for role, sizes in found.items()}


def count_waiting_turns(server: WholeServer) -> int:
    """Returns how many turns wait for background work."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=REQUEST_SECONDS) as answer:
        text = answer.read().decode()
    [turns] = re.findall(r"^memos_turns_waiting (\S+)", text, re.MULTILINE)
    return int(float(turns))


def own(sizes: Mapping[str, float]) -> float:
    """Returns the MiB that processes do not share."""
    return sizes["pss"] - sizes["shmem"]


def spread(latencies: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Returns count, p50 and p99 in milliseconds by kind, and of all."""
    together = {**latencies, "all": [value for values in latencies.values() for value in values]}
    return {
        kind: {
            "n": len(values),
            "p50": round(statistics.median(values), 1),
            "p99": round(percentile(values, 0.99), 1),
        }
        for kind, values in sorted(together.items())
        if values
    }


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def soak(server: WholeServer, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs the load; returns a row for each minute, which is also written to `options.out`."""
    traffic = Traffic(options.namespaces, options.seed)
    senders = Senders(server.port, server.key)
    for tenant in traffic.tenants:
        senders.send(time.monotonic(), ("prefill", "POST", "/v1/ingest/batch", traffic.turns(tenant, BATCH), tenant))
    while senders.count_answered() < len(traffic.tenants):
        time.sleep(0.2)
    filled = senders.take_minute()
    if filled.errors:
        raise SystemExit(f"the namespaces could not be filled: {dict(filled.errors)}")
    rows: list[dict[str, Any]] = []
    raw: list[dict[str, list[float]]] = []
    begun = time.monotonic()
    sent = 0
    for number in range(1, options.minutes + 1):
        unsent = 0
        while (due := begun + sent / options.rate) < begun + number * 60:
            time.sleep(max(0.0, due - time.monotonic()))
            sent += 1
            if senders.is_behind():
                unsent += 1
            else:
                senders.send(due, traffic.make())
        minute = senders.take_minute()
        raw.append(minute.latencies)
        row = {
            "minute": number,
            "load": round(os.getloadavg()[0], 2),
            "unsent": unsent,
            "errors": dict(minute.errors),
            "latency": spread(minute.latencies),
            "memory": memory_by_role(server),
            "turns": count_waiting_turns(server),
        }
        rows.append(row)
        with options.out.open("a") as out:
            out.write(json.dumps(row) + "\n")
        total = row["memory"]["all"]
        print(
            f"minute {number:3}  load {row['load']:5}  own {own(total):7.1f} MiB  shared {total['shmem']:6.1f}  "
            f"p50 {row['latency']['all']['p50']:6.1f} ms  p99 {row['latency']['all']['p99']:7.1f} ms  "
            f"unsent {unsent}  errors {sum(minute.errors.values())}  turns waiting {row['turns']}",
            flush=True,
        )
    senders.close()
    report(rows, raw)
    return rows


def report(rows: list[dict[str, Any]], raw: list[dict[str, list[float]]]) -> None:
    """Prints growth by role after the first ten minutes, the ratio of the p99, and the errors."""
    first = rows[min(FIRST_MINUTES, len(rows)) - 1]["memory"]
    last = rows[-1]["memory"]
    print("\nMemory (MiB)           first   last   growth   processes")
    for role in sorted(last):
        before, after = first.get(role, Counter()), last[role]
        if before.get("pss"):
            growth = (own(after) / own(before) - 1) * 100
            counts = f"{before['processes']:.0f} → {after['processes']:.0f}"
            print(f"{role:20} {own(before):7.1f} {own(after):7.1f} {growth:+6.1f} %   {counts}")
    print(f"{'shared buffers':20} {first['all']['shmem']:7.1f} {last['all']['shmem']:7.1f}")
    span = min(10, max(1, len(raw) // 3))
    at = min(FIRST_MINUTES, len(raw) - 2 * span) if len(raw) > 2 * span else 0
    print("\nLatency (ms)       p50 early   late   p99 early    late  ratio")
    early, late = _join_minutes(raw[at : at + span]), _join_minutes(raw[-span:])
    for kind in sorted(late):
        if kind not in early:
            continue
        old, new = percentile(early[kind], 0.99), percentile(late[kind], 0.99)
        print(
            f"{kind:18} {statistics.median(early[kind]):9.1f} {statistics.median(late[kind]):6.1f} {old:11.1f} "
            f"{new:7.1f} {new / old:6.2f}"
        )
    print()
    turns = [row["turns"] for row in rows]
    print(f"turns waiting  median {statistics.median(turns):.0f}  most {max(turns)}")
    errors: Counter[str] = Counter()
    for row in rows:
        errors.update(row["errors"])
    unsent = sum(row["unsent"] for row in rows)
    sent = sum(row["latency"]["all"]["n"] for row in rows)
    print(f"\nrequests {sent}, unsent {unsent}, errors {sum(errors.values())}")
    for error, count in errors.most_common(20):
        print(f"  {count:6}  {error}")


def _join_minutes(minutes: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"all": []}
    for latencies in minutes:
        for kind, values in latencies.items():
            found.setdefault(kind, []).extend(values)
            found["all"].extend(values)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second")
    parser.add_argument("--namespaces", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("soak.jsonl"))
    parser.add_argument("--folder", type=Path, help="scratch folder; a temporary one that is removed if left out")
    options = parser.parse_args()
    options.out.write_text("")
    with tempfile.TemporaryDirectory(prefix="memos-soak-", ignore_cleanup_errors=True) as scratch:
        folder = (options.folder or Path(scratch)) / uuid.uuid4().hex[:8]
        server = WholeServer(folder)
        server.start()
        try:
            soak(server, options)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
