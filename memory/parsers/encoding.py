"""Decodes text files: by byte order mark, as UTF-8, as declared, or else by a guess that is reported.

A short Chinese, Japanese or Korean text is valid in several of their code pages, and charset-normalizer takes the wrong
one for a third of them. These code pages put common characters together, so the one in which nearly all characters are
common is right. Single-byte code pages are left to charset-normalizer.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

from charset_normalizer import from_bytes

from memory.parsers.refusal import FileRefused

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
# Programs write these names and mean the larger code page, as browsers assume (WHATWG's Encoding Standard).
_MEANT = {
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874",
}  # fmt: skip
_ALIASES = {"x-sjis": "cp932", "x-gbk": "gb18030", "x-euc-jp": "euc_jp", "ks_c_5601-1987": "cp949"}
# A readable declaration can't be true if it names one of these, and UTF-7 hides its content.
_UNLIKELY = re.compile(r"utf-?(?:7|16|32)", re.IGNORECASE)
_DECLARED = re.compile(
    rb"""<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)|^\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)""",
    re.IGNORECASE,
)
_DECLARED_BYTES, _GUESSED_BYTES, _SCORED_BYTES = 4_096, 256 * 1024, 32 * 1024
_UTF_8_CHAR = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_CONTROLS = re.compile(r"[\x00-\x06\x0e-\x1a]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
# A file with at least this share of its non-ASCII bytes in whole UTF-8 characters is damaged UTF-8.
_DAMAGED = 0.8
_COMMON = 0.75
# Korean bytes are also common Chinese and Japanese characters, but most Korean text has some of these syllables.
_KOREAN = frozenset("이다는을의가고에하지를도은로기사니서한리인어자시아나대그있일해정수들과보전라여부상")
# All characters of Western languages, and evidence for another alphabet: runs of accented letters, and signs inside a
# word.
_WESTERN = re.compile(
    r"[\x00-\x7fÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœ\xa0€‚„…†‡‰‘’“”•–—™‹›¡¢£¥§©ª«®°±²³´µ¶·¹º»¼½¾¿×]*"
)
_FOREIGN = re.compile(r"[À-ÿŒœ]{4}|[³¹£¢¥±¼½¾](?=[^\W\d])|(?<=[^\W\d])[¿¡£¢¥]")
_ONE_BYTE = [
    "cp1250", "cp1251", "koi8_r", "koi8_u", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp874", "cp866",
]  # fmt: skip


def note_guess(encoding: str) -> str:
    """Return a note on a file whose encoding was guessed."""
    return f"The file does not say how it is encoded: it was read as {encoding}, which was guessed."


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with uniform line endings, and its encoding; `guessed` means that nothing in the file declares it."""

    text: str
    encoding: str
    guessed: bool

    @property
    def notes(self) -> list[str]:
        """Notes on how the text was read, if that was guessed."""
        return [note_guess(self.encoding)] if self.guessed else []


def decode(data: bytes, *, declared: str | None = None) -> DecodedText:
    """Decode a file, or a part of a message whose header declares its encoding. Raise `FileRefused` if that fails."""
    found = _decode(data, declared)
    if "\0" in found.text:
        raise FileRefused("unsupported", "The file holds NUL characters, so it is no text.")
    return DecodedText(found.text.replace("\r\n", "\n").replace("\r", "\n"), found.encoding, found.guessed)


def find_encoding(beginning: bytes) -> tuple[str, bool]:
    """Return the encoding of a file by its beginning, which may end inside a character, and whether it is a guess.

    Raise `FileRefused` if the encoding can't be determined.
    """
    if (wide := find_wide(beginning)) is not None:
        return wide
    # Characters of other encodings never end or continue with one of these.
    end = max(beginning.rfind(sign) for sign in (b"\n", b'"'))
    found = _decode(beginning[: end + 1] or beginning, None)
    return found.encoding, found.guessed


def find_wide(beginning: bytes) -> tuple[str, bool] | None:
    """Return the encoding of a file with a byte order mark or in UTF-16, and whether it is a guess; else None."""
    for mark, encoding in MARKS:
        if beginning.startswith(mark):
            return encoding.removesuffix("-sig"), False
    unmarked = find_utf_16(beginning[: len(beginning) // 2 * 2])
    return (unmarked, True) if unmarked is not None else None


def find_utf_16(data: bytes) -> str | None:
    """Return which UTF-16 without a mark the data are, by the zero bytes of their ASCII characters, or None."""
    low, high = data[1::2].count(0), data[0::2].count(0)
    if low + high == 0 or len(data) % 2 or max(low, high) < len(data) / 20 or min(low, high) > max(low, high) / 10:
        return None
    name = "utf-16-le" if low > high else "utf-16-be"
    return None if _CONTROLS.search(data.decode(name, "ignore")) else name


def _decode(data: bytes, declared: str | None) -> DecodedText:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _read_as(data, encoding)
    if (unmarked := find_utf_16(data)) is not None:
        return _read_as(data, unmarked, guessed=True)
    named = find_codec(declared or _find_declared(data))
    if data.isascii() and named is not None and (text := _try(data, named)) is not None:
        return DecodedText(text, named, guessed=False)
    if (text := _try(data, "utf-8")) is not None:
        return DecodedText(text, "utf-8", guessed=False)
    others = len(_NOT_ASCII.findall(data))
    if sum(map(len, _UTF_8_CHAR.findall(data))) >= _DAMAGED * others:
        raise FileRefused("encoding", "The file is UTF-8 in which some characters are damaged: save it again.")
    if named is not None and (text := _try(data, named)) is not None:
        return DecodedText(text, named, guessed=False)
    guessed = _guess_many_bytes(data) or _guess_one_byte(data)
    if guessed is None:
        raise FileRefused("encoding", "The file's encoding is not known: save it as UTF-8.")
    return _read_as(data, guessed, guessed=True)


def _read_as(data: bytes, encoding: str, *, guessed: bool = False) -> DecodedText:
    try:
        return DecodedText(data.decode(encoding), encoding.removesuffix("-sig"), guessed)
    except UnicodeDecodeError:
        raise FileRefused("encoding", f"The file is no whole {encoding}: save it as UTF-8.") from None


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _find_declared(data: bytes) -> str | None:
    found = _DECLARED.search(data[:_DECLARED_BYTES])
    return (found[1] or found[2]).decode("ascii") if found else None


def find_codec(name: str | None) -> str | None:
    """Return Python's codec for a declared name, or None for one that is unknown or can't be meant."""
    plain = (name or "").strip().lower()
    try:
        codec = codecs.lookup(_ALIASES.get(plain, plain))
    except (LookupError, ValueError):
        return None
    if not codec._is_text_encoding or _UNLIKELY.match(codec.name):
        return None
    return _MEANT.get(codec.name, codec.name)


def _guess_many_bytes(data: bytes) -> str | None:
    """Return the Chinese, Japanese or Korean code page in which most characters are common, or None."""
    scores = {}
    for encoding, is_common in _MANY_BYTES.items():
        text = _try(data, encoding)
        if text is None:
            continue
        told = [character for character in text[:_SCORED_BYTES] if character > "\x7f"]
        if encoding == "cp949" and not _KOREAN & set(told):
            continue
        scores[encoding] = sum(_weigh(is_common, encoding, one) for one in told) / len(told)
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] >= _COMMON else None


def _weigh(is_common: Callable[[int, int], bool], encoding: str, character: str) -> float:
    """Weigh a character as common or not; punctuation says little, because every code page has it."""
    if "\u3000" <= character <= "\u3011" or "\uff01" <= character <= "\uff1f" or "\u2010" <= character <= "\u203b":
        return _COMMON
    code = character.encode(encoding)
    return float(len(code) == 2 and is_common(code[0], code[1]))


def _is_shift_jis(lead: int, trail: int) -> bool:
    return lead == 0x82 or (lead == 0x83 and trail <= 0x96) or 0x88 <= lead <= 0x97


# Each function tells whether a character is common by its two bytes: a syllable, or one of the first level of its
# standard. Korean is first, so that it wins a tie.
_MANY_BYTES: dict[str, Callable[[int, int], bool]] = {
    "cp949": lambda lead, trail: 0xB0 <= lead <= 0xC8 and trail >= 0xA1,
    "gb18030": lambda lead, trail: 0xB0 <= lead <= 0xD7 and trail >= 0xA1,
    "big5hkscs": lambda lead, _: 0xA4 <= lead <= 0xC6,
    "cp932": _is_shift_jis,
    "euc_jp": lambda lead, _: lead in (0xA4, 0xA5) or 0xB0 <= lead <= 0xCF,
}


def _guess_one_byte(data: bytes) -> str | None:
    western = _try(data, "cp1252")
    if western is not None and _WESTERN.fullmatch(western) and not _FOREIGN.search(western):
        return "cp1252"
    best = from_bytes(data[:_GUESSED_BYTES], cp_isolation=_ONE_BYTE).best()
    return best.encoding if best is not None else None
