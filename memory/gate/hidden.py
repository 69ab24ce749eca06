"""Finds characters that people don't see, and reads texts without them as a model would.

Unicode tag characters and variation selectors can carry a whole message inside an innocent one ("ASCII smuggling").
Zero-width characters and look-alike letters break up the words that rules look for (Boucher et al. 2022, "Bad
Characters: Imperceptible NLP Attacks").
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from memory.gate.judgement import Reason, Span

_ODD = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u3164\ufeff"
    "\u0300-\u036f\u20d0-\u20f0\u1d00-\u1d22\ua730\ua731\u0262\u026a\u0274\u0280\u028f\u0299\u029c\u029f\u24b6-\u24e9"
    "\uff01-\uff5e\u0370-\u03ff\u0261\u0400-\u04ff\u0501-\u051b\U0001d400-\U0001d7ff\U000e0000-\U000e01ef]"
)
_INVISIBLE = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\u3164\ufeff"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
# Flags of regions consist of a black flag, tag characters and a cancel tag.
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]++")
_SELECTORS = re.compile("[\U000e0100-\U000e01ef]{3,}+")
# Emoji sequences have single zero-width joiners, whereas hidden messages have long runs of at least two kinds.
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]{8,}+")
_OVERRIDE = re.compile("\u202e")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Look-alikes of lower-case letters.
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһӏυοαɡкмтвνικρτχԝԛɑᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "aeopcyxijsdhluoagkmtbvikptxwqaabcdeghijklmnoprstuvwyz"
)
# Marks above, below or across the preceding letter.
_MARK = re.compile("[\u0300-\u036f\u20d0-\u20f0]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A lower-case text without tricks, with the positions of its characters in the original.

    `origins` is None if every character has kept its position.
    """

    text: str
    origins: list[int] | None = None

    def span(self, start: int, end: int) -> Span:
        """Return the place in the original of text[start:end]."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


def unveil(text: str) -> Plain:
    """Return `text` in lower case, without invisible characters, and with wide and look-alike letters as plain ones."""
    if text.isascii():
        return Plain(text.lower())
    if _ODD.search(text) is None and len(lowered := text.lower()) == len(text):
        return Plain(lowered.replace("’", "'"))
    characters: list[str] = []
    origins: list[int] = []
    for place, original in enumerate(text):
        for character in _plain(original):
            characters.append(character)
            origins.append(place)
    return Plain("".join(characters), origins)


@lru_cache(maxsize=16_384)
def _plain(original: str) -> str:
    """Return what a character reads as; "" if it is invisible."""
    if original in _INVISIBLE or _MARK.match(original) or "\U000e0000" <= original <= "\U000e01ef":
        return ""
    return unicodedata.normalize("NFKC", original).lower().translate(_LOOK_ALIKES).replace("’", "'")


def decode_tags(text: str) -> str:
    """Return what the tag characters of `text` say, in lower case; "" if it has none outside of flags."""
    return "".join(
        chr(ord(character) - 0xE0000).lower()
        for run in _TAGS.findall(_FLAG.sub("", text))
        for character in run
        if 0xE0020 <= ord(character) <= 0xE007E
    )


def find_hidden(text: str) -> list[Reason]:
    """Return the hidden characters of `text`, with one reason for each way of hiding."""
    if text.isascii() or _ODD.search(text) is None:
        return []
    flags = {place for match in _FLAG.finditer(text) for place in range(match.start(), match.end())}
    tags = tuple(match.span() for match in _TAGS.finditer(text) if match.start() not in flags)
    bits = tuple(match.span() for match in _ZERO_WIDTH.finditer(text) if len(set(match[0])) > 1)
    selectors = tuple(match.span() for match in _SELECTORS.finditer(text))
    turned = () if _RIGHT_TO_LEFT.search(text) else tuple(match.span() for match in _OVERRIDE.finditer(text))
    return [
        Reason(rule, says, score, spans)
        for rule, says, score, spans in (
            ("hidden.tags", "Invisible tag characters carry text that a reader does not see.", 0.95, tags),
            ("hidden.selectors", "A run of invisible variation selectors can carry a message.", 0.9, selectors),
            ("hidden.zero_width", "A run of zero-width characters can carry a message.", 0.85, bits),
            (
                "hidden.direction",
                "The order of the letters is turned round in a text without a script that needs it.",
                0.8,
                turned,
            ),
        )
        if spans
    ]
