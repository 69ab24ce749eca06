"""Estimates how much of a text a model for English can read, by script and by function words.

The function words of other languages in Latin script come from the Stopwords ISO collection.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import stopwordsiso

from memory.text.analysis import is_cjk

# Languages in Latin script whose function words are checked.
LANGUAGES = ("es", "pt", "fr", "de", "it", "nl", "pl", "tr", "vi", "cs", "sv", "da", "no", "fi", "hu", "ro", "id")
# A text is in another language if at least this share of its words are function words of that language.
FOREIGN_SHARE = 0.25

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)


def unread_letters(text: str) -> float:
    """Return the share (0..1) of the letters of `text` that are neither CJK nor part of English text.

    These are letters of other scripts, and all Latin ones if the text is in another language.
    """
    letters = [character for character in text if character.isalpha()]
    if not letters or (text.isascii() and not is_in_another_language(text)):
        return 0.0
    latin = 0 if is_in_another_language(text) else sum(map(_is_latin, letters))
    return 1 - (latin + sum(map(is_cjk, letters))) / len(letters)


def is_in_another_language(text: str) -> bool:
    """Tell whether a text in Latin script has more function words of one other language than of English.

    A single one is enough if there is no English one and a lower-case word has a letter that English lacks; names such
    as "São Paulo" occur in English texts, too.
    """
    written = _WORD.findall(text)
    words = [word.lower() for word in written]
    english = sum(word in _function_words("en") for word in words)
    if 2 * english >= len(words) or any(map(is_cjk, text)):
        return False
    found = max(sum(word in _function_words(language) for word in words) for language in LANGUAGES)
    if found < max(1, FOREIGN_SHARE * len(words)) or found <= english:
        return False
    is_spelt_otherwise = any(word[0].islower() and not word.isascii() for word in written)
    return found - english >= 2 or (english == 0 and is_spelt_otherwise)


@lru_cache(maxsize=len(LANGUAGES) + 1)
def _function_words(language: str) -> frozenset[str]:
    return frozenset(stopwordsiso.stopwords(language))


@lru_cache(maxsize=4096)
def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN")
