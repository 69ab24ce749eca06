"""Replaces what must not be stored with marks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Detection:
    """Something of `kind` ("api key") at [start, end) of a text, in characters; `score` (0..1) is the confidence."""

    kind: str
    start: int
    end: int
    score: float


def without_overlaps(found: Iterable[Detection]) -> list[Detection]:
    """Return detections in reading order; overlapping ones are merged under the kind of the surest, then longest."""
    kept: list[Detection] = []
    for one in sorted(found, key=attrgetter("start")):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
            continue
        last = kept[-1]
        better = max(last, one, key=lambda each: (each.score, each.end - each.start))
        # The merged mark covers both, so that no part of the weaker one remains.
        kept[-1] = Detection(better.kind, last.start, max(last.end, one.end), better.score)
    return kept


def redact(text: str, found: Iterable[Detection]) -> str:
    """Return `text` with a mark such as `[redacted: api key]` in place of each detection."""
    pieces: list[str] = []
    start = 0
    for one in without_overlaps(found):
        pieces += [text[start : one.start], f"[redacted: {one.kind}]"]
        start = one.end
    return "".join((*pieces, text[start:]))
