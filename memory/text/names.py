"""Defines when two spellings are one name, and the word lists that separate names from other words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory.enums import EntityKind
from memory.text.analysis import CJK

MAX_NAME_CHARS = 80

TITLES = frozenset(
    """mr mrs ms miss mx dr prof professor sir madam lady lord captain judge coach uncle aunt auntie grandma
    grandpa""".split()
)

_TITLE = re.compile(rf"(?:(?:{'|'.join(sorted(TITLES))})\b\.?\s+)+(?=\S)")
_LATIN_MARKS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s$|(?<=s)['’]$")
_EDGES = " \t\r\n.,;:!?\"'“”‘’()[]{}《》「」『』（）-–—·*_"
_WIDE = re.compile(f"[{CJK}]")
_LETTER = re.compile(r"[^\W\d_]")


class NameMatch(NamedTuple):
    """Holds a name at text[start:end]. `weight` is the confidence in its kind: 3 it is said, 2 by a word list or the
    name's own last word, 1 by the words around it, 0 by its shape only. A speaker stands at [0:0]."""

    start: int
    end: int
    name: str
    kind: EntityKind
    weight: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Holds the word lists that extraction consults; all Latin ones are name keys (`name_key`).

    `places` are in either language. `chinese_words` segment Chinese text; `chinese_names` are the subset that are only
    names; `surnames` are those of Chinese families.
    """

    first_names: Container[str] = frozenset()
    last_names: Container[str] = frozenset()
    common_words: Container[str] = frozenset()
    places: Container[str] = frozenset()
    surnames: Container[str] = frozenset()
    chinese_words: Container[str] = frozenset()
    chinese_names: Container[str] = frozenset()

    def is_common(self, word: str) -> bool:
        """Tells whether `word` (small letters), or its singular, is an everyday English word."""
        return word in self.common_words or (word.endswith("s") and word[:-1] in self.common_words)


def name_key(name: str) -> str:
    """Returns the key that all spellings of a name share: without differences of width, case and accents, a title, a
    possessive and marks around it. Empty when nothing is left."""
    if name.isascii():
        plain = name.strip(_EDGES).lower()
        plain = " ".join((_POSSESSIVE.sub("", plain) if "'" in plain else plain).split())
        return (_TITLE.sub("", plain) if " " in plain else plain).strip(_EDGES)[:MAX_NAME_CHARS]
    plain = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", name).strip(_EDGES).casefold())
    plain = unicodedata.normalize("NFC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", plain)))
    plain = " ".join(plain.replace("’", "'").split())
    return _TITLE.sub("", plain).strip(_EDGES)[:MAX_NAME_CHARS]


def speaker_key(speaker: str) -> str:
    """Returns the name key by which questions name a speaker; empty for one without a letter in the name."""
    key = name_key(speaker)
    return key if _LETTER.search(key) else ""


def keys_of_runs(words: Sequence[str], most: int) -> Iterator[tuple[str, int]]:
    """Yields the name keys of all runs of up to `most` of the `words`, longest first, each with its length in words;
    empty ones too. The words have no spaces in them."""
    small = " ".join(words).lower()
    # If no word changes within a run, its key is joined from the parts, without normalising it again.
    is_plain = small.isascii() and "'" not in small and not _TITLE.search(small)
    parts = small.split(" ") if is_plain else list(words)
    for size in range(min(most, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            run = " ".join(parts[start : start + size])
            yield run.strip(_EDGES)[:MAX_NAME_CHARS] if is_plain else name_key(run), size


def is_wide(name: str) -> bool:
    """Tells whether `name` is written in Chinese, Japanese or Korean characters, at least in part."""
    return _WIDE.search(name) is not None


def words_of(key: str) -> list[str]:
    """Returns the words of a name key; a Chinese name is one word."""
    return key.split()


def initials(key: str) -> str:
    """Returns the first letters of a key's words, without small words: "island media group" gives "img"."""
    return "".join(word[0] for word in key.split() if word not in ("of", "the", "and", "for", "de"))
