"""Finds secrets: keys of providers (by detect-secrets), and what it lacks: tokens, private keys, passwords in prose.

Every pattern looks at a bounded number of characters from wherever it starts, and detect-secrets, whose patterns do
not, is shown pieces of bounded length: the time is linear in the length of the text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from memory.gate.findings import GateFindings, GateInput, explain_marks
from memory.gate.redaction import Detection

API_KEY = "api key"
TOKEN = "access token"  # noqa: S105 - the name of a kind
PASSWORD = "password"  # noqa: S105
PRIVATE_KEY = "private key"

LEAST_KEY_CHARS = 16
PIECE_CHARS = 512
PIECE_STEP = 256

# Of detect-secrets those that know a provider's form. Left out are its guesses by entropy and by keywords, which take
# hashes and sample code for secrets, and the forms that match common words or need time beyond linear.
_PROVIDERS = tuple(
    pattern
    for detector in (
        AzureStorageKeyDetector,
        DiscordBotTokenDetector,
        GitHubTokenDetector,
        GitLabTokenDetector,
        MailchimpDetector,
        PypiTokenDetector,
        SendGridDetector,
        SlackDetector,
        SquareOAuthDetector,
        StripeDetector,
        TelegramBotTokenDetector,
        TwilioKeyDetector,
    )
    for pattern in detector.denylist
) + tuple(AWSKeyDetector.denylist[:1])

_LONG_WORD = re.compile(r"[^\s\"'`<>,;，。；、“”]{16,}+")
_JWT = re.compile(r"(?<![\w\-.])eyJ[\w\-]{8,}+\.[\w\-]{4,}+\.?[\w\-]*+", re.ASCII)
# Prefixes that name what follows: OpenAI, Anthropic, GitHub, Google, Hugging Face, Groq, npm, Stripe, Alibaba Cloud,
# Tencent Cloud, DigitalOcean, Shopify, Databricks, Notion, Linear, Replicate, xAI, Perplexity, MemOS.
_PREFIXED = re.compile(
    r"(?<![\w\-])(?:sk-[a-z]{0,8}-?|github_pat_|AIza|hf_|gsk_|npm_|[rs]k_test_|LTAI|AKID|dop_v1_|shpat_|dapi|ntn_"
    r"|lin_api_|r8_|xai-|pplx-|mos_)([\w\-]{16,200}+)",
    re.ASCII,
)
_BEARER = re.compile(r"\b(?:bearer|authorization: ?(?:token|basic))\s{1,3}([\w\-.~+/]{16,2000}+=*+)", re.I | re.ASCII)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----(?=[\s\\nA-Za-z:,\-0-9]{0,120}?[\w+/]{16})"
)
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_IN_URL = re.compile(
    r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{1,20}+://[^\s:/@\"'<>{}]{0,64}:([^\s@/\"'<>{}]{1,128})@(?=[\w\[])"
)
_ASSIGNED = re.compile(
    r"(?P<what>(?:pass(?:word|wd|phrase|code)|pwd)|(?:api|access|secret|account|encryption|signing"
    r"|client)[_\- ]?(?:secret[_\- ]?)?(?:key|token|secret)"
    r"|auth[_\-]?token|access[_\-]?token)"
    r"[\"']?\s{0,3}(?:=>|:=|[:=：])\s{0,3}[\"'`“「]?(?P<value>[^\s\"'`”」，。；;]{4,128}+)",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pin(?: code| number)?|pwd)s?(?: (?:for|to|of|on) [^.!?\n,]{1,40}?)?"
    r" (?:is(?: now)?|was|(?:set|changed) to)[:\s]{1,3}(?:now )?(?:[\"'`“](?P<quoted>[^\"'`”\n]{4,64}+)[\"'`”]"
    r"|(?P<value>[^\s\"'`”,;，。]{4,64}+))",
    re.IGNORECASE,
)
_SAID_IN_CHINESE = re.compile(
    r"(?:密码|口令|密钥|私钥|密匙)[^，。！？\s]{0,6}?(?:是|为|：|:|=|改成了?|改为|设成了?|设为|设置为"
    r"|就是)[\s:：]{0,3}(?:[\"“'「‘](?P<quoted>[^\"”'」’\n]{4,64}+)[\"”'」’]"
    r"|(?P<value>[!-~]{4,64}+))(?!加密|存储|算法|格式|哈希|散列|编码|字段|形式)"
)
_KEYWORDS = (
    "pass",
    "pwd",
    "pin",
    "secret",
    "token",
    "key",
    "bearer",
    "authorization",
    "密码",
    "密钥",
    "密匙",
    "口令",
    "私钥",
)
# What stands for a secret in samples and documentation.
_PLACEHOLDER = re.compile(
    r"your|example|placeholder|change_?me|redacted|xxx|\*\*|\.\.\.|…|[<>{}]|%\(|\$\(|^\$|^(?:null|none|undefined"
    r"|true|false|string)$",
    re.I,
)
# What code puts in a password's place: an expression, or a name that says it is one.
_IN_CODE = re.compile(
    r"[()\[\]]|^[A-Za-z_]\w*\.[A-Za-z_]\w*|^(?:my|the|user|db|new|old|secret|super|test|hashed|admin|foo)[_\-]?(?:my"
    r"|secret|pass)?"
    r"(?:word|wd|phrase|key|token)?\W?\d{0,4}\W?$|^pass(?:word|wd|phrase)?\W?\d{0,4}\W?$|^(?:s3cr3t"
    r"|p@ss(?:w0rd)?)\W?\d{0,4}\W?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\s{0,2}(?:or more |to \d+ )?(?:char|digit|letter|symbol|word|bit|time|day|week|month|year|hour|minute|step"
    r"|attempt|位|个|次|字)"
)


def detect(turn: GateInput) -> GateFindings:
    found = find_secrets(turn.text)
    return GateFindings(turn.policy.secrets, explain_marks("secret", found), found)


def find_secrets(text: str) -> list[Detection]:
    """The secrets of `text`, in no order; one may be found twice. The place is that of the secret, not of its name."""
    lowered = text.lower()
    found = list(_keys(text)) if max(map(len, text.split()), default=0) >= LEAST_KEY_CHARS else []
    if "://" in text and "@" in text:
        found.extend(
            _at(PASSWORD, match, 1, 0.95)
            for match in _IN_URL.finditer(text)
            if _is_real(match[1]) and not _IN_CODE.search(match[1])
        )
    if "PRIVATE KEY" in text:
        found.extend(_private_keys(text))
    if any(map(lowered.__contains__, _KEYWORDS)):
        found.extend(_find_named(text))
    return found


def _keys(text: str) -> Iterator[Detection]:
    for word in _LONG_WORD.finditer(text):
        if not any(character.isdigit() for character in word[0]):
            continue
        for start in range(word.start(), max(word.start() + 1, word.end() - PIECE_STEP), PIECE_STEP):
            piece = text[start : min(word.end(), start + PIECE_CHARS)]
            for pattern in _PROVIDERS:
                for match in pattern.finditer(piece):
                    if _is_real(match[0]):
                        yield Detection(API_KEY, start + match.start(), start + match.end(), 0.98)
    for match in _PREFIXED.finditer(text):
        if _is_mixed(match[1]) and _is_real(match[1]):
            yield _at(API_KEY, match, 0, 0.95)
    for match in _JWT.finditer(text) if "eyJ" in text else ():
        if JwtTokenDetector.is_formally_valid(match[0].rstrip(".")):
            yield _at(TOKEN, match, 0, 0.95)


def _private_keys(text: str) -> Iterator[Detection]:
    end = 0
    for opening in _PRIVATE_KEY.finditer(text):
        if opening.start() < end:
            continue
        closing = _KEY_END.search(text, opening.end())
        end = closing.end() if closing else len(text)
        yield Detection(PRIVATE_KEY, opening.start(), end, 0.99)


def _find_named(text: str) -> Iterator[Detection]:
    """Values that the text itself calls a password, a key or a token."""
    for match in _BEARER.finditer(text):
        if _is_mixed(match[1]) and _is_real(match[1]):
            yield _at(TOKEN, match, 1, 0.95)
    for match in _ASSIGNED.finditer(text):
        password = match["what"].lower().startswith(("pass", "pwd"))
        value = match["value"]
        wanted = _is_password(value) if password else len(value) >= 16 and _is_mixed(value)
        if wanted and _is_real(value) and not _IN_CODE.search(value) and not _is_measure(text, match, "value"):
            yield _at(PASSWORD if password else API_KEY, match, "value", 0.9)
    for match in (*_SAID.finditer(text), *_SAID_IN_CHINESE.finditer(text)):
        group = "value" if match["value"] else "quoted"
        value = match[group].rstrip(".?)")
        if (_is_password(value) or value.isdecimal()) and _is_real(value) and not _is_measure(text, match, group):
            yield Detection(PASSWORD, match.start(group), match.start(group) + len(value), 0.85)


def _at(kind: str, match: re.Match[str], group: int | str, score: float) -> Detection:
    return Detection(kind, match.start(group), match.end(group), score)


def _is_mixed(value: str) -> bool:
    """Whether `value` has letters and digits, and is no repetition of a few of them."""
    return (
        any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and len(set(value)) >= 8
    )


def _is_password(value: str) -> bool:
    """Whether `value` looks chosen to be hard to guess: digits or marks among letters, not a word or a dotted name."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    marks = sum(not character.isalnum() and character not in "._-/: " for character in value.rstrip(".!?,)"))
    return len(value) >= 6 and letters > 0 and (digits > 0 or (marks > 0 and letters >= 3))


def _is_real(value: str) -> bool:
    return _PLACEHOLDER.search(value) is None


def _is_measure(text: str, match: re.Match[str], group: str) -> bool:
    """Whether the value counts something ("password: 8-16 characters")."""
    return _COUNTED.match(text, match.end(group)) is not None
