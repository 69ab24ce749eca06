"""Keeps up what a search of a large namespace relies on: IVF lists of its vectors, counts of its common terms."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from memory.enums import EmbeddingState
from memory.models.locks import Lock, try_lock
from memory.services.index import common_terms, hnsw_indexes, ivf_lists
from memory.services.index.ivf_lists import Place
from memory.services.index.sizes import list_large


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """What a run did: vectors filed in lists, lists split, joined or compared, namespaces whose terms were counted."""

    filed: int = 0
    lists: int = 0
    counted: int = 0


def keep_up(*, now: datetime, seconds: float = float("inf")) -> UpkeepReport:
    """Brings lists and counts of every large namespace up to date; a second run finds nothing to do.

    Ends after about `seconds` and goes on in the next run. One run at a time, another does nothing. Searches and
    writers are not stopped at any moment.
    """
    deadline = time.monotonic() + seconds
    filed = lists = counted = 0
    with try_lock(Lock.IVF_LISTS) as first:
        if not first:
            return UpkeepReport()
        indexed = hnsw_indexes.list_ready()
        for namespace_id, memories in list_large():
            counted += common_terms.count(namespace_id, memories=memories)
            for model_id in _models():
                place = Place(namespace_id, model_id)
                # Marking a vector as filed would have its HNSW index take it in again.
                if place not in indexed:
                    filed += ivf_lists.file(place, now=now, deadline=deadline)
                lists += ivf_lists.even_out(place, now=now, deadline=deadline)
            if time.monotonic() > deadline:
                break
    return UpkeepReport(filed, lists, counted)


def _models() -> list[int]:
    """The models whose vectors are searched, or will be."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM memory_embeddingmodel WHERE state IN (%s, %s) ORDER BY id",
            [EmbeddingState.ACTIVE.value, EmbeddingState.BUILDING.value],
        )
        return [row[0] for row in cursor.fetchall()]
