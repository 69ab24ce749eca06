"""Translates Chinese word by word for an English model: each word is replaced by its first meaning in a dictionary.

Word-by-word translation is the oldest method of cross-language retrieval (Ballesteros and Croft 1997). The result
is not fluent, but a sentence embedding reads it well enough to match texts with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.providers.cedict import MAX_WORD_CHARS, Dictionary
from memory.text.analysis import is_cjk

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_PUNCTUATION = str.maketrans("，、；。！？：（）「」『』“”", ',,;.!?:()""""""')
# Particles and the copula have no English word. Pronouns and negations are kept, because they have a meaning.
_PARTICLES = frozenset("的了是在着过吗呢吧啊呀哦嗯么之其得地")

# Words that mean something else in speech than the dictionary's first sense.
_IN_SPEECH = {"别": "do not", "別": "do not"}


def has_chinese(text: str) -> bool:
    """Tell whether `text` contains a Han character."""
    return not text.isascii() and _HAN.search(text) is not None


def add_glosses(text: str, dictionary: Dictionary) -> str:
    """Return `text` with its Chinese words replaced by English ones; a text without Chinese is returned unchanged."""
    if not has_chinese(text):
        return text

    def english(run: re.Match[str]) -> str:
        return f" {' '.join(meaning for _, meaning in _words(run.group(), dictionary) if meaning)} "

    return " ".join(_HAN.sub(english, text.translate(_PUNCTUATION)).split())


def unread_share(text: str, dictionary: Dictionary) -> float:
    """Return the share (0..1) of the CJK characters of `text` that no dictionary word covers."""
    read = sum(
        len(word) for run in _HAN.findall(text) for word, meaning in _words(run, dictionary) if meaning is not None
    )
    total = sum(map(is_cjk, text))
    return 1 - read / total if total else 0.0


def _words(run: str, dictionary: Dictionary) -> Iterator[tuple[str, str | None]]:
    """Yield the words of `run` with their meanings: "" for particles, None for characters without a dictionary entry.

    This is forward maximum matching: the longest dictionary word from the left, repeatedly.
    """
    start = 0
    while start < len(run):
        known = dictionary.words_of(run[start])
        longest = min(MAX_WORD_CHARS, len(run) - start)
        length = next((n for n in range(longest, 1, -1) if run[start : start + n] in known), 1)
        word = run[start : start + length]
        yield word, "" if _PARTICLES.issuperset(word) else _IN_SPEECH.get(word) or known.get(word)
        start += length
