"""English sentences that remember their template and values, so that the console can translate them.

The product speaks English: its API, audit and logs use a `Sentence` as the plain string that it is. Templates are
marked with `gettext_noop` in the code, and `translate` looks them up when the console shows them.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext


class Sentence(str):
    """A `template` filled with `values` (`%(name)s`), some of which may be sentences themselves."""

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Sentence:
        made = super().__new__(cls, template % values if values else template)
        made.template, made.values = template, values
        return made


def gettext_noop(words: str) -> str:
    """Mark `words` for the message catalogue and return them unchanged.

    Django's own function reads the settings, which in turn read the texts of the policy.
    """
    return words


def translate(words: str) -> str:
    """Return a sentence in the active language, and any other string unchanged."""
    if not isinstance(words, Sentence):
        return words
    found = gettext(words.template)
    return found % {name: _part(value) for name, value in words.values.items()} if words.values else found


def _part(value: Any) -> Any:
    return translate(value) if isinstance(value, str) else value
