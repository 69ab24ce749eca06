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


@pytest.mark.parametrize(("name", "head"), [("compare.md", "Read"), ("compare.zh.md", "所读版本")])
def test_every_column_names_a_version_and_the_date_it_was_read(name, head):
    [row] = re.findall(rf"^\| {head} \| (.+) \|$", (DOCS / name).read_text("utf-8"), re.MULTILINE)
    cells = row.split(" | ")

    assert len(cells) == PROJECTS
    assert [cell for cell in cells if not re.search(r"\d+\.\d+.*\d{4}-\d\d-\d\d$", cell)] == []


@pytest.mark.parametrize("name", ["compare.md", "compare.zh.md"])
def test_every_feature_of_memos_leads_to_a_page(name):
    """A cell of MemOS links to the page that holds it, or says that MemOS does not do it."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", (DOCS / name).read_text("utf-8"), re.MULTILINE)
    plain = [head for head, cell in rows if "](" not in cell and not re.match(r"no\b|否", cell)]

    assert set(plain) <= {"Read", "What it is", "Licence", "所读版本", "是什么", "许可证", "---"}


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
