"""Estimates how much of a text a model for English can read, by script and by function words.

The function words of other languages in Latin script come from the Stopwords ISO collection.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

import stopwordsiso

from memory.text.analysis import is_cjk

# Languages in Latin script whose function words are checked.
LANGUAGES = ("es", "pt", "fr", "de", "it", "nl", "pl", "tr", "vi", "cs", "sv", "da", "no", "fi", "hu", "ro", "id")
# A text is in another language if at least this share of its words are function words of that language.
FOREIGN_SHARE = 0.25

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)


def unread_letters(
    text: str, *, scripts: Collection[str] = ("LATIN",), languages: Collection[str] = frozenset()
) -> float:
    """Return the share (0..1) of the letters of `text` that a model cannot read.

    These are letters of other `scripts`, CJK excepted, and all Latin ones if the text is in another language than
    English and `languages`.
    """
    letters = [character for character in text if character.isalpha()]
    other = find_other_language(text)
    is_unread = other is not None and other not in languages
    if not letters or (text.isascii() and not is_unread):
        return 0.0
    read = [script for script in map(_script, letters) if script in scripts and not (is_unread and script == "LATIN")]
    return 1 - (len(read) + sum(map(is_cjk, letters))) / len(letters)


def find_other_language(text: str) -> str | None:
    """Return the language of a text in Latin letters, that of which it has the most function words; None if it is in
    English.

    A single one is enough if there is no English one and a lower-case word has a letter that English lacks; names such
    as "São Paulo" occur in English texts, too.
    """
    written = _WORD.findall(text)
    words = [word.lower() for word in written]
    english = sum(word in _function_words("en") for word in words)
    if 2 * english >= len(words) or any(map(is_cjk, text)):
        return None
    counted = {language: sum(word in _function_words(language) for word in words) for language in LANGUAGES}
    most = max(LANGUAGES, key=lambda language: counted[language])
    if counted[most] < max(1, FOREIGN_SHARE * len(words)) or counted[most] <= english:
        return None
    is_spelt_otherwise = any(word[0].islower() and not word.isascii() for word in written)
    return most if counted[most] - english >= 2 or (english == 0 and is_spelt_otherwise) else None


def may_be_in_another_language(text: str) -> bool:
    """Tells whether a text of more than two words has no function word of English. Few questions in English have none,
    and those of other languages that `find_other_language` does not recognise have none either."""
    words = _WORD.findall(text)
    return len(words) > 2 and not any(word.lower() in _function_words("en") for word in words)


@lru_cache(maxsize=len(LANGUAGES) + 1)
def _function_words(language: str) -> frozenset[str]:
    return frozenset(stopwordsiso.stopwords(language))


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    """Returns the script of a letter, as its name begins in Unicode; "" for one without a name."""
    return "LATIN" if character.isascii() else unicodedata.name(character, "").partition(" ")[0]
