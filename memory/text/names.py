"""Defines when two spellings are the same name, and the word lists that distinguish names from other words."""

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
    """A name at text[start:end]; a speaker is at [0:0].

    `weight` is the confidence in its kind: 3 if the text states it, 2 by a word list or the name's own last word, 1 by
    the surrounding words, and 0 by its shape only.
    """

    start: int
    end: int
    name: str
    kind: EntityKind
    weight: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists that extraction consults; all Latin entries are name keys (`name_key`).

    `places` are in either language. `chinese_words` segment Chinese text; `chinese_names` are the subset of them that
    are only names; `surnames` are Chinese.
    """

    first_names: Container[str] = frozenset()
    last_names: Container[str] = frozenset()
    common_words: Container[str] = frozenset()
    places: Container[str] = frozenset()
    surnames: Container[str] = frozenset()
    chinese_words: Container[str] = frozenset()
    chinese_names: Container[str] = frozenset()

    def is_common(self, word: str) -> bool:
        """Tell whether the lower-case `word`, or its singular, is an everyday English word."""
        return word in self.common_words or (word.endswith("s") and word[:-1] in self.common_words)


def name_key(name: str) -> str:
    """Return the key that all spellings of a name share, "" if nothing is left.

    Width, case, accents, titles, possessives and surrounding punctuation don't matter.
    """
    if name.isascii():
        plain = name.strip(_EDGES).lower()
        plain = " ".join((_POSSESSIVE.sub("", plain) if "'" in plain else plain).split())
        return (_TITLE.sub("", plain) if " " in plain else plain).strip(_EDGES)[:MAX_NAME_CHARS]
    plain = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", name).strip(_EDGES).casefold())
    plain = unicodedata.normalize("NFC", _LATIN_MARKS.sub("", unicodedata.normalize("NFD", plain)))
    plain = " ".join(plain.replace("’", "'").split())
    return _TITLE.sub("", plain).strip(_EDGES)[:MAX_NAME_CHARS]


def speaker_key(speaker: str) -> str:
    """Return the name key by which questions name a speaker; "" for a speaker without a letter."""
    key = name_key(speaker)
    return key if _LETTER.search(key) else ""


def keys_of_runs(words: Sequence[str], most: int) -> Iterator[tuple[str, int]]:
    """Yield the name keys of all runs of up to `most` of the `words`, longest first, each with its length in words.

    Keys may be empty. The words contain no spaces.
    """
    small = " ".join(words).lower()
    # If no word changes within a run, its key is joined from the parts, without normalising it again.
    is_plain = small.isascii() and "'" not in small and not _TITLE.search(small)
    parts = small.split(" ") if is_plain else list(words)
    for size in range(min(most, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            run = " ".join(parts[start : start + size])
            yield run.strip(_EDGES)[:MAX_NAME_CHARS] if is_plain else name_key(run), size


def is_wide(name: str) -> bool:
    """Tell whether `name` contains Chinese, Japanese or Korean characters."""
    return _WIDE.search(name) is not None


def words_of(key: str) -> list[str]:
    """Return the words of a name key; a Chinese name is one word."""
    return key.split()


def initials(key: str) -> str:
    """Return the initials of a key, without small words: "island media group" gives "img"."""
    return "".join(word[0] for word in key.split() if word not in ("of", "the", "and", "for", "de"))
