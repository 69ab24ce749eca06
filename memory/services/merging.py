"""Lets one memory stand for others that say the same: they are superseded by it, and kept."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from memory.errors import MemosError
from memory.models import Memory
from memory.services.change import checked_reason
from memory.services.supersession import reinstate, supersede
from memory.types import Access, ChangeTerms


def merge(
    access: Access,
    *,
    survivor_id: uuid.UUID,
    other_ids: Iterable[uuid.UUID],
    reason: str,
    now: datetime,
    request_id: str = "",
) -> tuple[list[uuid.UUID], Counter[str]]:
    """Has `survivor_id` supersede the others; returns which it did, and why some were left out (message to count).

    Each is a change of its own: one that cannot be merged keeps none of the others back. Raises InvalidInput for a
    missing reason.
    """
    reason = checked_reason(reason)
    merged: list[uuid.UUID] = []
    problems: Counter[str] = Counter()
    for other_id in sorted(set(other_ids) - {survivor_id}):
        terms = ChangeTerms(request_id=request_id)
        try:
            answer = supersede(
                access, older_id=other_id, newer_id=survivor_id, reason=reason, now=now, terms=terms
            )  # fmt: skip
        except MemosError as error:
            problems[error.message] += 1
        else:
            if answer["changed"]:
                merged.append(other_id)
    return merged, problems


def unmerge(
    access: Access,
    *,
    survivor_id: uuid.UUID,
    other_ids: Iterable[uuid.UUID],
    reason: str,
    now: datetime,
    request_id: str = "",
) -> list[uuid.UUID]:
    """Takes a merge back for those that `survivor_id` still supersedes; returns which."""
    still = Memory.objects.reachable_by(access).filter(pk__in=list(other_ids), superseded_by=survivor_id)
    done = []
    for memory_id in still.order_by("pk").values_list("pk", flat=True):
        terms = ChangeTerms(request_id=request_id)
        if reinstate(access, memory_id=memory_id, reason=reason, now=now, terms=terms)["changed"]:
            done.append(memory_id)
    return done
