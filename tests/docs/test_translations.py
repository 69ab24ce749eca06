"""Pages in English and Chinese have the same headings, commands and answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, anchors, blocks, headings, links, name_of, pages, twin_of

TRANSLATED = [page for page in pages() if twin_of(page).exists() and ".zh" not in page.name]
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def code_of(block: Block) -> str:
    """Return the block without comments, which are translated."""
    return re.sub(r"\s+# .*$", "", block.text, flags=re.MULTILINE)


def test_the_readme_and_every_page_that_it_leads_beginners_to_is_there_in_chinese():
    assert {"README.md", "docs/index.md", "docs/start.md", "docs/concepts.md"} <= {name_of(page) for page in TRANSLATED}


def test_no_page_is_there_in_chinese_alone():
    alone = [
        page for page in (ROOT / "docs").rglob("*.zh.md") if not page.with_name(page.name.replace(".zh", "")).exists()
    ]

    assert alone == []


@pytest.mark.parametrize("written", TRANSLATED, ids=name_of)
def test_both_languages_have_the_same_headings_commands_and_rows(written: Path):
    english, chinese = written.read_text("utf-8"), twin_of(written).read_text("utf-8")

    assert [level for level, _ in headings(english)] == [level for level, _ in headings(chinese)]
    assert [(one.language, code_of(one)) for one in blocks(english)] == [
        (one.language, code_of(one)) for one in blocks(chinese)
    ]
    assert len(re.findall(r"^\|", english, re.MULTILINE)) == len(re.findall(r"^\|", chinese, re.MULTILINE))
    assert all(CHINESE.search(words) for _, words in headings(chinese) if words not in ("MemOS", "API"))


def test_an_anchor_that_the_chinese_site_links_to_is_in_the_chinese_page():
    """If a page has no translation, the Chinese site shows it and links from it to Chinese pages."""
    shown = [page for page in pages() if not twin_of(page).exists()]
    missing = []
    for page in shown:
        for link in links(page.read_text("utf-8")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve()
            if not anchor or target not in TRANSLATED:
                continue
            chinese = twin_of(target).read_text("utf-8")
            if anchor not in anchors(chinese) and f'<a id="{anchor}"></a>' not in chinese:
                missing.append((name_of(page), link))

    assert missing == []
