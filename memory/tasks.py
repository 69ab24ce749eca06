"""Background jobs: ids in, one service call each. A job that runs twice changes nothing the second time."""

from __future__ import annotations

import logging
import uuid

from django.conf import settings
from django.utils import timezone

from memory.errors import EmbeddingUnavailable
from memory.evaluation.runner import run_requested
from memory.models import Namespace
from memory.services import condense, embedding, erasing, erasures, evaluations, idempotency, large_namespaces
from memory.types import Scope

log = logging.getLogger("memos.tasks")

WORKER = "worker"


def condense_session(namespace_id: int, session: str) -> int:
    """Brings one session's summary up to date; returns how many versions that made."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        return 0
    scope = Scope(namespace_id, name, WORKER)
    return len(condense.condense_session(scope, session=session, now=timezone.now()))


def embed_pending() -> int:
    """Makes the vectors that ingest could not; while the provider is away the schedule tries again."""
    try:
        return embedding.embed_pending(seconds=settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
    except EmbeddingUnavailable as error:
        log.warning("memories still wait for their vectors", extra={"reason": error.message})
        return 0


def forget_idempotency_keys() -> int:
    """Deletes idempotency records older than MEMOS_IDEMPOTENCY_HOURS."""
    return idempotency.forget_old(now=timezone.now())


def request_missing_summaries() -> int:
    """Queues summaries that are due but were never asked for, or whose job was lost."""
    return condense.request_overdue(now=timezone.now())


def keep_up_large_namespaces() -> int:
    """Files new vectors of large namespaces in cells and counts their common terms; what is left waits a minute."""
    seconds = settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    return large_namespaces.keep_up(now=timezone.now(), seconds=seconds).filed


def evaluate(namespace_id: int, run_id: str) -> bool:
    """Carries out a run that was asked for; False when it is over, or when another worker is at it."""
    return run_requested(namespace_id=namespace_id, run_id=uuid.UUID(run_id), now=timezone.now)


def fail_lost_evaluations() -> int:
    """Fails the evaluations whose process has ended before them."""
    return evaluations.fail_lost(now=timezone.now())


def erase(namespace_id: int, erasure_id: str) -> bool:
    """Carries out an erasure, or goes on with it; False when it is over, or when another worker is at it."""
    return erasing.carry_out(namespace_id=namespace_id, erasure_id=uuid.UUID(erasure_id), now=timezone.now)


def request_lost_erasures() -> int:
    """Queues again the erasures that wait for a part that was away, or whose process has ended."""
    return erasures.request_lost(now=timezone.now())
