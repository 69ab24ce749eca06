"""Reads the documentation for its tests: pages, code blocks, headings, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# `make guide` generates these pages from the schema.
GENERATED = DOCS / "reference" / "routes"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the prose since the previous block."""

    language: str
    text: str
    before: str


def pages() -> list[Path]:
    """Return every hand-written page in both languages, including README and CONTRIBUTING."""
    written = [page for page in sorted(DOCS.rglob("*.md")) if GENERATED not in page.parents]
    return [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *written]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def twin_of(page: Path) -> Path:
    """Return the path of the Chinese page, whether it exists or not."""
    return page.with_name("README.zh-CN.md" if page == ROOT / "README.md" else f"{page.stem}.zh.md")


def blocks(text: str) -> list[Block]:
    found, end = [], 0
    for match in _BLOCK.finditer(text):
        found.append(Block(match[1], match[2], text[end : match.start()]))
        end = match.end()
    return found


def prose(text: str) -> str:
    """Return the text without its blocks and inline code."""
    return re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", text))


def headings(text: str) -> list[tuple[int, str]]:
    """Yield (level, text) of each heading, with inline code but without its marks."""
    found = re.findall(r"^(#{1,6}) (.+)$", _BLOCK.sub("", text), re.MULTILINE)
    return [(len(marks), words.replace("`", "").strip()) for marks, words in found]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub and the site make from headings."""
    return {re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-") for _, words in headings(text)}


def links(text: str) -> Iterator[str]:
    yield from _LINK.findall(_BLOCK.sub("", text))
