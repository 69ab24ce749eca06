"""Background jobs that keep the indexes up to date."""

from __future__ import annotations

import logging
from datetime import datetime

from memory.errors import EmbeddingUnavailable
from memory.services.index import changes, common_terms, hnsw_indexes, marks, missing_vectors
from memory.services.index import renew_terms as renewal
from memory.services.jobs.registry import slice_seconds

__all__ = [
    "check_embedded_marks",
    "embed_pending",
    "forget_index_changes",
    "keep_up_hnsw_indexes",
    "keep_up_large_namespaces",
    "renew_terms",
]

log = logging.getLogger("memos.tasks")

forget_index_changes = changes.forget


def embed_pending(*, now: datetime) -> int:
    """Makes the vectors that ingest did not; if the provider is unavailable, the schedule tries again later."""
    try:
        return missing_vectors.embed_pending(seconds=slice_seconds())
    except EmbeddingUnavailable as error:
        log.warning("memories still wait for their vectors", extra={"reason": error.message})
        return 0


def check_embedded_marks(*, now: datetime) -> int:
    """Corrects the marks that say which memories are embedded; returns the number of wrong ones."""
    changed = marks.correct_marks()
    if changed:
        log.warning("memories were wrongly marked as embedded or not", extra={"memories": changed})
    return changed


def renew_terms(*, now: datetime) -> int:
    """Renews the terms that an earlier version of MemOS stored; returns the number of memories."""
    return renewal.renew_terms(now=now, seconds=slice_seconds())


def keep_up_large_namespaces(*, now: datetime) -> int:
    """Counts the common terms of large namespaces, as far as time allows; returns the number of namespaces."""
    return common_terms.keep_up(seconds=slice_seconds())


def keep_up_hnsw_indexes(*, now: datetime) -> int:
    """Makes missing HNSW indexes and drops unneeded ones; returns the number of both.

    A statement that takes longer continues in PostgreSQL.
    """
    report = hnsw_indexes.keep_up(seconds=slice_seconds())
    return report.made + report.dropped
