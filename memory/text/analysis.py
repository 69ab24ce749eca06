"""Turns text into the terms that the lexical index stores and looks up.

English words become Snowball stems without stop words, numbers and code identifiers stay whole (and in parts), Chinese,
Japanese and Korean runs become character unigrams and bigrams, so that no dictionary is needed, without those made of
function characters only. The same function serves memories and questions. Stored postings are made by it: a term that
it no longer makes is never asked for again, but a term that it newly makes needs the postings made anew.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

import Stemmer

MAX_TERM_CHARS = 64

# A character class of Chinese, Japanese and Korean characters, for regular expressions.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_TOKEN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’_.\-/:@+][^\W_{CJK}]+)*", re.UNICODE)
_PARTS = re.compile(r"['’_.\-/:@+]")
_CJK_RUN = re.compile(rf"[{CJK}]")
_POSSESSIVE = re.compile(r"['’]s$")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn
    have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me more
    most my myself no nor not now of off on once only or other our ours ourselves out over own re s same she should
    shouldn so some such t than that the their theirs them themselves then there these they this those through to too
    under until up ve very was wasn we were weren what when where which while who whom why will with won would wouldn
    you your yours yourself yourselves""".split()
)

# What Chinese grammar is made of: particles, pronouns, conjunctions, auxiliaries.
FUNCTION_CHARACTERS = frozenset(
    "的了是在我你他她它们这那哪有和就不也很都着过吗呢吧啊呀哦嗯哈嘿哇啦嘛么什怎样还会要可以得地去来到个为与及把被让给跟对从"
    "而但又再更最太之其所如果因为将已经每各该此等或者并且只才呗噢喔哎唉谁几多少没"
)

_stemmer = Stemmer.Stemmer("english")
_stemmer.maxCacheSize = 0


def terms(text: str) -> list[str]:
    """The index terms of `text`, in reading order, with repeats."""
    found: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).lower()):
        found.extend(_expand(match.group()))
    return found


def is_cjk(character: str) -> bool:
    """Whether `character` is of a script written without spaces between words."""
    return _CJK_RUN.match(character) is not None


def cjk_share(text: str) -> float:
    """The share (0..1) of the letters and digits of `text` that are Chinese, Japanese or Korean."""
    letters = [character for character in text if character.isalnum()]
    if not letters:
        return 0.0
    return sum(1 for character in letters if _CJK_RUN.match(character)) / len(letters)


def _expand(token: str) -> tuple[str, ...]:
    if _CJK_RUN.match(token):
        pairs = (token[i : i + 2] for i in range(len(token) - 1))
        return tuple(term for term in (*token, *pairs) if not FUNCTION_CHARACTERS.issuperset(term))
    return _memoise_word_terms(token) if len(token) <= MAX_TERM_CHARS else _word_terms(token)


@lru_cache(maxsize=8_192)
def _memoise_word_terms(token: str) -> tuple[str, ...]:
    return _word_terms(token)


def _word_terms(token: str) -> tuple[str, ...]:
    token = _POSSESSIVE.sub("", token)
    parts = [part for part in _PARTS.split(token) if part]
    if len(parts) == 1:
        return tuple(_word_term(parts[0]))
    # An apostrophe joins a contraction, not an identifier: "don't" has no term as a whole.
    whole = [] if "'" in token or "’" in token else [_shorten(token)]
    return (*whole, *(term for part in parts for term in _word_term(part)))


def _word_term(word: str) -> list[str]:
    if word in STOP_WORDS:
        return []
    if word.isascii() and word.isalpha() and len(word) <= MAX_TERM_CHARS:
        return [_stem(word)]
    return [_shorten(word)]


def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def _shorten(term: str) -> str:
    if len(term) <= MAX_TERM_CHARS:
        return term
    return "#" + hashlib.sha1(term.encode(), usedforsecurity=False).hexdigest()
