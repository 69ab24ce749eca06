"""A number on a page, with what it takes to judge it."""

from __future__ import annotations

from dataclasses import dataclass

from ops.charts import Sparkline
from ops.words import Words


@dataclass(frozen=True, slots=True)
class Delta:
    """The change against the span before. `tone`: good, weak, bad or off (neither); `up`: the way of the arrow.

    `words` say in full what changed against what.
    """

    shown: str
    tone: str
    up: bool
    words: Words = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """`link` leads to the rows that `value` counts (empty: there is no list of them, or not for this user)."""

    title: Words
    value: str
    note: Words
    link: str = ""
    delta: Delta | None = None
    spark: Sparkline | None = None
    tone: str = ""
