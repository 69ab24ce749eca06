"""Sentences in English that know what they were made of, so that a page can say them in another language.

The product speaks English: its API, its audit and its logs take a `Sentence` for the plain string that it is. Templates
are marked with `gettext_noop` where they are written; `translated` looks them up when the console shows them.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext


class Sentence(str):
    """`template` filled with `values` (`%(name)s`), some of which may be sentences themselves."""

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Sentence:
        made = super().__new__(cls, template % values if values else template)
        made.template, made.values = template, values
        return made


def gettext_noop(words: str) -> str:
    """Marks words for the catalogue and leaves them as they are. Django's of that name asks the settings, which read
    the words of the policy themselves."""
    return words


def translate(words: str) -> str:
    """A sentence in the language in use; any other string as it is."""
    if not isinstance(words, Sentence):
        return words
    found = gettext(words.template)
    return found % {name: _part(value) for name, value in words.values.items()} if words.values else found


def _part(value: Any) -> Any:
    return translate(value) if isinstance(value, str) else value
