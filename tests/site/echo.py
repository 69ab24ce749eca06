"""A WSGI application that says what it was asked, for tests of the worker that reads requests."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

LATE_SECONDS = 4.0


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """JSON of the request; a body is told by its length and SHA-256. `/unread` does not read it; `/late` answers after
    LATE_SECONDS."""
    body = b"" if environ["PATH_INFO"] == "/unread" else environ["wsgi.input"].read()
    if environ["PATH_INFO"] == "/late":
        time.sleep(LATE_SECONDS)
    told = {
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"],
        "script": environ["SCRIPT_NAME"],
        "scheme": environ["wsgi.url_scheme"],
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    answer = json.dumps(told).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]
