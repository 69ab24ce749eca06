"""Every marked word of the console has a Chinese translation with the same placeholders."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po
from django.contrib import admin
from django.utils.translation import override, templatize

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
# Words that are the same in both languages.
SAME = {"p50", "p95", "Redis", "PDF", "HTML", "CSV", "JSON", "Markdown", "Word", "Excel", "PowerPoint",
        "ChatGPT", "Claude", "Gemini", "Portable AI Memory 1.0", "hindsight", "mem0"}  # fmt: skip
KEYWORDS = ("_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "pgettext", "pgettext_lazy")
PLACE = re.compile(r"%\((\w+)\)[sd]|\{(\w+)\}")
# The form into which Django converts templates for xgettext.
IN_TEMPLATE = re.compile(r"""gettext\(u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def in_context(context: str | None, word: str) -> str:
    """Return a word as gettext stores it: if the word has several meanings, its context comes before it."""
    return f"{context}\x04{word}" if context else word


def marked() -> Iterator[tuple[str, str]]:
    """Yield (place, word) of everything that is marked in the console's code and templates."""
    for path in (path for package in ("memory", "ops", "memos_site") for path in ROOT.glob(f"{package}/**/*.py")):
        with path.open("rb") as file:
            for line, function, words, _comments in extract_python(file, KEYWORDS, [], {}):
                first = words[0] if isinstance(words, tuple) else words
                if function.startswith("pgettext"):
                    # A variable has no word to look up.
                    first = in_context(*words) if words[1] else None
                if first:
                    yield f"{path.relative_to(ROOT)}:{line}", first
    for path in ROOT.glob("templates/**/*.html"):
        for found in IN_TEMPLATE.finditer(templatize(path.read_text(encoding="utf-8"))):
            yield str(path.relative_to(ROOT)), ast.literal_eval(found[1])


@pytest.fixture(scope="module")
def catalogue() -> dict[str, Message]:
    with CATALOGUE.open("rb") as file:
        found = read_po(file, locale="zh_Hans")
    assert not [message.id for message in found if message.id and message.fuzzy]
    return {in_context(message.context, forms(message.id)[0]): message for message in found if message.id}


def forms(words: str | list[str] | tuple[str, ...]) -> list[str]:
    """Return the singular and the plural, or the only form."""
    return [words] if isinstance(words, str) else list(words)


def test_every_marked_word_is_translated(catalogue):
    written = {word for word, message in catalogue.items() if all(forms(message.string))}
    lacking = [f"{place}: {word!r}" for place, word in marked() if word not in written]
    assert not lacking, "Run `make messages` and write the Chinese of:\n" + "\n".join(lacking)


def test_translations_hold_the_same_values(catalogue):
    for word, message in catalogue.items():
        # Chinese has one form for every number, so it needs the plural's placeholders.
        english = forms(message.id)[-1]
        for translation in forms(message.string):
            assert set(PLACE.findall(english)) == set(PLACE.findall(translation)), word
            if english in SAME or not any(letter in string.ascii_letters for letter in PLACE.sub("", english)):
                continue
            assert translation != english, f"{english!r} is listed as translated but says the same"


def test_the_catalogue_holds_nothing_that_is_gone(catalogue):
    assert not set(catalogue) - {word for _, word in marked()}, "Run `make messages`"


def shown_of_models() -> Iterator[tuple[str, str]]:
    """Yield (place, word) of the texts that the admin takes from its models: names, help, and titles of values."""
    for model, shown_by in admin.site._registry.items():
        if model._meta.app_label not in ("memory", "ops"):
            continue
        names = {
            *(name for part in ("fields", "list_display", "readonly_fields") for name in getattr(shown_by, part) or ()),
            *(name for _title, part in shown_by.fieldsets or () for name in part["fields"]),
            *(name for name in shown_by.list_filter if isinstance(name, str)),
        }
        yield model._meta.label, str(model._meta.verbose_name)
        yield model._meta.label, str(model._meta.verbose_name_plural)
        for field in (*model._meta.fields, *model._meta.many_to_many):
            if field.name in names:
                yield str(field), str(field.verbose_name)
                yield str(field), str(field.help_text)
                # Other values are marked where they are defined, and are found there.
                enum = [(value, title) for value, title in field.flatchoices if field.model._meta.app_label == "memory"]
                yield from ((str(field), in_context("value", str(title))) for _value, title in enum)


def test_the_models_that_the_admin_shows_are_listed(catalogue):
    with override(None):
        lacking = {f"{place}: {word!r}" for place, word in shown_of_models() if word and word not in {*catalogue, "id"}}
    assert not lacking, "Add to ops/model_words.py:\n" + "\n".join(sorted(lacking))
