"""What a person decides about a memory that waits for review. All of a decision is one transaction."""

from __future__ import annotations

import uuid
from datetime import datetime
from enum import StrEnum

from django.db import transaction

from memory.errors import InvalidInput
from memory.services.memories import edit, lifecycle, supersede
from memory.types import Access, ChangeTerms


class ReviewDecision(StrEnum):
    """`keep`: it holds. `supersede`: the other holds in its place. `outdo`: it holds in place of the other.
    `archive`: it leaves retrieval."""

    KEEP = "keep"
    SUPERSEDE = "supersede"
    OUTDO = "outdo"
    ARCHIVE = "archive"


def decide(
    access: Access,
    *,
    memory_id: uuid.UUID,
    decision: ReviewDecision,
    other_id: uuid.UUID | None,
    reason: str,
    now: datetime,
    terms: ChangeTerms,
) -> None:
    """Carries the decision out and takes the memory off the review list; `terms` are about this memory.

    Raises InvalidInput, also where `other_id` is lacking, NotFound, Conflict and PreconditionFailed as the verbs do.
    """
    if decision in (ReviewDecision.SUPERSEDE, ReviewDecision.OUTDO) and other_id is None:
        raise InvalidInput("Name the memory on the other side.", detail={"field": "other"})
    then = ChangeTerms(request_id=terms.request_id)
    with transaction.atomic():
        if decision is ReviewDecision.SUPERSEDE and other_id is not None:
            supersede.supersede(access, older_id=memory_id, newer_id=other_id, reason=reason, now=now, terms=terms)
            return
        # First the memory itself, in the revision that was looked at.
        edit.edit(access, memory_id=memory_id, reason=reason, reviewed=True, now=now, terms=terms)
        if decision is ReviewDecision.OUTDO and other_id is not None:
            supersede.supersede(access, older_id=other_id, newer_id=memory_id, reason=reason, now=now, terms=then)
        elif decision is ReviewDecision.ARCHIVE:
            lifecycle.archive_one(access, memory_id=memory_id, reason=reason, now=now, terms=then)
