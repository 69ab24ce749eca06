"""Scores an answer against the expected one, without a model, as shares from 0 to 1."""

from __future__ import annotations

import re
from collections import Counter

import Stemmer

from memory.text.analysis import CJK, STOP_WORDS

_TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_ARTICLES = frozenset({"a", "an", "the", "and"})
_LETTER = re.compile(r"\(([a-z])\)")
_BARE_LETTER = re.compile(r"\b([a-z])\b")

_stemmer = Stemmer.Stemmer("english")


def token_f1(gold: str, answer: str) -> float:
    """Return the harmonic mean of precision and recall of stemmed tokens, without articles and `and`.

    This is LoCoMo's score (Maharana et al. 2024); it is 0 if no token is shared.
    """
    wanted, said = (
        Counter(_stemmer.stemWords([token for token in _tokens(text) if token not in _ARTICLES]))
        for text in (gold, answer)
    )
    shared = sum((wanted & said).values())
    return 2 * shared / (wanted.total() + said.total()) if shared else 0.0


def containment(gold: str, answer: str) -> float:
    """Return the share of the expected content words (stemmed, no stop words) in the answer; 1 if there are none."""
    wanted, said = (
        set(_stemmer.stemWords([token for token in _tokens(text) if token not in STOP_WORDS]))
        for text in (gold, answer)
    )
    return len(wanted & said) / len(wanted) if wanted else 1.0


def find_letter(answer: str) -> str:
    """Return the single letter that the answer chooses, as `(b)` or `b`; "" for none or several."""
    lowered = answer.lower()
    found = set(_LETTER.findall(lowered)) or set(_BARE_LETTER.findall(lowered))
    return found.pop() if len(found) == 1 else ""


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())
