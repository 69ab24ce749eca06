"""Collects the cases of each half, and the individually written ones."""

from __future__ import annotations

from bench.settling import frames_learn, frames_report, free
from bench.settling.cases import Case, fill

LEARN, REPORT, FREE = "learn", "report", "free"
FRAMED = (LEARN, REPORT)
HALVES = (*FRAMED, FREE)


def cases_of(half: str) -> list[Case]:
    """Returns all cases of one of HALVES, English first. Raises ValueError if a filling does not fit its frame."""
    if half == FREE:
        return [*fill(free.EN, "en", half, ()), *fill(free.ZH, "zh", half, ())]
    frames = frames_learn if half == LEARN else frames_report
    return [*fill(frames.EN, "en", half, frames.BESIDE_EN), *fill(frames.ZH, "zh", half, frames.BESIDE_ZH)]
