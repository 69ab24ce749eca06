"""The page on language models names all providers with their addresses and keys, in both languages."""

from __future__ import annotations

import re

import pytest

from memory.providers.chat.presets import PRESETS
from tests.docs.pages import ROOT

ROW = re.compile(r"^\| `(\w+)` \| `(http[^`]+)` \| (?:`(\w+)`|–) \|", re.MULTILINE)


@pytest.mark.parametrize("page", ["language-models.md", "language-models.zh.md"])
def test_the_table_of_providers_is_that_of_the_presets(page):
    text = (ROOT / "docs" / "guides" / page).read_text(encoding="utf-8")
    assert ROW.findall(text) == [(one.name, one.base_url, one.key_setting) for one in PRESETS.values() if one.base_url]
    assert "\n| `hf` | " in text
