"""Pages are short, their links lead somewhere, and the navigation names each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, GENERATED, ROOT, anchors, headings, links, name_of, pages

MAX_LINES = {
    **{"README.md": 130, "README.zh-CN.md": 130, "CONTRIBUTING.md": 120},
    # A whole program for each framework.
    **{"docs/guides/frameworks.md": 700, "docs/guides/frameworks.zh.md": 700},
}


class Site(yaml.SafeLoader):
    """A loader of mkdocs.yml that does not resolve its functions."""


Site.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def navigation() -> list[str]:
    def named(part: object) -> list[str]:
        if isinstance(part, str):
            return [part]
        return [one for inner in (part if isinstance(part, list) else dict.values(part)) for one in named(inner)]

    return named(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Site)["nav"])


@pytest.mark.parametrize("written", pages(), ids=name_of)
def test_a_page_is_no_longer_than_can_be_read(written: Path):
    assert len(written.read_text("utf-8").splitlines()) <= MAX_LINES.get(name_of(written), 300)


@pytest.mark.parametrize("written", pages(), ids=name_of)
def test_a_page_has_one_title_first(written: Path):
    found = headings(written.read_text("utf-8"))

    assert found[0][0] == 1
    assert [level for level, _ in found].count(1) == 1


@pytest.mark.parametrize("written", pages(), ids=name_of)
def test_every_link_leads_somewhere(written: Path):
    for link in links(written.read_text("utf-8")):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (written.parent / path).resolve() if path else written
        if GENERATED in target.parents:
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text("utf-8")), link


def test_pages_of_the_site_link_only_to_pages_of_the_site():
    """A page of the site cannot link to other files, because the site does not show them."""
    for page in (page for page in pages() if DOCS in page.parents):
        for link in links(page.read_text("utf-8")):
            if not re.match(r"https?://|#", link):
                assert (page.parent / link.partition("#")[0]).resolve().is_relative_to(DOCS), (page, link)


def test_the_navigation_names_every_page_once_and_the_index_every_decision():
    written = [page.relative_to(DOCS).as_posix() for page in pages() if DOCS in page.parents]
    in_english = {page for page in written if not page.endswith(".zh.md")}
    decisions = {page for page in in_english if page.startswith("develop/decisions/0")}
    named = [page for page in navigation() if not page.startswith("reference/routes/")]
    index = (DOCS / "develop" / "decisions" / "index.md").read_text("utf-8")

    assert sorted(named) == sorted(in_english - decisions)
    assert decisions == {f"develop/decisions/{link}" for link in links(index)}


def test_the_readme_names_the_two_commands_and_shows_a_request_with_its_answer():
    text = (ROOT / "README.md").read_text("utf-8")

    assert re.findall(r"^make \w+$", text, re.MULTILINE) == ["make run", "make test"]
    assert "/v1/query" in text
    assert '"raw_chunks"' in text
    assert "docs/images/overview.png" in text
