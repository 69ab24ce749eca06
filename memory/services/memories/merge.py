"""Merges memories that say the same: one of them supersedes the others, which are kept."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory.errors import MemosError
from memory.models import Memory
from memory.services.memories.change import check_reason
from memory.services.memories.reinstate import reinstate
from memory.services.memories.supersede import supersede
from memory.types import Access, ChangeTerms


def merge(
    access: Access,
    *,
    survivor_id: uuid.UUID,
    other_ids: Iterable[uuid.UUID],
    reason: str,
    now: datetime,
    request_id: str = "",
) -> tuple[dict[uuid.UUID, str], Counter[str]]:
    """Have `survivor_id` supersede the others; return the superseded ids, each with the review that it waited for ('':
    none; superseding ends the review), and the number of memories left out by error message.

    Each is a separate change: a memory that cannot be merged does not affect the others. Raises InvalidInput for a
    missing reason.
    """
    reason = check_reason(reason)
    merged: dict[uuid.UUID, str] = {}
    problems: Counter[str] = Counter()
    others = sorted(set(other_ids) - {survivor_id})
    waiting = dict(Memory.objects.reachable_by(access).filter(pk__in=others).values_list("pk", "review"))
    for other_id in others:
        terms = ChangeTerms(request_id=request_id)
        try:
            answer = supersede(
                access, older_id=other_id, newer_id=survivor_id, reason=reason, now=now, terms=terms
            )  # fmt: skip
        except MemosError as error:
            problems[error.message] += 1
        else:
            if answer["changed"]:
                merged[other_id] = waiting.get(other_id, "")
    return merged, problems


def unmerge(
    access: Access,
    *,
    survivor_id: uuid.UUID,
    others: Mapping[uuid.UUID, str],
    reason: str,
    now: datetime,
    request_id: str = "",
) -> list[uuid.UUID]:
    """Undo a merge for the memories that `survivor_id` still supersedes; return their ids.

    `others` as returned by `merge`: each memory waits for its former review again.
    """
    still = Memory.objects.reachable_by(access).filter(pk__in=list(others), superseded_by=survivor_id)
    done = []
    for memory_id in still.order_by("pk").values_list("pk", flat=True):
        terms = ChangeTerms(request_id=request_id)
        answer = reinstate(
            access, memory_id=memory_id, reason=reason, now=now, review=others[memory_id], terms=terms
        )  # fmt: skip
        if answer["changed"]:
            done.append(memory_id)
    return done
