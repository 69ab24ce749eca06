"""Detects what isn't text: control characters, files pasted as base64 or data URIs, text in a wrong encoding."""

from __future__ import annotations

import re

from memory.gate.findings import GateFindings, GateInput
from memory.gate.judgement import Reason
from memory.gate.redaction import redact
from memory.gate.secrets import find_secrets

# Minimum share of a turn that must be encoded data.
LEAST_SHARE = 0.5
LEAST_RUN = 200
LEAST_LINE = 40
# The length of "0x41," in a listing of bytes.
MOST_BYTE_CHARS = 5
MOST_CONTROL_SHARE = 0.02

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_DATA_URI = re.compile(r"data:[\w.+\-]{1,60}/[\w.+\-]{1,60}(?:;[\w=\-]{1,40}){0,3},[\w+/=%\-]{100,}+", re.ASCII)
# Matches lines of base64 as files are wrapped; joined words aren't as long.
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_\-]{40,}+[=]{0,2}\s?){1,}+")
_HEX_DUMP = re.compile(r"(?:(?:\\x|0x|%|\b)?[0-9a-fA-F]{2}[\s,]{0,2}){100,}+")
_MAGIC = re.compile(r"^\W{0,4}(?:%PDF-\d|PK\x03\x04|\x89PNG|GIF8[79]a|\xff\xd8\xff|Rar!|\x7fELF|MZ\x90|\x1f\x8b)")


def detect(turn: GateInput) -> GateFindings:
    """Detect what isn't text apart from secrets: a private key alone isn't a file."""
    found = find_binary(turn.text)
    if found and (secrets := find_secrets(turn.text)) and not find_binary(redact(turn.text, secrets)):
        found = []
    return GateFindings(turn.policy.binary, found)


def find_binary(text: str) -> list[Reason]:
    """Return why `text` isn't text, or [], in linear time."""
    whole = ((0, len(text)),)
    controls = len(_CONTROL.findall(text))
    if "\0" in text or controls > max(2, MOST_CONTROL_SHARE * len(text)) or _MAGIC.match(text):
        return [Reason("binary.control", "It holds control characters, as files do and text does not.", 0.95, whole)]
    if text.count("\ufffd") > max(3, 0.1 * len(text)):
        return [
            Reason(
                "binary.encoding", "Its characters were lost on the way: it was read in the wrong encoding.", 0.8, whole
            )
        ]
    if len(text) < LEAST_RUN or _reads_like_words(text):
        return []
    for rule, says, pattern in (
        ("binary.data_uri", "It is mostly a file in a data URI.", _DATA_URI),
        ("binary.base64", "It is mostly a file in base64.", _BASE64),
        ("binary.hex", "It is mostly a file in hexadecimal digits.", _HEX_DUMP),
    ):
        spans = tuple(match.span() for match in pattern.finditer(text) if _is_encoded(match[0]))
        if sum(end - start for start, end in spans) >= LEAST_SHARE * len(text):
            return [Reason(rule, says, 0.9, spans)]
    return []


def _is_encoded(run: str) -> bool:
    """Tell whether `run` is long and mixes letters and digits, as encoded data does and long names don't."""
    return len(run) >= LEAST_RUN and any(map(str.isdigit, run)) and any(map(str.isalpha, run))


def _reads_like_words(text: str) -> bool:
    """Tell whether all pieces between spaces are shorter than a line of base64, and some are longer than bytes."""
    pieces = text.split()
    return max(map(len, pieces), default=0) < LEAST_LINE and any(len(piece) > MOST_BYTE_CHARS for piece in pieces[:50])
