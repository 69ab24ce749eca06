"""Keys of known services, of any length and with any characters, leave nothing in clear text."""

from __future__ import annotations

import random
import re
import string

import pytest

from memory.gate.key_formats import KEY_FORMATS
from memory.gate.redaction import redact
from memory.gate.secrets import find_secrets

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
MARKS = "._-+=/~:%"
KEY_MARK = "[redacted: api key]"
SURROUNDINGS = [
    "please use {} for it",
    "The key is {}.",
    "({})",
    "is it {}?",
    '{{"note":"{}","more":1}}',
    "`{}`",
    "**{}**",
    "https://api.example.org/v1?k={}&page=2",
    "密钥：“{}”，请保存。",
    "请用{}登录",
    "「{}」",
]
# Keys without a prefix: "a" is a letter or digit, "f" a hexadecimal digit, "9" a digit.
SHAPES = {
    "Zhipu": "f" * 32 + "." + "a" * 16,
    "Telegram": "9" * 10 + ":" + "a" * 35,
    "Discord": "M" + "a" * 23 + "." + "a" * 6 + "." + "a" * 27,
    "Mailchimp": "f" * 32 + "-us9",
    "Twilio": "SK" + "f" * 32,
    "Mailgun": "key-" + "f" * 32,
    "Resend": "re_" + "a" * 8 + "_" + "a" * 24,
    "Notion": "secret_" + "a" * 43,
    "Airtable": "pat" + "a" * 14 + "." + "f" * 64,
    "Octopus Deploy": "API-" + "9" * 26,
    "Microsoft Entra": "aaa9Q~" + "a" * 34,
    "HashiCorp": "a" * 14 + ".atlasv1." + "a" * 64,
    "MaxMind": "a" * 6 + "_" + "a" * 29 + "_mmk",
    "Cloudflare": "v1.0-" + "f" * 24 + "-" + "f" * 146,
    "ClickUp": "pk_" + "9" * 8 + "_" + "9" * 32,
    "Volcengine": "ark-" + "f" * 8 + "-ffff-ffff-ffff-" + "f" * 12 + "-fffff",
}


def _redacted(text: str) -> str:
    return redact(text, find_secrets(text))


def _make(prefix: str, length: int, letters: str = LETTERS) -> str:
    """Make a key that has the same characters in each run."""
    dice = random.Random(f"{prefix}{length}")
    return prefix + "".join(dice.choice(letters) for _ in range(length))


def _fill(shape: str) -> str:
    """Return a key of the `shape`: runs of a letter are random, single characters stay."""
    dice = random.Random(shape)
    kinds = {"a": LETTERS, "f": HEX, "9": string.digits}
    return re.sub(r"([af9])\1{2,}", lambda run: "".join(dice.choice(kinds[run[1]]) for _ in run[0]), shape)


@pytest.mark.parametrize("prefix", KEY_FORMATS)
def test_a_key_of_any_length_is_redacted_whole(prefix):
    length = KEY_FORMATS[prefix]
    letters = string.ascii_uppercase + "234567" if prefix.isupper() and length <= 17 else LETTERS

    for chars in (length, length + 1, 2 * length, 20 * length):
        key = _make(prefix, chars, letters)
        assert _redacted(f"please use {key} for it") == f"please use {KEY_MARK} for it"


@pytest.mark.parametrize("mark", MARKS)
def test_a_key_with_a_mark_inside_is_redacted_whole(mark):
    for prefix, length in KEY_FORMATS.items():
        rest = _make(prefix, length).removeprefix(prefix)
        for place in (1, len(rest) // 2, len(rest) - 1):
            marked = prefix + rest[:place] + mark + rest[place:]
            assert _redacted(f"please use {marked} for it") == f"please use {KEY_MARK} for it", marked


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_what_stands_around_a_key_stays(surroundings):
    for prefix, length in KEY_FORMATS.items():
        assert _redacted(surroundings.format(_make(prefix, length))) == surroundings.format(KEY_MARK)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_key_without_a_prefix_is_known_by_its_shape(shape):
    key = _fill(shape)

    for more in ("", "b", "0", "9f3kX8"):
        assert KEY_MARK in _redacted(f"please use {key}{more} for it")
        assert key[-6:] not in _redacted(f"please use {key}{more} for it")


@pytest.mark.parametrize(
    "rest",
    ["", "abc", "your-api-key-goes-here", "x" * 40, "<YOUR_KEY>", "${SECRET}", "...", "…", "{key}", "********"],
)
def test_a_prefix_with_a_placeholder_is_no_key(rest):
    for prefix in KEY_FORMATS:
        assert find_secrets(f"set it to {prefix}{rest} in the file") == [], prefix
