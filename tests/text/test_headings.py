"""Headings, found line by line, are the same as those of a CommonMark parser."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from memory.text.headings import headings

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "# A",
    "#",
    "## B ##\ntext\n### C #x",
    "A\n=\n\nB\nand more\n---\n",
    "text\n\n---\n",
    "---\n# A",
    "#hashtag\n\n\\# no",
    "```\n# code\n```\n# A",
    "~~~~\n# code\n~~~\n~~~~~\n# A",
    "    # code\n\n\t# code",
    "text\n    # text\n===",
    "> # quoted\n# A",
    "> quoted\ngoes on\n===",
    "- # item\n  # of the item\n\n  # still\n\n# A",
    "- item\ngoes on\n===",
    "-\n\n   # A",
    "1. one\n   # of the item\n2. two\n# A",
    "text\n2. text\n===",
    "text\n- item\n===",
    "* * *\nA\n-",
    "<!-- \n# no\n\n# no -->\n# A",
    "<pre>\n# no\n</pre>\n# A",
    "<div>\n# no\n\n# A",
    "text <b>\n# A",
    "  # A\r\n\r\n   B\r\n  ==\r\n",
]
PIECES = [
    "# A", "## B ##", "text", "more text", "---", "", "", "- item", "  # in item", "1. one", "> quote", "```", "~~~",
    "  indented", "***", "#hash", "* x", "   ### c", "#", "````",
]  # fmt: skip


def expected(text: str) -> list[tuple[int, str]]:
    """Return level and title of the headings outside of other blocks."""
    return [
        (int(token.tag[1]), " ".join(content.content.split()))
        for token, content in pairwise(MarkdownIt("commonmark").disable("inline").parse(text))
        if token.type == "heading_open" and not token.level
    ]


def found(text: str) -> list[tuple[int, str]]:
    return [(heading.level, " ".join(heading.title.split())) for heading in headings(text)]


@pytest.mark.parametrize("text", TEXTS)
def test_a_heading_is_what_commonmark_takes_for_one(text):
    assert found(text) == expected(text)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_the_documents_of_the_house_are_read_alike(path):
    text = path.read_text()

    assert found(text) == expected(text)


def test_texts_made_at_random_are_read_alike():
    made = random.Random(4)
    texts = ["\n".join(made.choice(PIECES) for _ in range(made.randint(1, 9))) for _ in range(3000)]

    assert [text for text in texts if found(text) != expected(text)] == []


def test_places_hold_the_heading_without_what_stands_before_it():
    text = "one\n\n  # A\r\nB\n=\n"

    assert [text[heading.start : heading.end] for heading in headings(text)] == ["# A\r\n", "B\n=\n"]
