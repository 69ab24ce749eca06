"""Draws an entity and its neighbours as plain values that a template writes as SVG. Pure."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from ops.words import Words


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour of the entity. `words` describe the relation (with arrows), `number` is its row in the table."""

    entity_id: uuid.UUID
    number: int
    name: str
    kind: str
    words: Words
    strength: int
    stated: bool
    link: str


@dataclass(frozen=True, slots=True)
class Node:
    """A neighbour as it is drawn: its label is at (label_x, label_y), the words of its edge at (word_x, word_y)."""

    of: Neighbour
    x: str
    y: str
    radius: str
    label: str
    label_x: str
    label_y: str
    anchor: str
    word_x: str
    word_y: str
    line: str
    word_width: str
    word_left: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture, in a box of `width` × `height`. `left_out` neighbours are only in the table."""

    width: int
    height: int
    x: str
    y: str
    name: str
    nodes: list[Node]
    left_out: int


def draw(
    name: str, neighbours: Sequence[Neighbour], *, width: int, height: int, most: int, label_chars: int
) -> Drawing:
    """Draw at most `most` neighbours on an ellipse around the centre, clockwise from the top, in the given order.

    If there are more than eight, every other one is placed further in, so that labels do not touch.
    """
    shown = neighbours[:most]
    middle_x, middle_y = width / 2, height / 2
    strongest = max((one.strength for one in shown), default=1)
    nodes = []
    for place, one in enumerate(shown):
        angle = 2 * math.pi * place / max(1, len(shown)) - math.pi / 2
        reach = 0.66 if len(shown) > 8 and place % 2 else 1.0
        across, down = width / 2 - label_chars * 4.2 - 24, height / 2 - 44
        x, y = middle_x + math.cos(angle) * across * reach, middle_y + math.sin(angle) * down * reach
        nodes.append(_node(one, (x, y), (middle_x, middle_y), strongest=strongest, label_chars=label_chars))
    return Drawing(
        width, height, _n(middle_x), _n(middle_y), _cut(name, label_chars + 4), nodes, len(neighbours) - len(shown)
    )


def _node(
    one: Neighbour, at: tuple[float, float], middle: tuple[float, float], *, strongest: int, label_chars: int
) -> Node:
    x, y = at
    radius = 8 + 8 * math.sqrt(one.strength / strongest)
    above = y < middle[1]
    words = str(one.words)
    # The words are closer to the neighbour, where edges are further apart.
    word_x, word_y = (middle[0] + (x - middle[0]) * 0.56, middle[1] + (y - middle[1]) * 0.56)
    word_width = 6.4 * sum(2 if ord(sign) > 0x2E7F else 1 for sign in words) + 12
    return Node(
        of=one,
        x=_n(x),
        y=_n(y),
        radius=_n(radius),
        label=_cut(one.name, label_chars),
        label_x=_n(x),
        label_y=_n(y - radius - 7 if above else y + radius + 16),
        anchor="middle",
        word_x=_n(word_x),
        word_y=_n(word_y + 4),
        line=_n(1.2 + 3 * one.strength / strongest),
        word_width=_n(word_width),
        word_left=_n(word_x - word_width / 2),
    )


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
