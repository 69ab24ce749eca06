"""Concurrent calls in tests, and a connection separate from their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from django.db import connection


def together(count: int, call: Callable[[int], Any]) -> list[Any]:
    """Call `call(number)` in `count` threads that start at once; each thread returns its connection."""
    start = threading.Barrier(count)

    def one(number: int) -> Any:
        try:
            start.wait(10)
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until `holds` returns true. Fails if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)


def other_connection() -> psycopg.Connection[Any]:
    """Return a separate connection, as another process has."""
    given = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    return psycopg.connect(**{name: given[name] for name in names if given.get(name)}, autocommit=True)
