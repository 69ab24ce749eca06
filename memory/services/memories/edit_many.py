"""Corrects several memories, all or none."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from memory.services.memories.edit import edit
from memory.types import Access, ChangeTerms


@dataclass(frozen=True, slots=True)
class Correction:
    """New values for one memory; None leaves a value as it is. `metadata` replaces all metadata."""

    memory_id: uuid.UUID
    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    occurred_at: datetime | None = None


def edit_many(
    access: Access, corrections: Sequence[Correction], *, reason: str, now: datetime, request_id: str = ""
) -> list[dict[str, Any]]:
    """Correct the memories in one transaction; return the answers of `edit`, in the order of the ids.

    Raises what `edit` raises, and then changes none of them.
    """
    with transaction.atomic():
        return [
            edit(
                access,
                memory_id=one.memory_id,
                reason=reason,
                now=now,
                text=one.text,
                metadata=one.metadata,
                occurred_at=one.occurred_at,
                terms=ChangeTerms(request_id=request_id),
            )
            for one in sorted(corrections, key=lambda correction: correction.memory_id)
        ]
