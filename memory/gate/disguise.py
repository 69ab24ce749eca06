"""Reads disguised parts of a text: encoded, reversed, with digits instead of letters, or letter by letter.

A disguise is undone only where the result reads more like language than the original, so that hashes, images and
passwords say nothing. Every method looks at each character a bounded number of times.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from memory.gate.judgement import Span
from memory.gate.lexicon import NOUNS, VERBS

# Minimum number and share of known words in a rewritten sentence, which must also have more of them than the original.
LEAST_KNOWN = 3
LEAST_KNOWN_SHARE = 0.4
# Minimum number of letters of a spelled-out run; longer ones are read in pieces of the second number.
LEAST_SPELLED, MOST_SPELLED = 6, 2_000
LONGEST_WORD = 14
LEAST_TEXT_SHARE = 0.9
# Number of layers of encoding that are read.
DEPTH = 2

_COMMON = """a an and any are as at be been before but by can do every everything for from has have he her his if in
into is it its me must my new no not now of on one only or other our out over own please she so than that the their them
then there these they this to under until up us use was we what when where which who will with word words you your
previous hidden safety bank best link name note number say tell user whole here long more best how why"""
_KNOWN = frozenset(_COMMON.split()) | VERBS.keys() | {word for word in NOUNS if "'" not in word and "-" not in word}
# Known words without "a" and "i".
_KNOWN_WORDS = frozenset(word for word in _KNOWN if len(word) > 1)

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{16,}+={0,2}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{2}(?:[ :]?[0-9a-fA-F]{2}){11,}+")
_ENTITIES = re.compile(r"(?:&#x?[0-9a-fA-F]{1,6};[ ]?){4,}+")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}[ ]?){4,}+|(?:\\x[0-9a-fA-F]{2}){4,}+")
_PERCENT = re.compile(r"(?:[\w.\-~+]{0,30}%[0-9a-fA-F]{2}){3,}+[\w.\-~+]{0,30}")
_SENTENCE = re.compile(r"[^\n.!?;。！？]{6,600}")
_LATIN_WORD = re.compile(r"[a-z]+")
_LEET_WORD = re.compile(r"(?<![\w@$!|+])[\w@$!|+]*[0134578@$!|+][\w@$!|+]*(?![\w@$!|+])")
_LEET = str.maketrans("0134578@$!|+", "oieastbasiit")
_LEET_L = str.maketrans("0134578@$!|+", "oleastbaslit")
# Matches single letters with the same separator between them.
_SPELLED = re.compile(
    r"(?<![a-z])[a-z](?:(?P<gap>[ ._\-·*/,|])[a-z](?![a-z])){2,}+"
    r"(?:[^\w\n]{1,3}[a-z](?:(?P=gap)[a-z](?![a-z])){0,}+){0,}+",
    re.I,
)
_SPELLED_CHINESE = re.compile(r"[\u4e00-\u9fff](?:[ \t.·_\-*/|\n]{1,2}[\u4e00-\u9fff，。：！]){4,}+")
_GAPS = re.compile(r"[ ._\-·*/,|\t\n]")
_REVERSED_CHINESE = re.compile(
    r"令指|户用|略忽|则规|手助|示提|忆记|话对|统系|有所|户账|荐推|诉告|送发|除删|码密|视无|员理管|作操|部全|在现|何任"
)


class Disguised(NamedTuple):
    """The text of a disguised part, how it was disguised, and its place."""

    label: str
    text: str
    span: Span


def undisguise(text: str, lowered: str, *, depth: int = DEPTH) -> Iterator[Disguised]:
    """Yield what `text` says in each disguise; `lowered` is the text as `hidden.unveil` reads it."""
    yield from _find_encoded(text, depth)
    whole = (0, len(text))
    for label, said in (
        ("rotated letters", _turn_sentences(lowered, _rotate)),
        ("letters from right to left", _turn_sentences(lowered, _mirror)),
        ("digits in place of letters", _without_leet(lowered)),
        ("single letters", _join_letters(lowered)),
    ):
        if said:
            yield Disguised(label, said, whole)


def _find_encoded(text: str, depth: int) -> Iterator[Disguised]:
    for mark, pattern, decode in (
        ("", _BASE64, _from_base64),
        ("", _HEX, _from_hex),
        ("&#", _ENTITIES, html.unescape),
        ("\\", _ESCAPES, _from_escapes),
        ("%", _PERCENT, unquote),
    ):
        for match in pattern.finditer(text) if mark in text else ():
            said = decode(match[0])
            if said and said != match[0]:
                yield Disguised("encoded text", said, match.span())
                if depth > 1:
                    yield from (
                        Disguised(one.label, one.text, match.span())
                        for one in undisguise(said, said.lower(), depth=depth - 1)
                    )


def _from_base64(run: str) -> str:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _as_text(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except binascii.Error:
        return ""


def _from_hex(run: str) -> str:
    digits = run.removeprefix("0x").replace(" ", "").replace(":", "")
    return _as_text(bytes.fromhex(digits)) if len(digits) % 2 == 0 else ""


def _from_escapes(run: str) -> str:
    try:
        return codecs.decode(run, "unicode_escape")
    except UnicodeDecodeError:
        return ""


def _as_text(run: bytes) -> str:
    try:
        decoded = run.decode()
    except UnicodeDecodeError:
        return ""
    seen = sum(character.isprintable() or character.isspace() for character in decoded)
    return decoded if seen >= LEAST_TEXT_SHARE * len(decoded) else ""


def _rotate(text: str) -> str:
    return codecs.encode(text, "rot13")


def _mirror(text: str) -> str:
    return text[::-1]


def _turn_sentences(text: str, turn: Callable[[str], str]) -> str:
    """Return the sentences of `text` that read like language after `turn`, and not before."""
    said = []
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        other = turn(sentence)
        words, others = _LATIN_WORD.findall(sentence), _LATIN_WORD.findall(other)
        known = sum(map(_KNOWN.__contains__, others))
        there = sum(map(_KNOWN_WORDS.__contains__, words))
        reads_better = known >= max(LEAST_KNOWN, LEAST_KNOWN_SHARE * len(others)) and known > 2 * there
        if reads_better or (turn is _mirror and len(_REVERSED_CHINESE.findall(sentence)) > 1):
            said.append(other)
    if turn is _mirror:
        said.reverse()
    return ". ".join(said)


def _without_leet(text: str) -> str:
    """Return the text with letters for digits in words if that makes at least three new words, else ""."""
    made = 0

    def read(match: re.Match[str]) -> str:
        nonlocal made
        word = match[0].strip("!|+")
        for table in (_LEET, _LEET_L):
            plain = word.translate(table)
            if plain != word and plain in _KNOWN and len(plain) > 1:
                made += 1
                return match[0].replace(word, plain, 1)
        return match[0].translate(_LEET) if any(map(str.isalpha, match[0])) else match[0]

    said = _LEET_WORD.sub(read, text)
    return said if made >= LEAST_KNOWN else ""


def _join_letters(text: str) -> str:
    """Return the text with spelled-out words joined, or "" if there are none."""
    made = False

    def join(match: re.Match[str]) -> str:
        nonlocal made
        gap = match["gap"]
        words = re.split(r"[^\w]{2,}|\s" if gap != " " else r"[^\w]{2,}", match[0])
        letters = [_GAPS.sub("", word) for word in words]
        if sum(map(len, letters)) < LEAST_SPELLED:
            return match[0]
        made = True
        return " ".join(
            _divide_letters(word) if len(word) > LONGEST_WORD or word not in _KNOWN else word for word in letters
        )

    def join_chinese(match: re.Match[str]) -> str:
        nonlocal made
        made = True
        return _GAPS.sub("", match[0])

    said = _SPELLED_CHINESE.sub(join_chinese, _SPELLED.sub(join, text))
    return said if made else ""


def _divide_letters(letters: str) -> str:
    """Divide letters into the fewest known words; unknown letters stay together."""
    return " ".join(_divide(letters[start : start + MOST_SPELLED]) for start in range(0, len(letters), MOST_SPELLED))


@lru_cache(maxsize=256)
def _divide(letters: str) -> str:
    # best[i] describes the first i letters: letters outside known words, number of words, start of the last word.
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    for end in range(1, len(letters) + 1):
        unknown, words, _ = best[end - 1]
        found = (unknown + 1, words + 1, end - 1)
        for start in range(max(0, end - LONGEST_WORD), end):
            if letters[start:end] in _KNOWN:
                found = min(found, (best[start][0], best[start][1] + 1, start))
        best.append(found)
    pieces = []
    end = len(letters)
    while end:
        start = best[end][2]
        pieces.append(letters[start:end])
        end = start
    return _together(pieces[::-1])


def _together(pieces: list[str]) -> str:
    """Join the pieces with spaces, but consecutive unknown letters without."""
    said: list[str] = []
    single = False
    for piece in pieces:
        unknown = len(piece) == 1 and piece not in {"a", "i"}
        if unknown and single:
            said[-1] += piece
        else:
            said.append(piece)
        single = unknown
    return " ".join(said)
