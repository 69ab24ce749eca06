"""Reads what lines can be made of: memories that people marked, corrected or superseded, page by page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory.enums import TrainingOrigin
from memory.models.memory import spans_of
from memory.models.queries import training as queries
from memory.text.utterances import live_text
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class TrainingText:
    """What a memory says now (`text`), with what identifies that: `fingerprint`, and whether it is superseded.

    A fact tells of its holder itself; a turn (`is_fact` false) is what somebody said.
    """

    memory_id: uuid.UUID
    role: str
    speaker: str
    text: str
    is_fact: bool
    fingerprint: bytes
    superseded: bool


@dataclass(frozen=True, slots=True)
class TrainingMaterial:
    """What a line is made of: `said` is right; `question` came before it, `formerly` is what held before."""

    origin: TrainingOrigin
    said: TrainingText
    question: TrainingText | None = None
    formerly: TrainingText | None = None


_FIRST = uuid.UUID(int=0)


def list_materials(scope: Scope, origin: TrainingOrigin, *, min_importance: float) -> Iterator[TrainingMaterial]:
    """What there is of one origin, in the order of the memories' ids.

    Each page is a statement of its own: what is made of them is compared with the memories before it is stored.
    """
    after = _FIRST
    while True:
        rows = queries.list_materials(scope.namespace_id, origin, after=after, min_importance=min_importance)
        for row in rows:
            said, question, formerly = (
                _text(row[start : start + queries.WIDTH]) for start in (0, queries.WIDTH, 2 * queries.WIDTH)
            )
            assert said is not None
            yield TrainingMaterial(origin, said, question, formerly)
        if len(rows) < queries.PAGE:
            return
        after = rows[-1][2 * queries.WIDTH] if origin == TrainingOrigin.SUPERSESSION else rows[-1][0]


def _text(columns: tuple[Any, ...]) -> TrainingText | None:
    memory_id, role, speaker, text, retired, is_fact, fingerprint, superseded = columns
    if memory_id is None:
        return None
    return TrainingText(
        memory_id, role, speaker, live_text(text, spans_of(retired)), is_fact, bytes(fingerprint), superseded
    )
