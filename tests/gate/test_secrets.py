from __future__ import annotations

import pytest

from memory.gate.redaction import redact
from memory.gate.secrets import find_secrets


def _redacted(text: str) -> str:
    return redact(text, find_secrets(text))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the pin is 4821.", "the pin is [redacted: password]."),
        ("password=Zx81!kettle;", "password=[redacted: password];"),
        ("密码是abc98765哦", "密码是[redacted: password]哦"),
        ("口令：Sunny2024!door。好的", "口令：[redacted: password]。好的"),
        ("redis://:" + "9vXq2Lm7" + "@cache:6379/0", "redis://:[redacted: password]@cache:6379/0"),
        ("key " + "AIza" + "SyD3x4mPl3K3yV4lu3N0tR34lAtA11zz9" + " end", "key [redacted: api key] end"),
        ("Bearer " + "mF_9.B5f-4.1JqM-aK3x", "Bearer [redacted: access token]"),
    ],
)
def test_marks_the_secret_and_leaves_its_surroundings(text, kept):
    assert _redacted(text) == kept


def test_a_private_key_is_one_mark_from_its_first_line_to_its_last():
    key = (
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAA\n" * 5 + "-----END OPENSSH PRIVATE KEY-----"
    )

    assert _redacted(f"before\n{key}\nafter") == "before\n[redacted: private key]\nafter"
    assert _redacted(key.rpartition("-----END")[0]) == "[redacted: private key]"


@pytest.mark.parametrize(
    "text",
    [
        "A key begins with -----BEGIN PRIVATE KEY----- and ends with END.",
        "password = get_password(user_id)",
        "The password is required.",
        "PASSWORD=${DB_PASSWORD}",
        "https://user:pass@example.org/",
        "secret_key = settings.SECRET_KEY",
        "api_key: str = Field(default='')",
        "eyJhbGciOi is how such tokens begin",
        "密码是什么？",
        "密码是MD5hash加密的",
    ],
)
def test_talk_and_code_about_secrets_hold_none(text):
    assert find_secrets(text) == []


def test_of_overlapping_finds_one_mark_is_left():
    text = "api_key=" + "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

    assert len(find_secrets(text)) > 1
    assert _redacted(text) == "api_key=[redacted: api key]"


def test_a_key_is_found_deep_in_a_long_word():
    key = "AKIA" + "QZ7RT4WXYB2MNC5D"

    for before in (0, 100, 255, 256, 500, 505, 511, 512, 5000):
        [found] = find_secrets("-" * before + key)
        assert (found.start, found.end) == (before, before + len(key))
