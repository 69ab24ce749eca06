"""Counts which terms many memories of a large namespace hold; a search leaves those for last."""

from __future__ import annotations

from django.db import connection, transaction

from memory.models import Corpus
from memory.retrieval.arms.rare_terms import COMMON

# Counted again when the namespace has changed by this share: weights of terms are logarithms of their shares.
_DRIFT = 0.1


def count(namespace_id: int, *, memories: int) -> bool:
    """Counts the common terms of a namespace of so many memories, if they were not or it has changed much since.

    Reads all postings of the namespace (half a million memories: a few seconds). Says whether it counted.
    """
    counted = Corpus.objects.filter(namespace_id=namespace_id).values_list("memories", flat=True).first()
    if counted is not None and abs(memories - counted) <= _DRIFT * counted:
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM memory_commonterm WHERE namespace_id = %s", [namespace_id])
        cursor.execute(
            """
            INSERT INTO memory_commonterm (namespace_id, term, memories)
            SELECT namespace_id, term, count(*) FROM memory_posting WHERE namespace_id = %s
            GROUP BY namespace_id, term HAVING count(*) >= %s
            """,
            [namespace_id, COMMON],
        )
        Corpus.objects.update_or_create(namespace_id=namespace_id, defaults={"memories": memories})
    return True
