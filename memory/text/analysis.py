"""Turns text into the terms that the lexical index stores and looks up.

English words become Snowball stems without stop words. Numbers and code identifiers are kept whole and in parts.
Chinese, Japanese and Korean runs become character unigrams and bigrams, and runs of other scripts without spaces (Thai,
Lao, Khmer, Burmese) become bigrams, so that no dictionary is needed. Case, width, accents, and Arabic and Hebrew vowel
marks are folded. Memories and questions use the same function, and so do stored postings. Raise `VERSION` with every
change of the terms: the worker then rebuilds the stored ones.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

import regex
import Stemmer

VERSION = 2
MAX_TERM_CHARS = 64

# A character class of Chinese, Japanese and Korean characters for regular expressions.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
# Letters and marks of Thai, Lao, Burmese and Khmer.
_SPACELESS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\uaa60-\uaa7f\u1780-\u17d3"
_JOINED = r"['’_.\-/:@+]"
# Matches the sign in "C++", "C#", "A+", and in blood groups and grades like "O-", unless the word goes on.
_SIGN = r"(?:(?<=[^\W\d_])(?:\+\+?|\#)(?![^\W\d_])|(?<=\b[A-DFO])[\-−](?![\w\-−>])|(?<=\bAB)[\-−](?![\w\-−>]))"


def _write_pattern(word: str) -> str:
    return rf"[{CJK}]+|(?:(?<![\w./\-)])\.(?=[^\W\d_]))?{word}(?:{_JOINED}{word})*{_SIGN}?"


_TOKEN = re.compile(_write_pattern(rf"[^\W_{CJK}]+"))
# Combining marks belong to the letter before them. Joiners and soft hyphens also occur inside words.
_MARKED = regex.compile(rf"[\p{{M}}\u200c\u200d\xad{_SPACELESS}]")
_MARKED_TOKEN = regex.compile(
    rf"[{_SPACELESS}]+|"
    + _write_pattern(
        rf"[[\p{{L}}\p{{N}}]--[{CJK}{_SPACELESS}]][[\p{{L}}\p{{N}}\p{{M}}\u200c\u200d\xad]--[{CJK}{_SPACELESS}]]*+"
    ),
    regex.VERSION1,
)
_PARTS = re.compile(rf"(?<!^){_JOINED}(?=[^\W_])")
_SIGNS = "+#-."
_CJK_RUN = re.compile(rf"[{CJK}]")
_SPACELESS_RUN = re.compile(rf"[{_SPACELESS}]")
_CLUSTER = regex.compile(r".\p{M}*", regex.DOTALL)
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn
    have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me more
    most my myself no nor not now of off on once only or other our ours ourselves out over own re s same she should
    shouldn so some such t than that the their theirs them themselves then there these they this those through to too
    under until up ve very was wasn we weren were what when where which while who whom why will with won would wouldn
    you your yours yourself yourselves""".split()
)
# Stop words that are given names at the start of a sentence, and the words before which they aren't ("Will you …").
_GIVEN_NAMES = frozenset({"an", "don", "will"})
_AFTER_VERB = frozenset(
    "all any her his i it its my our she some that the their there these they this those we you your he".split()
)
# Stop words that are never names, whatever their case.
_NEVER_NAMES = frozenset({"i", "the"})
# Separates words within a clause.
_WITHIN_CLAUSE = re.compile(r"[\s,&@/]+")

# The characters of Chinese grammar: particles, pronouns, conjunctions, auxiliaries.
FUNCTION_CHARACTERS = frozenset(
    "的了是在我你他她它们这那哪有和就不也很都着过吗呢吧啊呀哦嗯哈嘿哇啦嘛么什怎样还会要可以得地去来到个为与及把被让给跟对从"
    "而但又再更最太之其所如果因为将已经每各该此等或者并且只才呗噢喔哎唉谁几多少没"
)

# Marks that the index drops: those of Latin and Greek letters, stress marks and the dots of ё, Arabic and Hebrew
# vowels, and variation selectors.
_MARKS = regex.compile(
    r"(?<=[A-Za-z\xaa-\u02af\u0370-\u03ff\u1f00-\u1fff])[\u0300-\u036f]+"
    r"|(?<=е)\u0308|(?<=[аеёиоуыэюяіїє]\u0308?)[\u0300\u0301]"
    r"|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed]"
    r"|[\u200c\u200d\xad\u0640\u20d0-\u20ff\ufe00-\ufe0f]"
)
# Letters without a Unicode decomposition. Alef, yeh, teh marbuta and kaf are unified as in Lucene's normalisers.
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ŧ": "t", "ŀ": "l"}
    | dict(zip("ٱىیۀةکؤئ", "اييههكوي", strict=True))
)

_stemmer = Stemmer.Stemmer("english")
_stemmer.maxCacheSize = 0


def terms(text: str) -> list[str]:
    """Return the index terms of `text` in reading order, with repeats.

    A stop word becomes a term only if its capitals make it a name: "the WHO", "met Will", "vitamin D".
    """
    text = unicodedata.normalize("NFKC", text)
    pattern = _TOKEN if text.isascii() or not _MARKED.search(text) else _MARKED_TOKEN
    matches = list(pattern.finditer(text))
    found: list[str] = []
    for place, match in enumerate(matches):
        token = match.group()
        lower = token.lower()
        is_name = token != lower and (lower in STOP_WORDS or not token.isalpha()) and _is_name(text, matches, place)
        found.extend(_expand(lower, is_name=is_name))
    return found


def terms_of_question(text: str) -> list[str]:
    """Return the index terms of a question; a question of a single stop word means a name."""
    found = terms(text)
    alone = text.strip(" \t\r\n.,;:!?\"'").lower()
    return found or ([alone] if alone in STOP_WORDS else [])


def is_cjk(character: str) -> bool:
    """Tell whether `character` is Chinese, Japanese or Korean."""
    return _CJK_RUN.match(character) is not None


def cjk_share(text: str) -> float:
    """Return the share (0..1) of the letters and digits of `text` that are Chinese, Japanese or Korean."""
    letters = [character for character in text if character.isalnum()]
    if not letters:
        return 0.0
    return sum(1 for character in letters if _CJK_RUN.match(character)) / len(letters)


def _is_name(text: str, matches: list[re.Match[str]], place: int) -> bool:
    """Tell whether the capitals of a token make the stop words in it names.

    They do within a clause and in an acronym, and for given names also at the start of a sentence, but not in a heading
    or in a line of capitals.
    """
    word = _POSSESSIVE.sub("", matches[place].group())
    if "'" in word or "’" in word:
        return False
    if not STOP_WORDS.issuperset({word.lower()}):
        return any(part.isupper() and part.lower() in STOP_WORDS for part in _PARTS.split(word) if len(part) > 1)
    before = _neighbour(text, matches, place, -1)
    after = _neighbour(text, matches, place, 1)
    beside = [one for one in (before, after) if one]
    if word.lower() in _NEVER_NAMES:
        return False
    if word.isupper() and len(word) > 1:
        return not beside or not all(one.isupper() for one in beside)
    if word.isupper() and word != "A":
        return True
    if before:
        return word[0].isupper() and not (len(beside) == 2 and all(one[0].isupper() for one in beside))
    return word.lower() in _GIVEN_NAMES and after.lower() not in _AFTER_VERB


def _neighbour(text: str, matches: list[re.Match[str]], place: int, step: int) -> str:
    """Return the token before or after it in the same clause, or "" if there is none."""
    other = place + step
    if not 0 <= other < len(matches):
        return ""
    first, second = (matches[place], matches[other]) if step > 0 else (matches[other], matches[place])
    return matches[other].group() if _WITHIN_CLAUSE.fullmatch(text, first.end(), second.start()) else ""


def _expand(token: str, *, is_name: bool) -> tuple[str, ...]:
    if _CJK_RUN.match(token):
        pairs = (token[i : i + 2] for i in range(len(token) - 1))
        return tuple(term for term in (*token, *pairs) if not FUNCTION_CHARACTERS.issuperset(term))
    if _SPACELESS_RUN.match(token):
        clusters = _CLUSTER.findall(token)
        return tuple(_shorten("".join(clusters[i : i + 2])) for i in range(max(len(clusters) - 1, 1)))
    if len(token) <= MAX_TERM_CHARS and not is_name:
        return _memoise_word_terms(token)
    return _word_terms(token, is_name=is_name)


@lru_cache(maxsize=8_192)
def _memoise_word_terms(token: str) -> tuple[str, ...]:
    return _word_terms(token, is_name=False)


def _word_terms(token: str, *, is_name: bool) -> tuple[str, ...]:
    token = _POSSESSIVE.sub("", token).replace("−", "-")
    parts = [part for part in _PARTS.split(token) if part]
    if len(parts) == 1:
        return tuple(_word_term(parts[0], is_name=is_name))
    # An apostrophe joins a contraction and not an identifier, so "don't" has no term as a whole.
    whole = [] if "'" in token or "’" in token else [_shorten(_fold(token))]
    return (*whole, *(term for part in parts for term in _word_term(part, is_name=is_name)))


def _word_term(word: str, *, is_name: bool) -> list[str]:
    bare = word.strip(_SIGNS)
    if bare != word:
        return [_shorten(_fold(word)), *_word_term(bare, is_name=is_name)]
    # Stop words are English, so "thé" isn't one.
    if word in STOP_WORDS and not is_name:
        return []
    word = _fold(word)
    if word.isascii() and word.isalpha() and len(word) <= MAX_TERM_CHARS:
        return [_stem(word)]
    return [_shorten(word)]


def _fold(word: str) -> str:
    if word.isascii():
        return word
    plain = _MARKS.sub("", unicodedata.normalize("NFD", word.casefold()))
    return unicodedata.normalize("NFC", plain).translate(_LETTERS)


def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def _shorten(term: str) -> str:
    if len(term) <= MAX_TERM_CHARS:
        return term
    return "#" + hashlib.sha1(term.encode(), usedforsecurity=False).hexdigest()
