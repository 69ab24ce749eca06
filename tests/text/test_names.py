"""Spellings that are the same name."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.names import initials, keys_of_runs, name_key, speaker_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Caroline Smith", "caroline smith"),
        ("  CAROLINE   smith ", "caroline smith"),
        ("Ｃａｒｏｌｉｎｅ", "caroline"),
        ("Caroline's", "caroline"),
        ("James’", "james"),
        ("Dr. Smith", "smith"),
        ("Prof. Dr. Zoë Müller", "zoe muller"),
        ("José", "jose"),
        ("《三体》", "三体"),
        ("ガンダム", "ガンダム"),
        ("Dr.", "dr"),
        ("...", ""),
        ("O’Brien", "o'brien"),
    ],
)
def test_spellings_share_a_key(name, key):
    assert name_key(name) == key


@pytest.mark.parametrize("name", ["Dr. Smith", "Zoë’s", "  ＡＢＣ  ", "王先生", "Ünal ", "of the x"])
def test_a_key_is_its_own_key(name):
    assert name_key(name_key(name)) == name_key(name)


def test_a_key_is_bounded():
    assert len(name_key("x" * 10_000)) <= 80


def test_initials_leave_small_words_out():
    assert initials("university of the west indies") == "uwi"


@given(
    st.text(string.printable, max_size=30), st.sampled_from(["", "Dr. ", "mr ms "]), st.sampled_from(["", "'s", "s'"])
)
def test_plain_letters_have_the_key_of_wide_ones(name, title, ending):
    plain = title + name + ending
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in plain)
    assert name_key(plain) == name_key(wide)


WORD = st.one_of(
    st.text("abcMR.-", min_size=1, max_size=4),
    st.sampled_from(
        ["Dr.", "mr", "Mr.", "Tamr", "uncle", "Ada", "Ada's", "O’Brien", "Zoë", "ＡＢＣ", "e.V.", "x" * 60]
    ),
)


@given(st.lists(WORD, max_size=7), st.integers(1, 5))
def test_the_keys_of_runs_are_those_of_the_names_that_they_make(words, most):
    runs = [
        (" ".join(words[start : start + size]), size)
        for size in range(min(most, len(words)), 0, -1)
        for start in range(len(words) - size + 1)
    ]
    assert list(keys_of_runs(words, most)) == [(name_key(run), size) for run, size in runs]


@pytest.mark.parametrize(
    ("speaker", "key"),
    [("Tom", "tom"), ("Dr. José Ruiz", "jose ruiz"), ("林梅", "林梅"), ("++", ""), ("42", ""), ("", "")],
)
def test_questions_name_speakers_by_their_key(speaker, key):
    assert speaker_key(speaker) == key
