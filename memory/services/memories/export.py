"""Reads all memories of a namespace that match the filters, one page at a time, however many they are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memory.models import Memory
from memory.models.memory import MemoryQuerySet
from memory.retrieval.filters import Filter
from memory.services.memories.read import MemoryFilter, hold_words, list_sources, meet, narrow_rows, to_dict
from memory.types import Scope

PAGE = 500


def export_pages(
    scope: Scope, *, wanted: MemoryFilter, where: Filter | None, now: datetime
) -> Iterator[list[dict[str, Any]]]:
    """Yield pages of the memories as clients see them, oldest recorded first; the first page may be empty.

    Each page is a separate statement: nothing is locked or held open while a slow client reads. A memory that exists
    throughout appears once. Memories recorded meanwhile are left out; of a change made meanwhile, the former or the new
    state appears.
    """
    rows = _narrow(Memory.objects.in_scope(scope), wanted, where, now=now)
    newest = Memory.objects.in_scope(scope).order_by("-pk").values_list("pk", flat=True).first()
    rows = rows.filter(pk__lte=newest) if newest else rows.none()
    page = _read(rows)
    yield _describe(page)
    while len(page) == PAGE:
        page = _read(rows.filter(pk__gt=page[-1].pk))
        yield _describe(page)


def _narrow(rows: MemoryQuerySet, wanted: MemoryFilter, where: Filter | None, *, now: datetime) -> MemoryQuerySet:
    rows = narrow_rows(rows, wanted, now=now)
    if wanted.words is not None:
        rows = hold_words(rows, wanted.words)
    return meet(rows, where)


def _read(rows: MemoryQuerySet) -> list[Memory]:
    return list(rows.select_related("namespace").defer("terms", "content_hash").order_by("pk")[:PAGE])


def _describe(page: list[Memory]) -> list[dict[str, Any]]:
    sources = list_sources(page)
    return [to_dict(memory, sources) for memory in page]
