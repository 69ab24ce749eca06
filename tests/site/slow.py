"""A WSGI application that says which process answers, for tests of what is handed over between them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

WORK_SECONDS = 0.3


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """JSON of the process and the request; with `?wait` in pieces, for as long as they are taken; with `?work` after
    WORK_SECONDS, with `?work=2` after two; with `?until=PATH` when that is there, and first the
    process is written to PATH.begun."""
    length = len(environ["wsgi.input"].read())
    if environ["QUERY_STRING"] == "wait":
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return _pieces()
    if environ["QUERY_STRING"].startswith("work"):
        time.sleep(float(environ["QUERY_STRING"].partition("=")[2] or WORK_SECONDS))
    if environ["QUERY_STRING"].startswith("until="):
        path = Path(environ["QUERY_STRING"].removeprefix("until="))
        path.with_suffix(".begun").write_text(str(os.getpid()))
        while not path.exists():
            time.sleep(0.02)
    told = {"pid": os.getpid(), "length": length, "peer": environ["REMOTE_ADDR"]}
    answer = json.dumps(told).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def _pieces() -> Iterator[bytes]:
    while True:
        yield b"begun\n"
        time.sleep(0.05)
