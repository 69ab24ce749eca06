"""The key in a preference's record belongs to the record's object, and no other key is accepted."""

from __future__ import annotations

import pytest

from memory.text.choices import find_occasions, word_preference
from memory.text.preference_keys import find_key
from memory.text.preferences import read_preferences
from tests.text.choice_cases import CHOICES
from tests.text.preference_cases import READ_AFTERWARDS, SOMETHING


@pytest.mark.parametrize("text", [*(text for text, *_ in SOMETHING), *READ_AFTERWARDS])
def test_what_is_stated_has_its_key(text):
    for one in read_preferences(text):
        assert find_key({"object": one.object, "wanted": one.wanted, "key": sorted(one.key)}) == one.key


@pytest.mark.parametrize("text", [text for text, *_ in CHOICES])
def test_what_is_chosen_has_its_key(text):
    for one in find_occasions(0, text=text, retired=(), place=("s", "d")):
        shown = word_preference([one])
        said = {"object": shown.object, "wanted": shown.wanted, "key": sorted(shown.key), "shown_by": "choices"}
        assert find_key(said) == shown.key


@pytest.mark.parametrize(
    "said",
    [
        {}, {"object": "tea"}, {"key": ["tea"]}, {"object": "tea", "key": "tea"}, {"object": "tea", "key": ["coffee"]},
        {"object": "tea", "key": ["tea", "tea"]}, {"object": "tea " * 60, "key": ["tea"]}, {"object": "", "key": []},
        {"object": ["tea"], "key": ["tea"]},
    ],
)  # fmt: skip
def test_another_key_is_none(said):
    assert find_key(said) is None
