"""Counts the memories that hold common terms of large namespaces; searches read these terms last."""

from __future__ import annotations

import time

from django.db import transaction

from memory.models import CommonTerm, Corpus
from memory.models.locks import Lock, try_lock
from memory.models.queries import index as queries
from memory.retrieval.arms.rare_terms import COMMON
from memory.services.index.sizes import list_large

# Terms are counted again when the namespace has changed by this share. That is enough, because the weight of a term
# depends on the logarithm of its share.
_DRIFT = 0.1


def keep_up(*, seconds: float = float("inf")) -> int:
    """Counts the common terms of large namespaces that need it; returns the number of namespaces.

    It ends after about `seconds`, and the next run continues. It does nothing while another run is at work.
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
    """Counts the common terms of a namespace with that many memories, unless the last counts are still good enough.

    It reads all postings of the namespace, which takes a few seconds for half a million memories. Returns whether it
    counted.
    """
    counted = Corpus.objects.filter(namespace_id=namespace_id).values_list("memories", flat=True).first()
    if counted is not None and abs(memories - counted) <= _DRIFT * counted:
        return False
    with transaction.atomic():
        CommonTerm.objects.filter(namespace_id=namespace_id).delete()
        queries.insert_common_terms(namespace_id, least=COMMON)
        Corpus.objects.update_or_create(namespace_id=namespace_id, defaults={"memories": memories})
    return True
