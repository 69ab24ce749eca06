"""kill -9 of each part under load: acknowledged turns are stored, and every job runs to its end."""

from __future__ import annotations

import json
import threading
import urllib.error
from collections.abc import Callable

import pytest

from tests.crash.server import Server, wait_for

# Each part with words of its command line.
PARTS = {
    "web": "granian",
    "web process": "worker-1",
    "valkey": "valkey-server",
    "postgres": "postgres",
}


def turn(namespace: str, number: int, session: str = "s") -> dict[str, object]:
    text = f"note {number}: the crate with mark {number} stands in hall {number % 7}"
    return {"namespace": namespace, "session_id": session, "role": "user", "text": text, "metadata": {"number": number}}


class Load:
    """Clients that ingest until they are stopped, and remember the acknowledged turns."""

    def __init__(self, server: Server, namespace: str, clients: int = 3) -> None:
        self.acknowledged: dict[str, int] = {}
        self.refused = 0
        self._server = server
        self._namespace = namespace
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(client,)) for client in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, client: int) -> None:
        number = client * 1_000_000
        while not self._stop.is_set():
            number += 1
            try:
                answer = self._server.call("/v1/ingest", turn(self._namespace, number))
            except (OSError, urllib.error.URLError, json.JSONDecodeError):
                self.refused += 1
                self._stop.wait(0.05)
            else:
                self.acknowledged[answer["memory_id"]] = number


def memories(server: Server, namespace: str) -> dict[str, int]:
    """Return {memory id: metadata.number} of all memories in the namespace."""
    listed = server.manage(
        "shell",
        "--no-imports",
        "--verbosity",
        "0",
        "-c",
        "import json; from memory.models import Memory; "
        f"rows = Memory.objects.filter(namespace__name={namespace!r}).values_list('id', 'metadata__number'); "
        "print(json.dumps({str(key): number for key, number in rows}))",
    )
    return dict(json.loads(listed.strip().splitlines()[-1]))


def turns_without_gaps(server: Server, namespace: str) -> bool:
    counted = server.manage(
        "shell",
        "--no-imports",
        "--verbosity",
        "0",
        "-c",
        "from django.db.models import Count, Max; from memory.models import Memory; "
        f"rows = Memory.objects.filter(namespace__name={namespace!r}).values('session'); "
        "print([row['n'] == row['last'] for row in rows.annotate(n=Count('id'), last=Max('turn'))])",
    )
    return counted.strip().splitlines()[-1] == "[True]"


def wait_for_load(load: Load, more: int) -> None:
    before = len(load.acknowledged)
    wait_for(lambda: len(load.acknowledged) >= before + more, what=f"{more} more acknowledged turns")


@pytest.mark.parametrize("part", PARTS)
def test_what_was_acknowledged_survives_the_death_of(server, part):
    namespace = f"killed-{part}"
    with Load(server, namespace) as load:
        wait_for_load(load, 40)
        server.kill(PARTS[part])
        wait_for_load(load, 40)

    kept = memories(server, namespace)
    missing = {key: number for key, number in load.acknowledged.items() if kept.get(key) != number}
    assert not missing
    question = {"namespace": namespace, "session_id": "q", "query": "crate with mark 3", "top_k": 3}
    assert server.patient_call("/v1/query", question)["raw_chunks"]
    assert "counters — right" in server.manage("doctor")
    assert turns_without_gaps(server, namespace)


def test_the_embedding_process_is_missed_for_a_moment_only(tmp_path):
    server = Server(tmp_path / "data", MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_DEMO="0")
    server.start()
    try:
        with Load(server, "killed-embedding") as load:
            wait_for_load(load, 20)
            server.kill("minilm.server")
            wait_for_load(load, 20)
        assert load.refused == 0
        question = {"namespace": "killed-embedding", "query": "Which crate has the mark 3?", "top_k": 3}
        assert server.call("/v1/query", question)["degraded"] == []
    finally:
        server.stop()


def test_a_job_whose_worker_is_killed_runs_to_its_end(server):
    namespace = "killed-worker"
    items = [turn(namespace, number, session=f"s{number % 20}") for number in range(800)]
    for start in range(0, 800, 200):
        server.patient_call("/v1/ingest/batch", {"items": items[start : start + 200]})

    def summaries() -> dict[str, int]:
        rows = server.patient_call(f"/v1/ops/condensations?namespace={namespace}&limit=200")["condensations"]
        newest: dict[str, int] = {}
        for row in rows:
            # A card that is rewritten because its sources changed covers no further turns.
            last = row["trigger_details"].get("to_turn", 0)
            newest[row["session_id"]] = max(newest.get(row["session_id"], 0), last)
        return newest

    wait_for(lambda: len(summaries()) >= 1, what="a first summary")
    server.kill("qcluster worker")
    done: Callable[[], bool] = lambda: sum(1 for turns in summaries().values() if turns == 40) == 20  # noqa: E731

    wait_for(done, seconds=180, what="summaries of all 20 sessions, each up to its last turn")

    def idle() -> bool:
        queues = server.patient_call("/v1/ops/pipeline")["queues"]
        return all(entry["count"] == 0 for entry in queues)

    wait_for(idle, what="no job queued, in flight or failed")


def test_an_erasure_whose_worker_is_killed_runs_to_its_end(server):
    namespace = "erased"
    for start in range(0, 3000, 200):
        items = [turn(namespace, number, session=f"s{number % 10}") for number in range(start, start + 200)]
        server.patient_call("/v1/ingest/batch", {"items": items})
    server.patient_call("/v1/ingest", turn("kept", 1))
    body = {"namespace": namespace, "whole_namespace": True, "confirm": namespace, "reason": "test"}
    erasure = server.patient_call("/v1/erasures", body)["id"]

    def receipt() -> dict:
        return server.patient_call(f"/v1/erasures/{erasure}")

    wait_for(lambda: receipt()["holders"].get("memory_memory", {}).get("cleared", 0) > 0, what="a first batch")
    server.kill("qcluster worker")
    wait_for(lambda: receipt()["status"] == "finished", seconds=180, what="the erasure's end")

    done = receipt()
    assert done["holders"]["memory_memory"] == {"counted": 3000, "cleared": 3000, "left": 0}
    assert (done["proof"]["left"], done["proof"]["search"]["found_after"]) == (0, 0)
    assert memories(server, namespace) == {}
    assert len(memories(server, "kept")) == 1
    assert "counters — right" in server.manage("doctor")
