"""Every marked word of the console has its Chinese, with the same places for values."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po
from django.utils.translation import templatize

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
# The same in both languages.
SAME = {"p50", "p95"}
KEYWORDS = {"_": None, "gettext": None, "gettext_lazy": None, "gettext_noop": None, "ngettext": (1, 2)}
PLACE = re.compile(r"%\((\w+)\)[sd]|\{(\w+)\}")
# What Django makes of a template for xgettext to read.
IN_TEMPLATE = re.compile(r"""gettext\(u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def marked() -> Iterator[tuple[str, str]]:
    """(place, word) of everything that is marked in the code of the console and in the templates."""
    for path in [*ROOT.glob("ops/**/*.py"), *ROOT.glob("memos_site/**/*.py")]:
        with path.open("rb") as file:
            for line, _function, words, _comments in extract_python(file, list(KEYWORDS), [], {}):
                first = words[0] if isinstance(words, tuple) else words
                if first:
                    yield f"{path.relative_to(ROOT)}:{line}", first
    for path in ROOT.glob("templates/**/*.html"):
        for found in IN_TEMPLATE.finditer(templatize(path.read_text(encoding="utf-8"))):
            yield str(path.relative_to(ROOT)), ast.literal_eval(found[1])


@pytest.fixture(scope="module")
def catalogue() -> dict[str, tuple[str, ...]]:
    with CATALOGUE.open("rb") as file:
        found = read_po(file, locale="zh_Hans")
    assert not [message.id for message in found if message.id and message.fuzzy]
    return {
        message.id[0] if isinstance(message.id, tuple) else message.id: message.string
        if isinstance(message.string, tuple)
        else (message.string,)
        for message in found
        if message.id
    }


def test_every_marked_word_is_translated(catalogue):
    lacking = [f"{place}: {word!r}" for place, word in marked() if not all(catalogue.get(word, ("",)))]
    assert not lacking, "Run `make messages` and write the Chinese of:\n" + "\n".join(lacking)


def test_translations_hold_the_same_values(catalogue):
    for word, translations in catalogue.items():
        for translation in translations:
            assert set(PLACE.findall(word)) == set(PLACE.findall(translation)), word
            if word in SAME or not any(letter in string.ascii_letters for letter in PLACE.sub("", word)):
                continue
            assert translation != word, f"{word!r} is listed as translated but says the same"


def test_the_catalogue_holds_nothing_that_is_gone(catalogue):
    assert not set(catalogue) - {word for _, word in marked()}, "Run `make messages`"
