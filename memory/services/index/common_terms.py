"""Counts which terms many memories of a large namespace hold; a search leaves those for last."""

from __future__ import annotations

import time

from django.db import transaction

from memory.models import CommonTerm, Corpus
from memory.models.locks import Lock, try_lock
from memory.models.queries import index as queries
from memory.retrieval.arms.rare_terms import COMMON
from memory.services.index.sizes import list_large

# Counted again when the namespace has changed by this share: weights of terms are logarithms of their shares.
_DRIFT = 0.1


def keep_up(*, seconds: float = float("inf")) -> int:
    """Counts the common terms of the large namespaces that need it, and returns how many; a second run finds none.

    Ends after about `seconds` and goes on in the next run. One run at a time, another does nothing.
    """
    deadline = time.monotonic() + seconds
    counted = 0
    with try_lock(Lock.COMMON_TERMS) as first:
        for namespace_id, memories in list_large() if first else ():
            if time.monotonic() > deadline:
                break
            counted += count(namespace_id, memories=memories)
    return counted


def count(namespace_id: int, *, memories: int) -> bool:
    """Counts the common terms of a namespace of so many memories, if they were not or it has changed much since.

    Reads all postings of the namespace (half a million memories: a few seconds). Tells whether it counted.
    """
    counted = Corpus.objects.filter(namespace_id=namespace_id).values_list("memories", flat=True).first()
    if counted is not None and abs(memories - counted) <= _DRIFT * counted:
        return False
    with transaction.atomic():
        CommonTerm.objects.filter(namespace_id=namespace_id).delete()
        queries.insert_common_terms(namespace_id, least=COMMON)
        Corpus.objects.update_or_create(namespace_id=namespace_id, defaults={"memories": memories})
    return True
