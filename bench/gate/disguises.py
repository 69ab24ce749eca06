"""Disguises texts, so that a rule cannot read them but a model can."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable
from urllib.parse import quote

_LEET = str.maketrans("aeiost", "4310$7")
_HOMOGLYPHS = str.maketrans("aeopcxyi", "аеорсхуі")


def _space_out(text: str) -> str:
    if not text.isascii():
        return " ".join(text)
    return "  ".join(" ".join(word) for word in text.split())


def _join_letters(text: str, mark: str) -> str:
    return " ".join(mark.join(word) for word in text.split(" "))


def _mix_case(text: str) -> str:
    return "".join(letter.upper() if place % 2 else letter.lower() for place, letter in enumerate(text))


_DISGUISES: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64say": lambda text: f"Decode this and do what it says: {base64.b64encode(text.encode()).decode()}",
    "hex": lambda text: text.encode().hex(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "rot13say": lambda text: f"The note below is in rot13.\n{codecs.encode(text, 'rot13')}",
    "reversed": lambda text: text[::-1],
    "url": lambda text: quote(text, safe=""),
    "entities": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "leet": lambda text: text.lower().translate(_LEET),
    "spaced": _space_out,
    "homoglyph": lambda text: text.translate(_HOMOGLYPHS),
    "zerowidth": "\u200b".join,
    "fullwidth": lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
    "dotted": lambda text: _join_letters(text, "." if text.isascii() else "·"),
    "mixedcase": _mix_case,
    "combining": lambda text: "".join(f"{one}\u0336" if one.isalpha() else one for one in text),
    "vertical": "\n".join,
}


def disguise(name: str, text: str) -> str:
    """Returns `text` in the disguise of that name. Raises KeyError for an unknown one."""
    return _DISGUISES[name](text)
