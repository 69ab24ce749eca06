"""Whether a turn tries to steer the assistant that will read it, now (injection) or from memory (poisoning).

A text is looked at as a model would read it: without hidden characters, and with what its encoded parts say. Each kind
of evidence has a weight, and kinds that come together add up as independent causes do (noisy-or, Pearl 1988):
1 - prod(1 - weight). One kind alone is seldom enough, so that people may speak of instructions, prompts and passwords.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from math import prod

from memory.enums import Role
from memory.gate.hidden import Plain, tagged, unveil
from memory.gate.injection_cues import INJECTION, Evidence
from memory.gate.judgement import Reason, Span
from memory.gate.poisoning_cues import ORDERS, POISONING, STRENGTHENING, beneficiary_after
from memory.text.analysis import CJK

# From here on a text is an attack; from the second on it is suspected, which only a strict policy acts on.
FOUND = 0.6
SUSPECTED = 0.35
# A weight is lessened so much when the text speaks about attacks and quotes one, when the order is about the speaker's
# own words or wishes, or when an answer is dictated about the speaker ("if anyone asks, say I'm out").
QUOTED_SHARE = 0.4
OWN_SHARE = 0.4
BENEFICIARY = 0.45
# Who hides an order means it.
ENCODED = 0.8

_WORD = re.compile(r"[a-z_]+")
_CHINESE = re.compile(rf"[{CJK}]")
_CHINESE_TRIGGER = re.compile(
    r"忽略|无视|忘[记掉]|忽视|抛开|不要|不得|不必|不准|不能|停止|绕过|跳过|丢弃|覆盖|推翻|解除|你|输出|打印|显示"
    r"|泄露|透露|重复|复述|告诉|公开|展示|发|上传|传输|提交|把|将|切勿|别|禁止|瞒着"
    r"|系统|管理员|开发者|官方|平台|最高|【|新的?(?:指令|任务|规则)|无条件|立即|现在起|以后|今后|今往后|从此|永远"
    r"|始终|一律|每[次当]|时候|务必|总是|无论|当|如果|若|假如|只要|一旦|凡是"
    r"|记[住录入]|牢记|保存|标记|视为|认定|存[储入]|写入|植入|删除|清[空除]|抹除|篡改|改写|进入|开启|启用|激活|切换"
    r"|扮演|假装|假设|system"
)
_ABOUT_ATTACKS = re.compile(
    r"\b(?:prompt injections?|injections?|jailbreak\w*|attack\w*|phish\w*|malicious|adversarial|red[- ]team\w*"
    r"|guardrails?|payloads?|exploit\w*"
    r"|e\.g\.|for example|for instance|such as|phrases? like|prompts? like|detect\w*|filter\w*|block\w*|classif\w*"
    r"|dataset|paper|article|test cases?)\b"
    r"|注入|越狱攻击|攻击|恶意|例如|比如|譬如|检测|过滤|拦截|识别|论文|文章|测试用例"
)
_QUOTES = {'"': '"', "“": "”", "「": "」", "『": "』", "`": "`", "《": "》", "'": "'", "‘": "’"}
# The speaker's own words, or those of somebody who is no system: "my previous instructions", "… that I sent you".
_OWN = re.compile(r"\b(?:my|i|i'm|i'll|we|our)\b|我|咱")
_OWN_WORDS = re.compile(
    r"(?: that| which)? (?:i|we|he|she|they|my \w+) (?:gave|sent|said|wrote|told|posted|had|left|made|mentioned|put"
    r"|shared|printed)\b"
    r"| (?:from|by|in|on) (?:my|our|his|her|your|the|that) (?!system|prompt|context|conversation|hidden|initial"
    r"|developer)\w+"
)
# What somebody does, and tells no one to do: "we agreed to override …", 我忘记….
_OWN_DEED = re.compile(
    r"\b(?:i|we|they|he|she|who|people)\b(?!.{0,60}\byou\b)[^.!?;:\n\"“]{0,40} $|(?:我们|他们?|她们?|老师"
    r"|老板)[^，。！？你]{0,8}$|我[^，。！？你]{0,1}$"
)
_OWN_WISH = re.compile(r"\b(?:my|i|i'm|i'll|we|our|us|me)\b|我|咱")
_SENTENCE_REST = re.compile(r"[^.!?;:\n。！？；]{0,48}")
_BEFORE = 64
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{24,}+={0,2}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?:[0-9a-fA-F]{2}){20,}+(?![0-9a-zA-Z])")
_LEAST_TEXT_SHARE = 0.9
# Those that speak of what may be the speaker's own: words, plans, data.
_OWNED = frozenset(f"injection.{name}" for name in ("override", "exfiltrate", "secrecy", "memory_order"))
_WISHES = ORDERS | {"injection.memory_order"}
# What a system turn may do: tell the assistant how to behave. Hiding, sending away and lying markup it may not.
_SYSTEM_RULES = frozenset({"injection.exfiltrate", "injection.override"})


def find_injection(text: str, *, role: str = Role.USER) -> tuple[float, list[Reason]]:
    """How sure (0..1) it is that `text` is an attack, and the evidence, strongest first. Linear in its length."""
    plain = unveil(text)
    reasons = _evidence_in(text, plain, role=role)
    encoded = [("tag characters", tagged(text), ()), *(("encoded text", *run) for run in _decoded(text))]
    for label, hidden, spans in encoded:
        inner = _total(_evidence_in(hidden, unveil(hidden), role=role)) if hidden else 0.0
        if inner >= SUSPECTED:
            says = f"What its {label} say{'s' if spans else ''} tries to steer the reader."
            reasons.append(Reason("injection.encoded", says, round(max(inner, ENCODED), 3), spans))
    reasons.sort(key=lambda reason: -reason.score)
    return _total(reasons), reasons


def _total(reasons: Iterable[Reason]) -> float:
    return 1.0 - prod(1.0 - reason.score for reason in reasons)


def _evidence_in(original: str, plain: Plain, *, role: str) -> list[Reason]:
    words = set(_WORD.findall(plain.text))
    chinese = _CHINESE.search(plain.text) is not None and _CHINESE_TRIGGER.search(plain.text) is not None
    reasons: list[Reason] = []
    for evidence in (*INJECTION, *POISONING):
        if role == Role.SYSTEM and evidence.rule not in _SYSTEM_RULES:
            continue
        reasons.extend(_strongest(evidence, plain, words, chinese=chinese))
    orders = [reason for reason in reasons if reason.rule in ORDERS]
    if orders:
        for evidence in STRENGTHENING:
            reasons.extend(_strongest(evidence, plain, words, chinese=chinese))
        named = next((reason for reason in orders if beneficiary_after(original, *reason.spans[0])), None)
        if named is not None:
            reasons.append(Reason("injection.beneficiary", "It names who is to gain.", BENEFICIARY, named.spans))
    return reasons


def _strongest(evidence: Evidence, plain: Plain, words: set[str], *, chinese: bool) -> list[Reason]:
    """The place where `evidence` weighs the most, if there is any: a harmless one must not hide one that is not."""
    matches: list[re.Match[str]] = []
    if not evidence.words.isdisjoint(words):
        matches.extend(evidence.english.finditer(plain.text))
    if chinese and evidence.chinese is not None:
        matches.extend(evidence.chinese.finditer(plain.text))
    if not matches:
        return []
    about_attacks = _ABOUT_ATTACKS.search(plain.text) is not None
    found = (_reason(evidence, plain, match, about_attacks=about_attacks) for match in matches)
    return [max(found, key=lambda reason: reason.score)]


def _reason(evidence: Evidence, plain: Plain, match: re.Match[str], *, about_attacks: bool) -> Reason:
    weight = evidence.weight
    if about_attacks and _is_quoted(plain.text, match):
        weight *= QUOTED_SHARE
    if _is_own(evidence, plain.text, match):
        weight *= OWN_SHARE
    return Reason(evidence.rule, evidence.says, round(weight, 3), (plain.span(*match.span()),))


def _is_own(evidence: Evidence, text: str, match: re.Match[str]) -> bool:
    if evidence.rule not in _OWNED | ORDERS:
        return False
    if _OWN.search(match[0]) or _OWN_WORDS.match(text, match.end()):
        return True
    if evidence.rule in _OWNED and _OWN_DEED.search(text[max(0, match.start() - _BEFORE) : match.start()]):
        return True
    rest = _SENTENCE_REST.match(text, match.end())
    return evidence.rule in _WISHES and rest is not None and _OWN_WISH.search(rest[0]) is not None


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Whether a quotation opens shortly before `match` and closes after it."""
    before = text[max(0, match.start() - 80) : match.start() + 1]
    after = text[match.end() - 1 : match.end() + 160]
    return any(
        close in after and (before.count(mark) % 2 == 1 if mark == close else before.rfind(mark) > before.rfind(close))
        for mark, close in _QUOTES.items()
    )


def _decoded(text: str) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """What the base64 and hexadecimal runs of `text` say, where that is text, and where they stand."""
    for match in _BASE64.finditer(text):
        run = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            said = _as_text(base64.b64decode(run + "=" * (-len(run) % 4), validate=True))
        except binascii.Error:
            continue
        if said:
            yield said, (match.span(),)
    for match in _HEX.finditer(text):
        if said := _as_text(bytes.fromhex(match[0])):
            yield said, (match.span(),)


def _as_text(run: bytes) -> str:
    try:
        decoded = run.decode()
    except UnicodeDecodeError:
        return ""
    seen = sum(character.isprintable() or character.isspace() for character in decoded)
    return decoded if seen >= _LEAST_TEXT_SHARE * len(decoded) else ""
