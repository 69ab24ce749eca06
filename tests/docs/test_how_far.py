"""docs/operate/how-far.md: its estimates follow from its own assumptions and measurements."""

from __future__ import annotations

import math
import re

import pytest

from tests.docs.pages import DOCS

PAGE = (DOCS / "operate" / "how-far.md").read_text("utf-8")
UNITS = {"GB": 1e9, "TB": 1e12, "": 1.0}
MEMORIES = (5e6, 1e8, 1e10)
HOURS = 730


def number(pattern: str) -> float:
    """Return the page's only number that matches the pattern."""
    [found] = re.findall(pattern, PAGE)
    return float(found.replace(",", ""))


def row(label: str) -> list[list[str]]:
    """Return the cells of a line of the estimate, each as its numbers."""
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {label}")]
    return [re.findall(r"[\d,.]*\d(?: [GT]B)?", cell) for cell in line.split("|")[2:-1]]


def estimate(memories: float) -> dict[str, list[float]]:
    """Compute the page's formulas from its figures."""
    size = number(r"- memory = memories × ([\d,]+) bytes")
    query, ingest = re.findall(r"\((\d+) \+ (\d+) ms\)", PAGE)
    rows = memories * size
    queries = memories / 100
    packs = queries * 90 * number(r"([\d.]+) kB a pack") * 1000
    one_copy = (rows + packs) * 1.3
    memory = rows * 0.1
    peak = queries / 86_400 * 5
    of_postgresql, of_memos = (peak * (int(q) + int(i)) / 1000 / 0.5 for q, i in zip(query, ingest, strict=True))
    databases = math.ceil(max(memory / 192e9, one_copy / 8e12, of_postgresql / 32))
    nodes = max(2, math.ceil(of_memos / 8))
    hour, gigabyte = number(r"([\d.]+) dollars an hour"), number(r"([\d.]+) a month for a GB")
    dollars = (2 * 32 * databases + 8 * nodes) * HOURS * hour + 2 * one_copy / 1e9 * gigabyte
    return {
        "rows and indexes": [rows],
        "context packs of 90 days": [packs],
        "disk, with one replica": [2 * one_copy],
        "memory for a tenth": [memory],
        "queries a day": [queries, peak],
        "processors at the peak": [of_postgresql, of_memos],
        "database nodes, each": [databases],
        "web and worker nodes |": [nodes],
        "dollars a month": [dollars, dollars / (queries * HOURS / 24 / 1e6)],
    }


@pytest.mark.parametrize("label", estimate(MEMORIES[0]))
def test_what_is_estimated_follows_from_what_the_page_says(label):
    for cell, memories in zip(row(label), MEMORIES, strict=True):
        expected = estimate(memories)[label]
        assert len(cell) == len(expected)
        for printed, value in zip(cell, expected, strict=True):
            figures, _, unit = printed.partition(" ")
            decimals = len(figures.partition(".")[2])
            assert float(figures.replace(",", "")) == round(value / UNITS[unit], decimals), (label, printed, value)


def test_the_bytes_of_a_memory_are_those_that_were_measured():
    [of_rows, of_indexes] = re.findall(r"\| all tables \| [\d, ]+ \| ([\d,]+), ([\d,]+) \|", PAGE)[0]
    measured = int(of_rows.replace(",", "")) + int(of_indexes.replace(",", ""))
    assert number(r"- memory = memories × ([\d,]+) bytes") == measured
    assert number(r"memories × ([\d,]+) bytes \+ context packs") == measured
