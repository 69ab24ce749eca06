"""Charts as plain values that templates draw as SVG, without scripts and libraries. Each has a table with its data.

A drawing is stretched to its box (`preserveAspectRatio="none"`, strokes do not scale) and has no text in it: labels are
HTML next to it, so that they stay readable on a phone. Coordinates are in the box of WIDTH × HEIGHT, from the upper
left. `tone` is a colour's name: blue, orange, green, purple, amber, grey, good, weak, bad. The value None is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ops.words import Words

WIDTH, HEIGHT = 600.0, 160.0
TONES = ("blue", "orange", "green", "purple", "amber", "grey", "good", "weak", "bad")
Value = float | int | None
Format = Callable[[float], str]


def plain(value: float) -> str:
    """Format a number: with thousands separators; below ten with one decimal, below one with two significant digits."""
    if value == int(value) or abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def milliseconds(value: float | None) -> str:
    """Format milliseconds: below ten with one decimal, from 1,000 in seconds, and – for None."""
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart with a value for each label. `dashed` distinguishes lines without colour."""

    title: Words
    values: Sequence[Value]
    tone: str = "blue"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A series as it is drawn: the `d` of its line and of the area below it, and dots for values without neighbours."""

    title: Words
    tone: str
    dashed: bool
    path: str
    area: str
    dots: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class HoverStrip:
    """An invisible strip over one moment that shows its values on hover."""

    x: str
    width: str
    text: str


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart with lines.

    `ticks` are from the top down; `marks` are the labels below, from the left; `rows` are the table of label and
    values. `keys` and `values` are the same table for a file, with full labels and plain numbers.
    """

    template = "ops/charts/line.html"
    title: Words
    description: Words
    lines: list[Line]
    ticks: list[str]
    marks: list[str]
    headers: list[Words]
    rows: list[tuple[str, list[str]]]
    hits: list[HoverStrip]
    keys: list[str]
    values: list[list[Value]]
    empty: bool
    filled: bool
    csv: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its length in percent of the longest, its value, and a link to the rows that it counts."""

    label: Words
    value: float
    shown: str
    tone: str
    percent: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart with horizontal bars and their labels."""

    template = "ops/charts/bars.html"
    title: Words
    description: Words
    bars: list[Bar]
    csv: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a whole, as input of a chart."""

    label: Words
    value: float
    tone: str = "blue"
    link: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part as it is drawn: its position and width in percent of the whole."""

    label: Words
    value: float
    shown: str
    share: str
    tone: str
    x: str
    width: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class StackedBar:
    """A bar of parts with a legend."""

    template = "ops/charts/stacked.html"
    title: Words
    description: Words
    segments: list[Segment]
    total: str
    csv: str = ""


@dataclass(frozen=True, slots=True)
class HistogramColumn:
    """A column of a histogram, in the box of WIDTH × HEIGHT. `key` is the full label, for a file."""

    label: str
    shown: str
    value: float
    x: str
    y: str
    width: str
    height: str
    link: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Histogram:
    template = "ops/charts/histogram.html"
    title: Words
    description: Words
    columns: list[HistogramColumn]
    ticks: list[str]
    marks: list[str]
    header: Words
    tone: str
    empty: bool
    csv: str = ""

    @property
    def linked(self) -> bool:
        """Return whether columns have links, so that the picture is drawn as a group of links."""
        return any(column.link for column in self.columns)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line without axes for a tile, which shows the history of its number. It only decorates the tile."""

    template = "ops/charts/spark.html"
    path: str
    area: str
    tone: str = "blue"
    dots: list[tuple[str, str]] = field(default_factory=list)


def line_chart(
    title: Words,
    *,
    labels: Sequence[str],
    series: Sequence[Series],
    keys: Sequence[str] = (),
    description: Words = "",
    show: Format = plain,
    filled: bool = False,
    csv: str = "",
) -> LineChart:
    """Build a chart of lines over `labels` (moments, from the left) with an axis from 0. `filled` draws areas below
    them.

    `keys` are the full labels, for the file at `csv` (`ops.chart_files`).
    """
    values = [value for one in series for value in one.values if value is not None]
    top = nice_top(max(values, default=0.0))
    count = len(labels)
    step = WIDTH / max(1, count)
    return LineChart(
        title=title,
        description=description,
        lines=[_line(one, top, count) for one in series],
        ticks=[show(top), show(top / 2), show(0)],
        marks=_marks(labels),
        headers=[one.title for one in series],
        rows=[
            (label, [_format_value(one.values[index], show) for one in series]) for index, label in enumerate(labels)
        ],
        hits=[
            HoverStrip(
                _number(index * step),
                _number(step),
                f"{label} – " + ", ".join(f"{one.title}: {_format_value(one.values[index], show)}" for one in series),
            )
            for index, label in enumerate(labels)
        ],
        keys=list(keys or labels),
        values=[[one.values[index] for one in series] for index in range(count)],
        empty=not any(values),
        filled=filled,
        csv=csv,
    )


def bar_chart(
    title: Words, bars: Sequence[Slice], *, description: Words = "", show: Format = plain, csv: str = ""
) -> BarChart:
    """Build a chart with a bar for each part; the longest fills the width."""
    longest = max((bar.value for bar in bars), default=0.0) or 1.0
    drawn = [
        Bar(bar.label, bar.value, show(bar.value), bar.tone, f"{max(0.0, bar.value) / longest:.2%}", bar.link)
        for bar in bars
    ]
    return BarChart(title, description, drawn, csv)


def bar_of_parts(
    title: Words, parts: Sequence[Slice], *, description: Words = "", show: Format = plain, csv: str = ""
) -> StackedBar:
    """Build a bar from the parts of a whole. Empty parts are in the legend only."""
    whole = sum(max(0.0, part.value) for part in parts)
    segments, begun = [], 0.0
    for part in parts:
        share = max(0.0, part.value) / whole if whole else 0.0
        segments.append(
            Segment(
                *(part.label, part.value, show(part.value), f"{share:.0%}"),
                *(part.tone, f"{begun:.2%}", f"{share:.2%}", part.link),
            )
        )
        begun += share
    return StackedBar(title, description, segments, show(whole), csv)


def histogram(
    title: Words,
    *,
    labels: Sequence[str],
    values: Sequence[float],
    header: Words,
    description: Words = "",
    tone: str = "blue",
    show: Format = plain,
    links: Sequence[str] = (),
    keys: Sequence[str] = (),
    csv: str = "",
) -> Histogram:
    """Build a histogram. `header` is the title of the counts; `links` lead to the rows of each column.

    `keys` are the full labels, for the file at `csv` (`ops.chart_files`).
    """
    top = nice_top(max(values, default=0.0))
    step = WIDTH / max(1, len(values))
    gap = min(2.0, step * 0.15)
    columns = [
        HistogramColumn(
            label=label,
            shown=show(value),
            value=value,
            x=_number(index * step + gap / 2),
            y=_number(HEIGHT - HEIGHT * value / top),
            width=_number(step - gap),
            height=_number(HEIGHT * value / top),
            link=links[index] if index < len(links) else "",
            key=keys[index] if index < len(keys) else "",
        )
        for index, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    return Histogram(
        title=title,
        description=description,
        columns=columns,
        ticks=[show(top), show(top / 2), show(0)],
        marks=_marks(labels),
        header=header,
        tone=tone,
        empty=not any(values),
        csv=csv,
    )


def sparkline(values: Sequence[Value], *, tone: str = "blue") -> Sparkline | None:
    """Build a sparkline, or None if there is no shape: fewer than two values, or only zeros."""
    if sum(value is not None for value in values) < 2 or not any(values):
        return None
    top = max(float(value) for value in values if value is not None) or 1.0
    line = _line(Series("", values, tone), top * 1.08, len(values))
    return Sparkline(line.path, line.area, tone, line.dots)


def nice_top(value: float) -> float:
    """Return the upper end of an axis: the next of 1, 2, 2.5, 5 × 10ⁿ, or 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * 0.999999)


def _line(series: Series, top: float, count: int) -> Line:
    step = WIDTH / max(1, count)
    runs: list[list[tuple[float, float]]] = [[]]
    for index, value in enumerate(series.values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((index * step + step / 2, HEIGHT - HEIGHT * float(value) / top))
    path, area, dots = [], [], []
    for run in runs:
        if len(run) == 1:
            dots.append((_number(run[0][0]), _number(run[0][1])))
        if len(run) < 2:
            continue
        drawn = " L".join(f"{_number(x)} {_number(y)}" for x, y in run)
        path.append(f"M{drawn}")
        area.append(f"M{_number(run[0][0])} {_number(HEIGHT)} L{drawn} L{_number(run[-1][0])} {_number(HEIGHT)}Z")
    return Line(series.title, series.tone, series.dashed, " ".join(path), " ".join(area), dots)


def _marks(labels: Sequence[str]) -> list[str]:
    """Return at most five of the labels at even intervals, including the first and the last."""
    if len(labels) <= 5:
        return list(labels)
    last = len(labels) - 1
    return [labels[round(last * part / 4)] for part in range(5)]


def _format_value(value: Value, show: Format) -> str:
    return "–" if value is None else show(float(value))


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
