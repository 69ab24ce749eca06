#!/usr/bin/env python
"""Measures how long erasures wait to be begun while the workers have short and long work.

    python bench/erasure_wait.py --erasures 20

Starts a separate MemOS, queues an import of many turns (long work) and stores turns of many sessions (summaries and
settling: short work), then erases a session every second. Prints one JSON object: seconds from the request of an
erasure until its job began and until it was finished, and the most jobs that waited meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.serving import turns
from bench.whole_server import WholeServer

LONG_TURNS, SHORT_SESSIONS, TURNS_OF_SESSION = 20_000, 40, 40


def call(server: WholeServer, path: str, body: Any = None) -> Any:
    """Sends a request and returns the parsed answer. Raises OSError."""
    request = urllib.request.Request(
        server.url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.loads(response.read())


def load(server: WholeServer) -> None:
    """Gives the workers long and short work."""
    lines = "".join(f"[2026-05-08] - {text}\n" for text in turns(LONG_TURNS))
    call(server, "/v1/imports", {"namespace": "long", "text": lines})
    for session in range(SHORT_SESSIONS):
        items = [
            {"namespace": "short", "session_id": f"s{session}", "role": "user", "text": text}
            for text in turns(TURNS_OF_SESSION * SHORT_SESSIONS)[session::SHORT_SESSIONS]
        ]
        call(server, "/v1/ingest/batch", {"items": items})


def erase(server: WholeServer, number: int) -> tuple[float, float, int]:
    """Erases a session; returns the seconds until it began and ended, and the number of jobs that waited before."""
    session = f"e{number}"
    turn = {"namespace": "erased", "session_id": session, "role": "user", "text": f"Passport {number:09d} is mine."}
    call(server, "/v1/ingest", turn)
    waiting = sum(entry["queued"] for entry in call(server, "/v1/ops/pipeline")["waiting"]["priorities"])
    asked = {"namespace": "erased", "session_id": session, "reason": "measured"}
    erasure = call(server, "/v1/erasures", asked)["id"]
    while True:
        listed = call(server, "/v1/ops/jobs?kind=erase&limit=50")["jobs"]
        job = next(each for each in listed if each["subject"] == [erasure])
        if job["finished_at"]:
            break
        time.sleep(0.1)
    queued, started, finished = (
        datetime.fromisoformat(job[name]) for name in ("queued_at", "started_at", "finished_at")
    )
    return (started - queued).total_seconds(), (finished - queued).total_seconds(), waiting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--erasures", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memos-erasure-wait-") as folder:
        server = WholeServer(Path(folder), MEMOS_EMBEDDING_PROVIDER="hash", MEMOS_RATE_LIMIT_PER_MINUTE="0")
        try:
            server.start()
            load(server)
            measured = []
            for number in range(options.erasures):
                measured.append(erase(server, number))
                time.sleep(1)
        finally:
            server.stop()
    begun, ended, waiting = zip(*measured, strict=True)
    result = {
        name: {"median": round(statistics.median(values), 2), "longest": round(max(values), 2)}
        for name, values in (("begun_after_s", begun), ("finished_after_s", ended))
    }
    print(json.dumps(result | {"erasures": len(measured), "most_waiting_jobs": max(waiting)}))


if __name__ == "__main__":
    main()
