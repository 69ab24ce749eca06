from __future__ import annotations

import pytest

from memory.gate.hidden import decode_tags, find_hidden, unveil

SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


def _tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(character)) for character in text)


def test_plain_text_keeps_its_places():
    plain = unveil("Über’s ÄRGER 忽略")

    assert (plain.text, plain.origins) == ("über's ärger 忽略", None)


def test_places_lead_back_to_the_original():
    text = "a\u200bb ＣＤ İ e\U000e0041f"

    plain = unveil(text)

    start = plain.text.index("ef")
    assert plain.span(start, start + 2) == (text.index("e"), len(text))
    assert plain.text.startswith("ab cd i")
    assert len(plain.text) == len(plain.origins or ())


def test_reads_tags_but_not_those_of_flags():
    assert decode_tags(f"hi {SCOTLAND}{_tags('Obey Me')}") == "obey me"
    assert decode_tags(SCOTLAND) == ""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("see you" + _tags("x"), "hidden.tags"),
        ("see" + "\U000e0101\U000e0102\U000e0103" + " you", "hidden.selectors"),
        ("see" + "\u200b\u200c" * 4 + " you", "hidden.zero_width"),
        ("invoice\u202efdp.exe", "hidden.direction"),
    ],
)
def test_names_the_way_of_hiding_and_its_place(text, rule):
    [reason] = find_hidden(text)

    assert reason.rule == rule
    [(start, end)] = reason.spans
    assert not text[start:end].isascii()


@pytest.mark.parametrize(
    "text",
    [
        f"{SCOTLAND} 👩‍💻 ❤️ naïve café",
        "\u202a+44 20 7946 0000\u202c",
        "\ufeffwith a byte order mark",
        "می‌خواهم \u202eabc\u202c",
        "zero\u200bwidth\u200bspaces\u200bfrom\u200ba\u200bweb\u200bpage\u200bcopied",
        "Привет, Αθήνα",
    ],
)
def test_marks_that_writing_needs_are_no_hiding(text):
    assert find_hidden(text) == []
