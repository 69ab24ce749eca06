from __future__ import annotations

import pytest
from django.template import Context, Template

from ops.charts import HEIGHT, Series, Slice, bar_chart, bar_of_parts, histogram, line_chart, nice_top, sparkline

HOSTILE = "<script>alert(1)</script>"


def drawn(figure) -> str:
    return Template("{% load console %}{% chart figure %}").render(Context({"figure": figure}))


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (7, 10), (1200, 2000), (2100, 2500), (0.3, 0.5)])
def test_an_axis_ends_at_a_round_number(value, top):
    assert nice_top(value) == pytest.approx(top)


def test_a_line_breaks_where_there_is_no_value():
    figure = line_chart("Latency", labels=["a", "b", "c", "d", "e"], series=[Series("p50", [1, 2, None, 2, None])])
    [line] = figure.lines
    assert line.path.count("M") == 1
    assert len(line.dots) == 1
    assert figure.rows[2] == ("c", ["–"])
    assert figure.ticks == ["2", "1", "0"]


def test_a_chart_says_what_it_shows_and_holds_its_table():
    html = drawn(line_chart(HOSTILE, labels=[HOSTILE], series=[Series(HOSTILE, [3])], description="What it shows"))
    assert 'role="img"' in html
    assert "<desc>What it shows</desc>" in html
    assert "<table" in html
    assert "<script>" not in html
    assert "style=" not in html


def test_nothing_is_said_not_drawn():
    assert "Nothing in this time." in drawn(line_chart("x", labels=["a"], series=[Series("y", [0])]))
    assert "Nothing in this time." in drawn(histogram("x", labels=[], values=[], header="n"))
    assert sparkline([None, 3]) is None
    assert drawn(None) == ""


def test_parts_fill_their_whole():
    figure = bar_of_parts("Tokens", [Slice("a", 1), Slice("b", 3, "green"), Slice("c", 0)])
    assert [(one.x, one.width, one.share) for one in figure.segments] == [
        ("0.00%", "25.00%", "25%"),
        ("25.00%", "75.00%", "75%"),
        ("100.00%", "0.00%", "0%"),
    ]
    assert "3" in drawn(figure)


def test_the_longest_bar_fills_the_width_and_leads_to_its_rows():
    figure = bar_chart("By kind", [Slice("a", 2, link="/a"), Slice("b", 4)])
    assert [bar.percent for bar in figure.bars] == ["50.00%", "100.00%"]
    assert '<a href="/a">a</a>' in drawn(figure)


def test_columns_stand_on_the_ground():
    figure = histogram("Ages", labels=["1", "2"], values=[5, 10], header="Memories")
    assert [float(one.y) + float(one.height) for one in figure.columns] == [HEIGHT, HEIGHT]
