"""Finds word-for-word quotations between two texts, and the identifiers in a text."""

from __future__ import annotations

import re

from memory.text.analysis import CJK

# Two texts that share a run of this many words, or of this many Chinese characters, quote one another.
QUOTED_WORDS = 6
QUOTED_CHARACTERS = 9
# An identifier has at least this many letters and digits, or this many digits.
LEAST_CHARACTERS = 6
LEAST_DIGITS = 5
_TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_CHARACTER = re.compile(f"[{CJK}]")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
# Groups with a digit in each, as in "+33 6 12 34 56 78", "DE89 3704 0044" and "A-77-B9".
_GROUP = r"[A-Za-z0-9]*\d[A-Za-z0-9]*"
_CODE = re.compile(rf"(?<![A-Za-z0-9])\+?(?:[A-Za-z]{{1,4}}[/-])?{_GROUP}(?:[ ./-]{_GROUP})*")
_DATE = re.compile(r"\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:\d{2}){1,2}")
# Lengths of runs are counted in integers of this scale, which avoids rounding.
_WHOLE = QUOTED_WORDS * QUOTED_CHARACTERS


def find_identifiers(text: str) -> list[str]:
    """Return e-mail addresses, and numbers and codes long enough to identify something, without repeats.

    Years, dates, prices and times are too short or too common, and are left out.
    """
    found = dict.fromkeys(_EMAIL.findall(text))
    rest = _EMAIL.sub(" ", text)
    for code in _CODE.findall(rest):
        bare = [character for character in code if character.isalnum()]
        digits = sum(map(str.isdigit, bare))
        is_long = digits >= LEAST_DIGITS or (digits < len(bare) and len(bare) >= LEAST_CHARACTERS)
        if is_long and not _DATE.fullmatch(code):
            found[code] = None
    return list(found)


def is_quoted(source: str, reply: str) -> bool:
    """Tell whether the reply contains an identifier of the source, the whole source, or a long run of its words."""
    if any(identifier in reply for identifier in find_identifiers(source)):
        return True
    said, told = _tokens(source), _tokens(reply)
    if len(said) < 2:
        return False
    text = _join(told)
    return _join(said) in text or any(_join(run) in text for run in _list_runs(said))


def _list_runs(tokens: list[str]) -> list[list[str]]:
    """Return every shortest run of tokens that is long enough for a quotation."""
    runs: list[list[str]] = []
    start = weight = 0
    for end, token in enumerate(tokens, start=1):
        weight += _weigh(token)
        while weight - _weigh(tokens[start]) >= _WHOLE:
            weight -= _weigh(tokens[start])
            start += 1
        if weight >= _WHOLE:
            runs.append(tokens[start:end])
    return runs


def _weigh(token: str) -> int:
    return QUOTED_WORDS if _CHARACTER.match(token) else QUOTED_CHARACTERS


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def _join(tokens: list[str]) -> str:
    return " " + " ".join(tokens) + " "
