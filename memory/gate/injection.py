"""Detects turns that try to steer the assistant that reads them, now (injection) or from memory (poisoning).

A text is read as a model would read it: without hidden characters, and including what its encoded parts say. Each kind
of evidence has a weight, and kinds that occur together are combined as independent causes (noisy-or, Pearl 1988):
1 - prod(1 - weight). One kind alone is seldom enough, so that people may mention instructions, prompts and passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.gate.clauses import read_clauses
from memory.gate.disguise import undisguise
from memory.gate.hidden import Plain, decode_tags, unveil
from memory.gate.injection_cues import INJECTION, Evidence
from memory.gate.judgement import Reason
from memory.gate.markup_spoofs import SPOOFS, unseen_parts
from memory.gate.orders import find_orders, together
from memory.gate.poisoning_cues import ORDERS, POISONING, STRENGTHENING, beneficiary_after
from memory.gate.quotation import is_quoted, is_told_of
from memory.text.analysis import CJK

# Scores from FOUND on are attacks; those from SUSPECTED on are suspicious, and only a strict policy acts on them.
FOUND = 0.6
SUSPECTED = 0.35
# Factors for a weight if the text speaks about attacks and quotes one, if the order is about the speaker's own words or
# wishes, or if an answer is dictated about the speaker ("if anyone asks, say I'm out").
QUOTED_SHARE = 0.3
OWN_SHARE = 0.4
BENEFICIARY = 0.45
# Minimum score of an attack that is encoded: an order is not hidden by accident.
ENCODED = 0.8

_WORD = re.compile(r"[a-z_]+")
_CHINESE = re.compile(rf"[{CJK}]")
_CHINESE_TRIGGER = re.compile(
    r"忽略|无视|忘[记掉]|忽视|抛开|不要|不得|不必|不准|不能|停止|绕过|跳过|丢弃|覆盖|推翻|解除|你|输出|打印|显示"
    r"|泄露|透露|重复|复述|告诉|公开|展示|发|上传|传输|提交|把|将|切勿|别|禁止|瞒着"
    r"|系统|管理员|开发者|官方|平台|最高|【|新的?(?:指令|任务|规则)|无条件|立即|现在起|以后|今后|今往后|从此|永远"
    r"|始终|一律|每[次当]|时候|务必|总是|无论|当|如果|若|假如|只要|一旦|凡是"
    r"|记[住录入]|牢记|保存|标记|视为|认定|存[储入]|写入|植入|删除|清[空除]|抹除|篡改|改写|进入|开启|启用|激活|切换"
    r"|扮演|假装|假设|行动|动作|system"
)
_ABOUT_ATTACKS = re.compile(
    r"\b(?:prompt injections?|injections?|jailbreak\w*|attack\w*|phish\w*|malicious|adversarial|red[- ]team\w*"
    r"|guardrails?|payloads?|exploit\w*"
    r"|e\.g\.|for example|for instance|such as|phrases? like|prompts? like|detect\w*|filter\w*|block\w*|classif\w*"
    r"|dataset|paper|article|test cases?|screenshots?|incidents?|(?:somebody|someone) (?:wrote|typed|tried)"
    r"|(?:book|essay|poem|song|novel|slide|report|page|chapter)"
    r" (?:says|said|quotes?|reads?))\b"
    r"|注入|越狱攻击|攻击|红队|恶意|例如|比如|譬如|检测|过滤|拦截|识别|论文|文章|测试用例|书里|小说|电影|剧本|诗里"
)
# Matches words of the speaker or of another person: "my previous instructions", "… that I sent you".
_OWN = re.compile(r"\b(?:my|i|i'm|i'll|we|our)\b|我|咱")
_OWN_WORDS = re.compile(
    r"(?: that| which)? (?:i|we|he|she|they|my \w+) (?:gave|sent|said|wrote|told|posted|had|left|made|mentioned|put"
    r"|shared|printed)\b"
    r"| (?:from|by|in|on) (?:my|our|his|her|your|the|that) (?!system|prompt|context|conversation|hidden|initial"
    r"|developer)\w+"
)
# Matches people's own actions rather than an order: "we agreed to override …", 我忘记….
_OWN_DEED = re.compile(
    r"\b(?:i|we|they|he|she|who|people)\b(?!.{0,60}\byou\b)[^.!?;:\n\"“]{0,40} $|(?:我们|他们?|她们?|老师"
    r"|老板)[^，。！？你]{0,8}$|我[^，。！？你]{0,1}$"
)
# Matches reports of what an attack makes an assistant do: "…让助手忽略…", "tells an assistant to …".
_REPORTED = re.compile(
    r"(?:让|使|令|诱导|诱使|导致|骗)[^，。！？\n]{0,8}(?:助手|模型|机器人|智能体|ai|它)[^，。！？\n]{0,4}$"
    r"|\b(?:makes?|tells?|told|tricks?|tricked|got|gets?|causes?|asks?|asked)\b[^.!?\n]{0,30}\b(?:to|into) $"
)
# Matches a purpose rather than an order: "to override the system prompt, pass …", 想覆盖系统提示词，请….
_PURPOSE = re.compile(
    r"(?:^|[.!?\n] ?|\b(?:how|in order|option|flag|setting|used|able|way|lets? you|allows? you) )to $"
    r"|(?:想要?|若要|如需|如果要|可以用来|用于|如何|怎么|怎样)[^，。！？\n]{0,4}$"
)
# Matches a prohibition of what follows: "agents must never ignore …", 切勿透露….
_FORBIDDEN = re.compile(
    r"\b(?:not|never|cannot|can't|don't|won't|nobody may|no one may) (?:ever |simply |just )?$"
    r"|(?:切勿|不得|不要|不能|不准|不许|禁止|严禁|绝不能?|不可|别|从不)(?:试图|擅自|随意)?$"
)
# Matches a program or its pages as the subject.
_THIRD = re.compile(
    r"\b(?:it|(?:the|an?|our|each|every) (?:\w+ )?(?:app|page|screen|form|service|client|dialog|interface|ui|log"
    r"|site|view|server|error|panel|report))s? $"
    r"|(?:界面|页面|应用|接口|服务|日志|系统|屏幕|表单|前端|后端)$"
)
# Matches an order to another person than the reader.
_TOLD_ANOTHER = re.compile(
    r"\b(?:he|she|they|someone|somebody|people|(?:an?|the|one|another|some) (?!user|owner|operator|admin|system"
    r"|developer)\w+|students|users"
    r"|kids|attackers)(?: \w+)? (?:tried|tries|wanted|wants|asks?|asked|tells|told|orders?|ordered"
    r"|tricks?|tricked|got|gets|made|makes)\b"
    r"(?!.*\byou\b)[^.!?\n\"“]{0,40} (?:to|into) $"
    r"|(?:有人|他们?|她们?|小.|老.|学生|攻击者|访客|孩子|网友|黑客|同事|邮件|网页|评论)[^，。！？你\n]{0,6}(?:让|叫|要求|命令|骗|诱导|想|试图)[^，。！？你\n]{0,10}$"
)
# Matches the start of a transcript, a speaker's label.
_TALK = re.compile(r"\s*(?:user|human|assistant|ai|用户|助手)\s?[:：]")
_OWN_WISH = re.compile(r"\b(?:my|i|i'm|i'll|we|our|us|me)\b|我|咱")
_SENTENCE_REST = re.compile(r"[^.!?;:\n。！？；]{0,48}")
_BEFORE = 64
# Rules about things that may be the speaker's own: words, plans, data.
_OWNED = frozenset(f"injection.{name}" for name in ("override", "exfiltrate", "secrecy", "memory_order"))
_SPOKEN_TO = frozenset({"MACHINE", "VOCATIVE", "IF_AI", "READS"})
_PURPOSES = frozenset(f"injection.{name}" for name in ("override", "leak", "persona", "exfiltrate"))
_WISHES = ORDERS | {"injection.memory_order"}
# Only evidence within this distance adds up.
NEAR_CHARS = 1_500
# Weights of orders in a part that a page hides from view, and of those to an assistant in a page's comment.
STYLED_AWAY, COMMENTED = 0.65, 0.55
# Minimum weight of an order in a hidden part.
LEAST_HIDDEN = 0.2


def find_injection(text: str) -> tuple[float, list[Reason]]:
    """Return the probability (0..1) that `text` is an attack, and the evidence, strongest first.

    The speaker doesn't matter: a document or a system's turn is no safer than a user's words. The time is linear.
    """
    plain = unveil(text)
    reasons = _evidence_in(text, plain)
    shown = _total(reasons)
    for label, said, span in undisguise(text, plain.text):
        # A whole text that was rewritten repeats what can be read without rewriting, so only a stronger result counts.
        if (inner := _inner(said)) >= SUSPECTED and (inner > shown or span != (0, len(text))):
            says = f"What its {label} say{'' if label.endswith('s') else 's'} tries to steer the reader."
            reasons.append(Reason("injection.encoded", says, round(max(inner, ENCODED), 3), (span,)))
    if (hidden := decode_tags(text)) and (inner := _inner(hidden)) >= SUSPECTED:
        says = "What its tag characters say tries to steer the reader."
        reasons.append(Reason("injection.encoded", says, round(max(inner, ENCODED), 3)))
    reasons.extend(_unseen(text))
    reasons.sort(key=lambda reason: -reason.score)
    return _total(reasons), reasons


def _inner(text: str) -> float:
    return _total(_evidence_in(text, unveil(text)))


def _unseen(text: str) -> list[Reason]:
    """Return the strongest order in the parts that markup hides, as a list of at most one reason."""
    found = []
    for said, span, styled in unseen_parts(text):
        plain = unveil(said)
        meanings = {name for clause in read_clauses(plain.text) for name in clause.meanings}
        ordered = any(name.startswith("!") for name in meanings)
        spoken_to = not meanings.isdisjoint(_SPOKEN_TO)
        inner = _total(_evidence_in(said, plain))
        if inner >= LEAST_HIDDEN or (ordered and (styled or spoken_to)):
            says = "A part of it that a reader does not see gives orders."
            found.append(Reason("injection.unseen", says, STYLED_AWAY if styled else COMMENTED, (span,)))
    return sorted(found, key=lambda reason: -reason.score)[:1]


def _total(reasons: Iterable[Reason]) -> float:
    """Combine the weights of reasons that are close together, counting each rule once; return the highest such sum."""
    ordered = sorted(reasons, key=lambda reason: reason.spans[0][0] if reason.spans else 0)
    placed = [(reason.spans[0][0] if reason.spans else None, reason) for reason in ordered]
    most = 0.0
    for place, _ in placed:
        weights: dict[str, float] = {}
        for other, reason in placed:
            if place is None or other is None or abs(other - place) <= NEAR_CHARS:
                weights[reason.rule] = max(weights.get(reason.rule, 0.0), reason.score)
        most = max(most, together(weights.values()))
    return most


def _evidence_in(original: str, plain: Plain) -> list[Reason]:
    words = set(_WORD.findall(plain.text))
    chinese = _CHINESE.search(plain.text) is not None and _CHINESE_TRIGGER.search(plain.text) is not None
    reasons: list[Reason] = []
    talk = _TALK.match(plain.text) is not None
    for evidence in (*INJECTION, *POISONING, *SPOOFS):
        if (not chinese and evidence.words.isdisjoint(words)) or (talk and evidence.rule == "injection.turns"):
            continue
        reasons.extend(_strongest(evidence, plain, words, chinese=chinese))
    orders = [reason for reason in reasons if reason.rule in ORDERS]
    if orders:
        for evidence in STRENGTHENING:
            reasons.extend(_strongest(evidence, plain, words, chinese=chinese))
        named = next((reason for reason in orders if beneficiary_after(original, *reason.spans[0])), None)
        if named is not None:
            reasons.append(Reason("injection.beneficiary", "It names who is to gain.", BENEFICIARY, named.spans))
    known = {reason.rule: reason.score for reason in reasons}
    for order in find_orders(plain.text):
        if order.weight > known.get(order.rule, 0.0):
            reasons.append(Reason(order.rule, order.says, round(order.weight, 3), (plain.span(*order.span),)))
    return reasons


def _strongest(evidence: Evidence, plain: Plain, words: set[str], *, chinese: bool) -> list[Reason]:
    """Return the match of `evidence` that weighs most, so that a harmless one can't hide an attack; [] if none."""
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
    if (about_attacks and is_quoted(plain.text, *match.span())) or is_told_of(plain.text, *match.span()):
        weight *= QUOTED_SHARE
    if _is_own(evidence, plain.text, match):
        weight *= OWN_SHARE
    elif _is_no_order(
        evidence, plain.text[max(0, match.start() - _BEFORE) : match.start()], about_attacks=about_attacks
    ):
        weight *= QUOTED_SHARE
    return Reason(evidence.rule, evidence.says, round(weight, 3), (plain.span(*match.span()),))


def _is_no_order(evidence: Evidence, before: str, *, about_attacks: bool) -> bool:
    """Tell whether the words before a match forbid it, or report that one person makes another do it."""
    if evidence.rule in _PURPOSES and (_FORBIDDEN.search(before) or _TOLD_ANOTHER.search(before)):
        return True
    if evidence.rule == "injection.secrecy" and _THIRD.search(before):
        return True
    return about_attacks and _REPORTED.search(before) is not None


def _is_own(evidence: Evidence, text: str, match: re.Match[str]) -> bool:
    if evidence.rule not in _OWNED | ORDERS | _PURPOSES:
        return False
    if _OWN.search(match[0]) or _OWN_WORDS.match(text, match.end()):
        return True
    if evidence.rule in _PURPOSES and _PURPOSE.search(text[max(0, match.start() - _BEFORE) : match.start()]):
        return True
    if evidence.rule in _OWNED and _OWN_DEED.search(text[max(0, match.start() - _BEFORE) : match.start()]):
        return True
    rest = _SENTENCE_REST.match(text, match.end())
    return evidence.rule in _WISHES and rest is not None and _OWN_WISH.search(rest[0]) is not None
