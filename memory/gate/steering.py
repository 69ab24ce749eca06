"""Detects attempts to steer the reader of a memory, by its text or by the name of its speaker."""

from __future__ import annotations

from functools import lru_cache

from memory.enums import GateAction
from memory.gate.findings import GateFindings, GateInput
from memory.gate.hidden import find_hidden
from memory.gate.injection import FOUND, find_injection
from memory.gate.judgement import Reason


def detect(turn: GateInput) -> GateFindings:
    """Detect steering, also by the speaker's name; below `FOUND` it is reported and accepted."""
    sure, reasons = find_injection(turn.text)
    hidden = find_hidden(turn.text)
    for reason in hidden:
        sure = 1.0 - (1.0 - sure) * (1.0 - reason.score)
    named = _speaker_steers(turn.speaker) if turn.speaker else 0.0
    if named >= FOUND:
        hidden.append(Reason("injection.speaker", "The speaker's name tries to steer the reader.", round(named, 3)))
        sure = max(sure, named)
    action = turn.policy.injection if sure >= FOUND else GateAction.ACCEPT
    return GateFindings(action, [*reasons, *hidden], steering=sure)


@lru_cache(maxsize=4096)
def _speaker_steers(speaker: str) -> float:
    return max((find_injection(speaker)[0], *(reason.score for reason in find_hidden(speaker))))
