"""Finds secrets: keys of known services, tokens, private keys, and values that a text calls a password or a key.

A match extends to the end of its word, whatever its length, so that no part of a key is stored. The time is linear: a
pattern either rejects a place after a bounded number of characters or consumes what it has read.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby

from memory.gate.findings import GateFindings, GateInput, explain_marks
from memory.gate.key_formats import KEY_FORMATS
from memory.gate.redaction import Detection

API_KEY = "api key"
TOKEN = "access token"  # noqa: S105 - the name of a kind
PASSWORD = "password"  # noqa: S105
PRIVATE_KEY = "private key"

LEAST_KEY_CHARS = 16
# Minimum number of a key's characters outside words; from the second number on it can't be a sample.
LEAST_RANDOM_CHARS, SURELY_RANDOM_CHARS = 8, 40
# A private key without a last line must begin within this distance of its first line.
MOST_PEM_HEADER_CHARS = 400

# Matches the rest of a key's word. Three dots mean that something was left out, and aren't part of a key.
_REST = r"(?:[\w\-+=/~:%!#$^?]|\.(?!\.))*+"
_SENTENCE_END = ".,:;?!)]}*\\"


def _join_prefixes(prefixes: list[str]) -> str:
    """Return the alternatives of a pattern, grouped by their first character; the longest one that fits wins."""
    groups = groupby(sorted(prefixes, key=lambda prefix: (prefix[0], -len(prefix))), key=lambda prefix: prefix[0])
    return "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(prefix[1:]) for prefix in group)})" for first, group in groups
    )


_PREFIXED = re.compile(rf"(?<![A-Za-z0-9])(?P<prefix>{_join_prefixes(list(KEY_FORMATS))})(?P<rest>{_REST})", re.ASCII)
# Matches keys without a prefix of their own, and those whose prefix is a common word.
_SHAPED = re.compile(
    rf"(?<![\w.\-])(?:[0-9a-f]{{32}}\.[A-Za-z0-9]{{16}}"  # Zhipu
    r"|\d{8,10}:[A-Za-z0-9_\-]{35}"  # Telegram
    r"|[MNO][\w\-]{23,27}\.[\w\-]{6}\.[\w\-]{27}"  # Discord
    r"|[0-9a-f]{32}-us\d"  # Mailchimp
    r"|(?:AC|SK)[0-9a-f]{32}"  # Twilio
    r"|(?:key|fc)-[0-9a-f]{32}"  # Mailgun, Firecrawl
    r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20}"  # Resend
    r"|secret_[A-Za-z0-9]{43}"  # Notion
    r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"  # Airtable
    r"|(?:pat|sat)\.[\w\-]{22}\.[A-Za-z0-9]{24}\."  # Harness
    r"|API-[A-Z0-9]{26}"  # Octopus Deploy
    r"|[\w~]{3}\dQ~[\w~.\-]{31}"  # Microsoft Entra
    r"|[A-Za-z0-9]{14}\.atlasv1\.[\w=\-]{60}"  # HashiCorp
    r"|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"  # MaxMind
    r"|v1\.0-[0-9a-f]{24}-[0-9a-f]{64}"  # Cloudflare
    r"|pk_\d{6,12}_[A-Z0-9]{32}"  # ClickUp
    r"|ark-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-"  # Volcengine
    rf"){_REST}",
    re.ASCII,
)
_JWT = re.compile(rf"(?<![\w\-.])(?P<header>eyJ[\w\-]{{8,}}+)=*\.[\w\-]{{4}}{_REST}", re.ASCII)
_BEARER = re.compile(
    rf"\b(?:bearer|authorization[\"']?\s{{0,3}}[:=]?\s{{0,3}}[\"']?(?:token|basic))\s{{1,3}}(?P<value>{_REST})",
    re.I | re.ASCII,
)
_PEM = re.compile(r"-----(?P<edge>BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|END [A-Z0-9 ]{0,60})-----")
_PEM_BODY = re.compile(r"[\w+/]{16}", re.ASCII)
# A password may contain "@" before the path starts, or "/" where no port is possible.
_IN_URL = re.compile(
    r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]{1,20}+://[^\s:/@\"'<>{}]*+:"
    r"(?:(?P<value>[^\s/\"'<>{}]+)@(?=[\w\[])"
    r"|(?!\d{1,5}/)(?P<slashed>(?:[^\s:/@\"'<>{}]|/(?!/)|:(?!//))++)@(?=[\w\[]))"
)
_KEY_NAMES = (
    r"(?:api|access|secret|account|encryption|signing|client|private|service|auth|license|master|deploy|webhook|bot)"
    r"[_\- ]?(?:access[_\- ]?|secret[_\- ]?|auth[_\- ]?)?key|secret|token|credential"
)
_ASSIGNED = re.compile(
    rf"(?P<what>pass(?:word|wd|phrase|code)|(?<=_)pass|pwd|{_KEY_NAMES})"
    r"\\?[\"'`*]{0,3}\s{0,3}(?:=>|:=|[:=：])\s{0,3}"
    r"(?:(?P<mark>[\"'`])(?P<quoted>(?:(?!(?P=mark))[^\n\\])++)(?P=mark)"
    r"|[\"'`“「*\\]{0,2}(?P<value>[^\s\"'`”」，。；;]++))",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"\b(?P<what>(?:pass(?:word|phrase|code)|pin(?: code| number)?|pwd)s?|{_KEY_NAMES})"
    r"(?: (?:for|to|of|on) [^.!?\n,]{1,40}?)?"
    r" (?:(?:(?:is|was|has been) )?(?:set|changed) to|is(?: now)?|was)[:\s]{1,3}(?:now )?"
    r"(?:(?P<mark>[\"'`])(?P<quoted>(?:(?!(?P=mark))[^\n])++)(?P=mark)|[“‘](?P<curly>[^“”‘’\n]++)[”’]"
    r"|(?P<value>(?:[^\s\"'`”,;，。；]|[,;](?=[!-~]))++))",
    re.IGNORECASE,
)
_SAID_IN_CHINESE = re.compile(
    r"(?P<what>密[码碼匙]|口令|密[钥鑰]|私[钥鑰]|令牌|權杖|金鑰|凭证"
    r"|(?:key|token|secret|password)(?=[^!-~\s]))"
    r"[^，。！？\s]{0,6}?(?:是|为|為|：|:|=|改成了?|改[为為]|设成了?|[设設][为為]|设置为|就是)[\s:：]{0,3}"
    r"(?:[\"“'「‘『](?P<quoted>[^\"“”'「」‘’『』\n]++)[\"”'」’』]"
    r"|(?P<value>[!-~]++))(?!加密|存储|算法|格式|哈希|散列|编码|字段|形式)",
    re.IGNORECASE,
)
_PASSWORD_NAMES = ("pass", "pwd", "pin", "密", "口令", "私")
_KEYWORDS = (
    "pass",
    "pwd",
    "pin",
    "secret",
    "token",
    "key",
    "bearer",
    "authorization",
    "credential",
    *"密码 密碼 密钥 密鑰 密匙 口令 私钥 私鑰 令牌 權杖 金鑰 凭证".split(),
)
# Matches what samples and documentation write instead of a secret.
_PLACEHOLDER = re.compile(
    r"your|example|placeholder|change_?me|redacted|x{4}|\*\*|\.\.\.|…|[<>{}]|%\(|\$\(|^\$|^(?:null|none|undefined"
    r"|true|false|string)$|^(?:aes|rsa|sha|md|hmac|ecdsa|ed|base|utf)[_\-]?\d{1,4}(?:[_\-]?[a-z]{1,12})?$",
    re.I,
)
# Matches what code has in a password's place: a call, an item, or a name that shows that it is one.
_IN_CODE = re.compile(
    r"^[\w.]*[()\[\]]|^(?:my|the|user|db|new|old|secret|super|test|hashed|admin|foo)[_\-]?(?:my"
    r"|secret|pass)?"
    r"(?:word|wd|phrase|key|token)?\W?\d{0,4}\W?$|^pass(?:word|wd|phrase)?\W?\d{0,4}\W?$|^(?:s3cr3t"
    r"|p@ss(?:w0rd)?)\W?\d{0,4}\W?$",
    re.IGNORECASE,
)
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
# Matches a word, words in camel case, or a number; digits may follow a word, and one more word or a unit the digits.
_WORDLIKE = re.compile(
    r"[A-Z]{2,14}\d*+|(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,5}+(?![A-Z]))*+[A-Za-z]?\d*+[a-z]*+",
)
_COUNTED = re.compile(
    r"\s{0,2}(?:or more |to \d+ )?(?:char|digit|letter|symbol|word|bit|time|day|week|month|year|hour|minute|step"
    r"|attempt|位|个|次|字)"
)


def detect(turn: GateInput) -> GateFindings:
    found = find_secrets(turn.text)
    return GateFindings(turn.policy.secrets, explain_marks("secret", found), found)


def find_secrets(text: str) -> list[Detection]:
    """Return the places of secrets in `text`, not of their names, in no order and possibly repeated."""
    lowered = text.lower()
    found = list(_find_keys(text)) if max(map(len, text.split()), default=0) >= LEAST_KEY_CHARS else []
    if "://" in text and "@" in text:
        for match in _IN_URL.finditer(text):
            group = "value" if match["value"] else "slashed"
            if _is_real(match[group]) and not _is_code(match[group]):
                found.append(_mark(PASSWORD, match, group, 0.95))
    if "PRIVATE KEY" in text:
        found.extend(_find_private_keys(text))
    if any(map(lowered.__contains__, _KEYWORDS)):
        found.extend(_find_named(text))
    return found


def _find_keys(text: str) -> Iterator[Detection]:
    for match in _PREFIXED.finditer(text):
        rest = _trim(match["rest"])
        if _is_key(rest) or (len(rest) == KEY_FORMATS[match["prefix"]] and _is_run(rest)):
            yield _mark(API_KEY, match, 0, 0.95)
    for match in _SHAPED.finditer(text):
        if _is_real(match[0]):
            yield _mark(API_KEY, match, 0, 0.98)
    for match in _JWT.finditer(text) if "eyJ" in text else ():
        if _is_object(match["header"]):
            yield _mark(TOKEN, match, 0, 0.95)


def _find_private_keys(text: str) -> Iterator[Detection]:
    """Yield private keys from their first line to their last, or to the end of a text without a last line."""
    edges = list(_PEM.finditer(text))
    closings = [edge for edge in edges if edge["edge"].startswith("END")]
    starts = [closing.start() for closing in closings]
    end = 0
    for place, opening in enumerate(edges):
        if opening["edge"].startswith("END") or opening.start() < end:
            continue
        following = edges[place + 1].start() if place + 1 < len(edges) else len(text)
        closing = bisect_left(starts, opening.end())
        closed = closing < len(closings)
        body_end = following if closed else min(following, opening.end() + MOST_PEM_HEADER_CHARS)
        if _PEM_BODY.search(text, opening.end(), body_end):
            end = closings[closing].end() if closed else len(text)
            yield Detection(PRIVATE_KEY, opening.start(), end, 0.99)


def _find_named(text: str) -> Iterator[Detection]:
    """Yield values that the text itself calls a password, a key or a token."""
    for match in _BEARER.finditer(text):
        if _is_key(_trim(match["value"]), least=LEAST_RANDOM_CHARS):
            yield _mark(TOKEN, match, "value", 0.95)
    for match in _ASSIGNED.finditer(text):
        group = "quoted" if match["quoted"] else "value"
        # A quoted label may contain spaces; its first word decides.
        value = _trim(next(iter(match[group].split()), ""))
        password = match["what"].lower().startswith(_PASSWORD_NAMES)
        wanted = _is_password(value) and _is_real(value) if password else _is_key(value, least=LEAST_RANDOM_CHARS)
        if wanted and not _is_code(value) and not _is_measure(text, match, group):
            yield _mark(PASSWORD if password else API_KEY, match, group, 0.9)
    for match in (*_SAID.finditer(text), *_SAID_IN_CHINESE.finditer(text)):
        group = next(name for name in ("value", "quoted", "curly") if name in match.groupdict() and match[name])
        value = _trim(match[group])
        password = match["what"].lower().startswith(_PASSWORD_NAMES)
        if password:
            wanted = (_is_password(value) or (value.isdecimal() and len(value) >= 4)) and _is_real(value)
        else:
            wanted = _is_key(value, least=LEAST_RANDOM_CHARS)
        if wanted and not _is_measure(text, match, group):
            yield _mark(PASSWORD if password else API_KEY, match, group, 0.85)


def _mark(kind: str, match: re.Match[str], group: int | str, score: float) -> Detection:
    """Return the detection at a group of `match`, without the punctuation that ends a sentence."""
    return Detection(kind, match.start(group), match.start(group) + len(_trim(match[group])), score)


def _trim(value: str) -> str:
    return value.rstrip(_SENTENCE_END)


def _is_key(value: str, *, least: int = LEAST_KEY_CHARS) -> bool:
    """Tell whether `value` is long and random enough for a key, rather than words with marks between them."""
    if len(value) < least or len(set(value)) < LEAST_RANDOM_CHARS:
        return False
    random = sum(len(part) for part in _SEPARATORS.split(value) if not _WORDLIKE.fullmatch(part))
    # A long key may spell "your" by chance.
    return random >= SURELY_RANDOM_CHARS or (random >= LEAST_RANDOM_CHARS and _is_real(value))


def _is_run(value: str) -> bool:
    """Tell whether `value` is one run of letters and digits, like a key whose few digits make it look like words."""
    return value.isalnum() and not value.islower() and len(set(value)) >= LEAST_RANDOM_CHARS and _is_real(value)


def _is_password(value: str) -> bool:
    """Tell whether `value` looks hard to guess: digits or marks among letters, not a word or a dotted name."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    marks = sum(not character.isalnum() and character not in "._-/: " for character in value.rstrip(".!?,)"))
    return len(value) >= 6 and letters > 0 and (digits > 0 or (marks > 0 and letters >= 3))


def _is_real(value: str) -> bool:
    return _PLACEHOLDER.search(value) is None


def _is_code(value: str) -> bool:
    """Tell whether code computes `value`; a key with dots isn't the name of an attribute."""
    return bool(_IN_CODE.search(value) or (_DOTTED_NAME.match(value) and not _is_key(value)))


def _is_object(header: str) -> bool:
    """Tell whether the base64 of `header` decodes to a JSON object, judging by its ends."""
    try:
        decoded = urlsafe_b64decode(header + "=" * (-len(header) % 4))
    except ValueError:
        return False
    return decoded.startswith(b'{"') and decoded.endswith(b"}")


def _is_measure(text: str, match: re.Match[str], group: str) -> bool:
    """Tell whether the value counts something ("password: 8-16 characters")."""
    return _COUNTED.match(text, match.end(group)) is not None
