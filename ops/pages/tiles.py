"""A number on a page, with the context for judging it."""

from __future__ import annotations

from dataclasses import dataclass

from ops.charts import Sparkline
from ops.words import Words


@dataclass(frozen=True, slots=True)
class Delta:
    """The change from the previous period. `tone`: good, weak, bad or off (neither); `up`: the direction of the arrow.

    `words` describe the change in full.
    """

    shown: str
    tone: str
    up: bool
    words: Words = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile. `link` leads to the rows that `value` counts, or is "" if there is no list that this user may see."""

    title: Words
    value: str
    note: Words
    link: str = ""
    delta: Delta | None = None
    spark: Sparkline | None = None
    tone: str = ""
