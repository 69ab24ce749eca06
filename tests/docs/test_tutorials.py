"""The diffs of the tutorials fit the code: what they remove, and what stands around it, is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import DOCS, ROOT, blocks

TUTORIALS = ("add-a-field.md", "add-a-console-page.md")


def hunks(page: str) -> Iterator[tuple[str, str]]:
    """The path of each hunk, and its lines as they are before the change."""
    for block in blocks((DOCS / "develop" / page).read_text("utf-8")):
        if block.language != "diff":
            continue
        for path, text in re.findall(r"^\+\+\+ b/(\S+)\n(.*?)(?=^--- a/|\Z)", block.text, re.DOTALL | re.MULTILINE):
            for hunk in text.split("@@\n")[1:]:
                yield path, "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[:1] in " -")


@pytest.mark.parametrize("page", TUTORIALS)
def test_every_hunk_fits_the_file_that_it_names(page: str):
    found = list(hunks(page))
    wrong = [(path, before) for path, before in found if before not in (ROOT / path).read_text("utf-8")]

    assert len(found) >= 3
    assert wrong == []
