"""Lets one run of a piece of background work go on at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def alone(lock: int) -> Iterator[bool]:
    """Whether this is the only run inside, on any machine; `lock` names the work (a PostgreSQL advisory lock)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        got = bool(cursor.fetchone()[0])
        try:
            yield got
        finally:
            if got:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])
