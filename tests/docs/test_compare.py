"""docs/compare.md: each row has a cell for each project, and the evidence for MemOS's cells exists."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, ROOT

PROJECTS = 7


@pytest.mark.parametrize("name", ["compare.md", "compare.zh.md"])
def test_every_row_has_a_cell_for_each_project(name):
    rows = re.findall(r"^\|.*\|$", (DOCS / name).read_text("utf-8"), re.MULTILINE)
    wrong = [row for row in rows if len(row.strip("|").split("|")) != 1 + PROJECTS]
    empty = [row for row in rows if any(not cell.strip() for cell in row.strip("|").split("|")[1:])]

    assert len(rows) > 40
    assert wrong == []
    assert empty == []


@pytest.mark.parametrize("name", ["compare.md", "compare.zh.md"])
def test_the_tests_that_are_named_exist(name):
    text = (DOCS / name).read_text("utf-8")
    ours = re.search(r"^- \*\*MemOS\*\*.*?(?=^- \*\*)", text, re.MULTILINE | re.DOTALL)
    assert ours
    folder, named = "", []
    for mention in re.findall(r"`([\w/.]+)`", ours[0]):
        if mention.endswith("/"):
            folder = mention
        elif mention.endswith(".py"):
            named.append(mention if "/" in mention else folder + mention)

    assert len(named) > 15
    assert [path for path in [*named, folder] if not (ROOT / path).exists()] == []
