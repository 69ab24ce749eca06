from __future__ import annotations

import base64

import pytest

from memory.gate.binary import find_binary

FILE = bytes(range(256)) * 2
ENCODED = base64.b64encode(FILE).decode()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a\0b", "binary.control"),
        ("\x01\x02\x03\x04 text", "binary.control"),
        ("%PDF-1.4 of a file", "binary.control"),
        ("\ufffd" * 8, "binary.encoding"),
        (f"data:application/pdf;base64,{ENCODED}", "binary.data_uri"),
        ("see: " + "\n".join(ENCODED[place : place + 76] for place in range(0, len(ENCODED), 76)), "binary.base64"),
        (FILE.hex(" "), "binary.hex"),
        (" ".join(f"0x{byte:02x}," for byte in FILE), "binary.hex"),
    ],
)
def test_what_is_no_text(text, rule):
    assert [reason.rule for reason in find_binary(text)] == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "tabs\tand\r\nline breaks\x1b[0m",
        "one lost \ufffd character",
        "The icon is data:image/png;base64,iVBORw0KGgo= and small.",
        "words " * 200 + ENCODED,
        "a_very_long_identifier_that_somebody_wrote_in_code " * 10,
        "0 1 2 3 4 5 6 7 8 9 " * 30 + "are the digits that we counted together with the children",
        "哈" * 500,
        "aaaa" * 20,
    ],
)
def test_text_with_odd_parts_is_text(text):
    assert find_binary(text) == []
