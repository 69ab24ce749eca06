"""Draws the radar: each candidate at a distance from the centre given by its score, in the sector of its source."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ops.charts import nice_top

# The drawing's box is 724 × 556 with the centre in its middle. The best possible score is INNER from the centre.
RADIUS, INNER = 240.0, 16.0
RINGS = 4
# Dots keep this share of a sector's width away from its edges.
MARGIN = 0.1
# Further sectors are drawn as one.
MAX_SECTORS = 8
_LABEL_CHARS = 15
# A shorter arrow would be hidden by its dot.
_LEAST_ARROW = 14.0


@dataclass(frozen=True, slots=True)
class Point:
    """A candidate to draw. `raw` is its score before the signals, `sector` the name of its source."""

    id: uuid.UUID
    score: float
    raw: float
    sector: str


@dataclass(frozen=True, slots=True)
class Dot:
    """The position of a candidate. With `arrow`, a line leads there from the position of its raw score."""

    x: str
    y: str
    raw_x: str
    raw_y: str
    arrow: bool


@dataclass(frozen=True, slots=True)
class Ring:
    r: str
    label: str
    label_y: str


@dataclass(frozen=True, slots=True)
class Sector:
    """A source: its number and name, its count of candidates, the position of its label, and its starting line."""

    number: int
    name: str
    label: str
    count: int
    x: str
    y: str
    anchor: str
    edge_x: str
    edge_y: str


@dataclass(frozen=True, slots=True)
class Polar:
    """The plot. `dots` are in the order of the points."""

    rings: list[Ring]
    sectors: list[Sector]
    dots: list[Dot]


def top_of(scores: Sequence[float]) -> float:
    """Return the score of the centre, chosen so that all of `scores` are in the plot."""
    return nice_top(max(scores, default=1.0))


def radius(score: float, top: float) -> float:
    """Return the distance of a score from the centre, for rings and dots: RADIUS for 0 and less, INNER for `top`."""
    return RADIUS - (RADIUS - INNER) * min(1.0, max(0.0, score / top))


def jitter(identity: uuid.UUID) -> float:
    """Return a memory's position within its sector, from 0 to 1. It is the same in every plot."""
    return int.from_bytes(hashlib.blake2b(identity.bytes, digest_size=4).digest()) / 2**32


def polar(points: Sequence[Point], *, top: float, others: str) -> Polar:
    """Return the plot of candidates. Sectors run clockwise from the top, largest first; `others` names the last."""
    counted = Counter(point.sector for point in points)
    named = [name for name, _ in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))]
    own = named if len(named) <= MAX_SECTORS else named[: MAX_SECTORS - 1]
    place = {name: min(index, len(own)) for index, name in enumerate(named)}
    shown = [*own, others] if len(own) < len(named) else own
    counts = [0] * len(shown)
    for point in points:
        counts[place[point.sector]] += 1
    starts, widths = _spans(counts)
    return Polar(
        rings=[_ring(top * step / RINGS, top) for step in range(RINGS)],
        sectors=[
            _sector(index + 1, name, counts[index], starts[index], widths[index]) for index, name in enumerate(shown)
        ],
        dots=[_dot(point, top, starts[place[point.sector]], widths[place[point.sector]]) for point in points],
    )


def _spans(counts: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return where sectors begin and how wide they are, in turns. Half of the width is equal, half by their counts."""
    whole = sum(counts) or 1
    widths = [0.5 / len(counts) + 0.5 * count / whole for count in counts]
    starts = [sum(widths[:index]) for index in range(len(widths))]
    return starts, widths


def _dot(point: Point, top: float, start: float, width: float) -> Dot:
    turn = start + width * (MARGIN + (1 - 2 * MARGIN) * jitter(point.id))
    final, raw = radius(point.score, top), radius(point.raw, top)
    x, y = _at(final, turn)
    raw_x, raw_y = _at(raw, turn)
    return Dot(_number(x), _number(y), _number(raw_x), _number(raw_y), abs(final - raw) >= _LEAST_ARROW)


def _ring(score: float, top: float) -> Ring:
    r = radius(score, top)
    return Ring(_number(r), f"{score:.2f}".rstrip("0").rstrip("."), _number(-r))


def _sector(number: int, name: str, count: int, start: float, width: float) -> Sector:
    x, y = _at(RADIUS + 14, start + width / 2)
    edge_x, edge_y = _at(RADIUS, start)
    label = name if len(name) <= _LABEL_CHARS else name[: _LABEL_CHARS - 1] + "…"
    anchor = "middle" if abs(x) < RADIUS / 3 else "start" if x > 0 else "end"
    return Sector(
        number, name, label, count, _number(x), _number(y + 5), anchor, _number(edge_x), _number(edge_y)
    )  # fmt: skip


def _at(distance: float, turn: float) -> tuple[float, float]:
    return distance * math.sin(2 * math.pi * turn), -distance * math.cos(2 * math.pi * turn)


def _number(value: float) -> str:
    return f"{value:.1f}"
