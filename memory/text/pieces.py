"""Cuts long texts into pieces that fit into a memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

# The limit of POST /v1/ingest.
MAX_TEXT_CHARS = 20_000
# Key in a memory's metadata for where it came from, and which `part` of a long text it is (`2/3`).
METADATA_KEY = "import"
_NO_SPACE = re.compile(r"\S")


def cut(text: str) -> Iterator[str]:
    """Yield `text` in pieces that fit into a memory, cut after a line, else after a word; it has no trailing space."""
    start = 0
    while len(text) - start > MAX_TEXT_CHARS:
        middle, most = start + MAX_TEXT_CHARS // 2, start + MAX_TEXT_CHARS
        end = text.rfind("\n", middle, most)
        if end < 0:
            end = text.rfind(" ", middle, most)
        if end < 0:
            end = most
        yield text[start:end].rstrip()
        following = _NO_SPACE.search(text, end)
        start = following.start() if following else len(text)
    if start < len(text):
        yield text[start:]
