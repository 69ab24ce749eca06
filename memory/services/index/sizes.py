"""Which namespaces are large."""

from __future__ import annotations

from django.conf import settings
from django.db import connection


def list_large(*, share: float = 1.0) -> list[tuple[int, int]]:
    """(namespace id, searchable memories) of the namespaces that are large, or beyond a `share`
    of it; by id."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT namespace_id, sum(memories)::bigint FROM memory_namespacestat
            GROUP BY namespace_id HAVING sum(memories) > %s ORDER BY namespace_id
            """,
            [int(share * settings.MEMOS_LARGE_NAMESPACE_MEMORIES)],
        )
        return cursor.fetchall()
