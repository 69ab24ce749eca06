"""Reads the material for lines: memories that people marked, corrected or superseded, page by page."""

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
    """The present text of a memory, with the `fingerprint` that identifies it, and whether the memory is superseded.

    A fact names its holder itself; a turn (`is_fact` false) was said by a speaker.
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
    """The material of a line: `said` is right; `question` came before it, and `formerly` held before it."""

    origin: TrainingOrigin
    said: TrainingText
    question: TrainingText | None = None
    formerly: TrainingText | None = None


_FIRST = uuid.UUID(int=0)


def list_materials(scope: Scope, origin: TrainingOrigin, *, min_importance: float) -> Iterator[TrainingMaterial]:
    """Yield the material of one origin, in the order of the memories' ids.

    Each page is a separate statement: the memories are compared again before the lines are stored.
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
