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


# Assembled here, so that no scanner takes this file's lines for keys.
LONG = "aB3!" + "x9Qv7Lm2Zr" * 20


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY={}",
        "SERVICE_TOKEN={}",
        "SECRET={}",
        "token = '{}'",
        'secret: "{}"',
        '{{"token": "{}"}}',
        '{{\\"access_token\\": \\"{}\\"}}',
        "**password**: {}",
        "`token`: `{}`",
        "password={}",
        "the password is '{}'",
        "The API key is {}, keep it.",
        "the access token was changed to {}.",
        "密码是{}。",
        "密钥是{}，别丢了",
        "令牌：{}",
        "访问令牌为“{}”",
        "token是{}。",
        "密碼：{}",
        "Authorization: Basic {}",
        "curl -H 'Authorization: Bearer {}' https://api.example/v1",
        "postgres://app:{}@db.example:5432/app",
    ],
)
@pytest.mark.parametrize("mark", ["", *"._-+=~%:/"])
def test_a_named_value_is_redacted_whole_whatever_its_length(text, mark):
    for value in (LONG[4:20], LONG[4:44], LONG[4:], LONG[4:24] + mark + LONG[24:60]):
        kept = _redacted(text.format(value))

        before, after = text.format("\n").split("\n")
        assert kept.startswith(before)
        assert kept.endswith(after)
        assert "[redacted: " in kept
        assert not any(value[place : place + 5] in kept for place in range(len(value) - 4))


def test_a_password_in_quotation_marks_is_redacted_with_its_spaces():
    assert _redacted(f'password: "{LONG} and more"') == 'password: "[redacted: password]"'
    assert _redacted(f"the passphrase is “{LONG} and; more”!") == "the passphrase is “[redacted: password]”!"


@pytest.mark.parametrize("password", ["p@ss9w0rd@x", "ab9/cd7/ef", "x9" * 150])
def test_a_password_in_an_address_ends_where_the_host_begins(password):
    address = f"postgres://app:{password}@db.example:5432/app"

    assert _redacted(f"use {address} now") == "use postgres://app:[redacted: password]@db.example:5432/app now"


def test_private_keys_with_long_headers_and_side_by_side_are_redacted():
    header = "Comment: " + "a b " * 200 + "\n\n"
    body = "b3BlbnNzaC1rZXktdjEAAAAA\n" * 5
    key = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{header}{body}-----END PGP PRIVATE KEY BLOCK-----"

    assert _redacted(f"a\n{key}\nb\n{key}\nc") == "a\n[redacted: private key]\nb\n[redacted: private key]\nc"
    assert _redacted(f"A text about -----BEGIN PRIVATE KEY-----.\n{key}").endswith("[redacted: private key]")


@pytest.mark.parametrize("signature", ["", "c2lnbmF0dXJl" * 4, "c2ln" * 200, "c2lnbmF0dXJl.more~than+it=should/be"])
def test_a_token_of_json_is_redacted_whole(signature):
    token = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + signature

    assert _redacted(f"jwt {token} ok") in ("jwt [redacted: access token] ok", "jwt [redacted: access token]. ok")


@pytest.mark.parametrize(
    "text",
    [
        # Hashes, ids and versions.
        "sha256:" + "3f2a9b1c" * 8,
        "commit " + "9b1c3f2a" * 5 + " broke it",
        "integrity sha512-" + "aB3dEf7h" * 8 + "==",
        "550e8400-e29b-41d4-a716-446655440000",
        "The image is ghcr.io/acme/app@sha256:" + "3f2a9b1c" * 8,
        "The file is Qwen2.5-0.5B-Instruct-GGUF-q4_k_m.gguf in hf_models/Qwen2.5-0.5B-Instruct.",
        "arn:aws:iam::123456789012:role/service-role/lambda-basic-execution",
        # Names in code that begin like keys.
        "risk-based-authentication-review-2026",
        "sk-learn-pipeline-with-2-steps and sk_buff_head_init_2",
        "hf_hub_download_with_retries2 and npm_config_registry_url1",
        "mos_memories_created_total and MOS_settings_of_2026",
        "dapi-gateway-service-version-2",
        "SG.Region.Southeast.Asia.2026.Report",
        # Variables, placeholders and code.
        "OPENAI_API_KEY=${OPENAI_API_KEY}",
        "token: {{ secrets.GITHUB_TOKEN }}",
        "API_KEY=<your key>",
        "secret: $(cat /run/secrets/db)",
        "token = request.headers['X-Token']",
        "token = jwt.encode(claims2, key)",
        "secret=settings.APP_SECRET_2",
        "max_tokens: 4096, token_limit=200000",
        "tokenizer: bert-base-uncased-2024",
        "secretName: k8s-cluster-secret-2",
        "Authorization: Bearer <token>",
        '"password": "Please enter at least 8 characters"',
        "https://host.example:8080/path/@user2",
        "https://blog.example/@ann/posts-2026",
        # Prose.
        "The token is base64url-encoded and the secret is sha256-hashed.",
        "The password is required for step 2 of 3.",
        "Our secret is out: the key to success is 10 minutes of practice a day.",
        "Token prices fell from $15 to $3 within 12 months, says the report of 2026.",
        "Give the patient 2.5 mg q8h; the key finding was an HbA1c of 7.2 %.",
        "Under § 312g BGB and Art. 9(2)(a) GDPR the consent is the key requirement.",
        "The pin number of the part is on the label.",
        "令牌桶算法限制每秒100个请求。",
        "访问令牌的有效期是30分钟，过期后重新获取。",
        "密钥是AES256格式的，长度为32字节。",
        "token是按字计费的，每1000个token约0.01元。",
        "他的密码是什么我不知道，口令也忘了。",
        "根据《民法典》第577条，违约方应承担责任，关键是2026年的补充协议。",
        "患者血压138/85，关键指标HbA1c为7.2%。",
    ],
)
def test_prose_code_and_ids_hold_no_secret(text):
    assert find_secrets(text) == []
