"""Translates notes about how a file was read, which are stored in English."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

_ENCODING = re.compile(
    r"The file does not say how it is encoded: it was read as (?P<encoding>\S+), which was guessed\."
)
_HIDDEN = re.compile(r"What is hidden was left out: (?P<parts>.+)\.")
_PART = re.compile(r"(\d+) (sheet|row|column)s?")
_FORMULAS = re.compile(
    r"Formulas without a stored value stand as formulas \((?P<count>\d+)\): open the file in its program and save it\."
)


def translate_note(note: str) -> str:
    """Translate a parser's note into the current language. Unknown notes are returned unchanged."""
    for form, say in _FORMS.items():
        if found := form.fullmatch(note):
            return say(found)
    return note


def _say_encoding(found: re.Match[str]) -> str:
    says = _("The file does not say how it is encoded: it was read as %(encoding)s, which was guessed.")
    return says % found.groupdict()


def _say_hidden(found: re.Match[str]) -> str:
    parts = _(", ").join(_count(int(count), what) for count, what in _PART.findall(found["parts"]))
    return _("What is hidden was left out: %(parts)s.") % {"parts": parts}


def _count(count: int, what: str) -> str:
    words = {
        "sheet": ngettext("%(count)s sheet", "%(count)s sheets", count),
        "row": ngettext("%(count)s row", "%(count)s rows", count),
        "column": ngettext("%(count)s column", "%(count)s columns", count),
    }
    return words[what] % {"count": count}


def _say_formulas(found: re.Match[str]) -> str:
    says = _("Formulas without a stored value stand as formulas (%(count)s): open the file in its program and save it.")
    return says % found.groupdict()


_FORMS: dict[re.Pattern[str], Callable[[re.Match[str]], str]] = {
    _ENCODING: _say_encoding,
    _HIDDEN: _say_hidden,
    _FORMULAS: _say_formulas,
}
