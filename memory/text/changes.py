"""Finds what a sentence says has changed: taken back, over, or replaced by something else. English and Chinese.

A change names what is no longer so (`old`) and, when something takes its place, what is so now (`new`). Cues are
closed-class phrases and verbs of change, no topics. Sentences are of bounded length (see `split_sentences`), so the
time of the patterns is bounded too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.enums import ChangeKind
from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms

# A quotation is one thing, whatever marks stand inside it.
_QUOTED = r"\"[^\"]{2,240}\"|“[^”]{2,240}”|「[^」]{2,240}」|《[^》]{2,240}》|'.{2,240}?'(?=[\s.,;:!?]|$)"
_WORDS = r"(?:[^,;:!?，。；：！？\"“]|,(?=\d))"
_THING = rf"(?:(?:(?!(?:from|off)\b)[\w-]+\s+){{0,6}}(?:{_QUOTED})|{_WORDS}{{1,120}}?)"
_END = (
    r"(?:(?<=[\"”」》'])(?=\s)|(?=\s*(?:,(?!\d)|[;:!?，。；：！？]|\.(?:\s|$)"
    r"|\s(?:but|because|since|so|and (?:i|we|it|that)|as (?:i|we|it))\b|$)))"
)
_I = r"(?:i|we|he|she|they)"
_SOFTLY = r"(?:(?:actually|just|also|already|finally|recently|now|really|honestly|simply|all|even|officially)\s+)*"
_ASKED = (
    rf"(?:^\W*(?:(?:yes|ok|okay|actually|also|and|so|then)[,]?\s+)*"
    rf"|\bplease\s+(?:also\s+)?|\b(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:also\s+)?"
    rf"|\byou\s+(?:can|may|should)\s+(?:also\s+)?|\b{_I}(?:'d|\s+would)\s+like\s+(?:you\s+)?to\s+(?:also\s+)?"
    rf"|\b{_I}\s+(?:want|need)\s+(?:you\s+)?to\s+(?:also\s+)?)"
)
# "everything about", "what I told you about": what stands behind it is meant.
_WHAT_IS_KNOWN = (
    r"(?:(?:everything|anything|all(?:\s+that)?|what(?:ever)?)\s+"
    r"(?:(?:i|we|you)(?:'ve)?\s+(?:have\s+)?(?:said|told\s+you|wrote|written|know|heard|have|stored)\s+)?(?:about|of|on)\s+)"
)
_DELETE = r"(?:remove|delete|erase|discard|scrap|drop|strike|forget(?:\s+about)?|take\s+off|cross\s+off)"
_ALTER = (
    r"(?:chang|updat|mov|switch|reschedul|revert|adjust|revis|rais|lower|increas|reduc|correct|cut|push|amend|migrat"
    r"|convert|upgrad|downgrad|extend|shorten|renam|went|shift|transition|relocat|swap)\w*"
)

_ENGLISH: tuple[tuple[ChangeKind, str], ...] = (
    (ChangeKind.REPLACES, rf"\b{_ALTER}\b(?P<what>[^.;!?]{{0,100}}?)\bfrom\s+"
        rf"(?P<old>{_THING})\s+to\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\b{_ALTER}\b(?P<what>[^.;!?]{{0,100}}?)\bto\s+"
        rf"(?P<new>{_THING})\s+from\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\breplac\w+\s+(?P<old>{_THING})\s+(?:with|by)\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\bswapp?\w*\s+(?P<old>{_THING})\s+for\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"(?P<new>{_THING})[,]?\s+(?:instead\s+of|rather\s+than"
        rf"|in\s+place\s+of)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\b(?:is|are|it's|was)\s+not\s+(?P<old>{_THING})[,]?\s+(?:but|it's"
        rf"|it\s+is)\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"(?P<old>{_THING})\s+(?:(?:has|have)\s+been|was|were|is|are|got"
        rf"|gets)\s+(?:now\s+)?(?:rescheduled|postponed|moved|pushed(?:\s+back)?|brought\s+forward|changed"
        rf"|updated|extended|shifted|delayed|renamed)\s+(?:to|until|till)\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\b(?:rescheduled?|postponed?|moved?|pushed?|changed?|updated?|shifted"
        rf"|renamed?)\s+(?P<old>(?:the|my|our)\s+[^,;:!?]{{1,80}}?)\s+to\s+(?P<new>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\bchanged\s+(?:my|our)\s+minds?\s+(?:about|on)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"{_ASKED}{_DELETE}\s+{_WHAT_IS_KNOWN}?(?P<old>{_THING})(?:\s+(?:from|off"
        rf"|out\s+of)\s+(?P<what>{_THING}))?{_END}"),
    (ChangeKind.RETRACTS, rf"{_ASKED}(?:take|cross)\s+(?P<old>{_THING})\s+(?:off|out\s+of"
        rf"|from)\s+(?P<what>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"\b(?:no\s+longer|not\s+anymore)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"\b(?:not|no|\w+n't)\s+(?P<old>{_THING}),?\s+any\s?(?:more|longer)\b"),
    (ChangeKind.RETRACTS, rf"\bno\s+more\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"(?P<old>{_THING})\s+(?:\w+\s+)?(?:\w+n't|not)\s+[^,;!?]{{1,60}}?\s*\bany\s?more\b"),
    (ChangeKind.RETRACTS, rf"\b(?:gone|went|going)\s+off\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"\b(?:grown\s+out\s+of|outgrown|lost\s+(?:all\s+)?interest\s+in|moved\s+on\s+from"
        rf"|(?:tired|bored|sick)\s+of|fallen\s+out\s+(?:of\s+love\s+)?with)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.RETRACTS, rf"\b(?:what\s+i\s+(?:said|told\s+you|wrote)|the\s+(?:bit|part|thing|info(?:rmation)?))\s+about\s+"
        rf"(?P<old>{_THING})\s+(?:was|is)\s+(?:all\s+)?(?:wrong|nonsense|outdated|out\s+of\s+date|incorrect|not\s+true)\b"),
    (ChangeKind.RETRACTS, rf"(?:{_ASKED}|[,;:–—-]\s+)(?:ignore|disregard|scratch|forget)\s+(?:what\s+i\s+(?:said|told\s+you|wrote)|the\s+(?:bit|part|thing))\s+about\s+"
        rf"(?P<old>{_THING}){_END}"),
    (ChangeKind.REPLACES, rf"\b{_I}(?:'ve|\s+have)?\s+{_SOFTLY}(?:sold|gave\s+away|given\s+away|got\s+rid\s+of|gotten\s+rid\s+of|returned"
        rf"|unsubscribed\s+from|resigned\s+from|retired\s+from|cancelled\s+my|canceled\s+my|moved\s+out\s+of|moved\s+away\s+from|broke\s+up\s+with|split\s+up\s+with)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"\b{_I}(?:'ve|\s+have)?\s+{_SOFTLY}(?:stopped|quit|gave\s+up(?:\s+on)?"
        rf"|given\s+up(?:\s+on)?|dropped\s+out\s+of|left)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"\b(?:can't|cannot"
        rf"|won't)\s+(?:be\s+able\s+to\s+)?make\s+it\s+to\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"\b(?:cancel(?:l?ed)?|called\s+off|call\s+off)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"(?P<old>{_THING})\s+(?:is|are|was|were|has\s+been|have\s+been"
        rf"|got)\s+(?:now\s+)?(?:cancel(?:l)?ed|called\s+off|scrapped)\b"),
    (ChangeKind.CLOSES, rf"\b{_I}(?:'ve|\s+have)?\s+{_SOFTLY}(?:finish(?:ed)?|complet(?:ed)?|wrapp?(?:ed)?\s+up"
        rf"|(?:took|taken)\s+care\s+of|got\s+around\s+to|checked\s+off|(?:got|am|was|are)\s+done\s+with"
        rf"|been\s+able\s+to|was\s+able\s+to)\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"\b{_I}(?:'m|'re|'s)\s+{_SOFTLY}done\s+with\s+(?P<old>{_THING}){_END}"),
    (ChangeKind.CLOSES, rf"(?P<old>{_THING})\s+(?:is|are|has\s+been|have\s+been|was)\s+(?:now\s+|all\s+"
        rf"|already\s+)?(?:done|completed?|finished|taken\s+care\s+of|off\s+my\s+list)\b"),
)  # fmt: skip
_CHINESE: tuple[tuple[ChangeKind, str], ...] = (
    (ChangeKind.REPLACES, r"从(?P<old>[^，。；！？]{1,40}?)(?:改成|改为|改到|换成|换到|变成|调整为|调整到|搬到"
        r"|转到|升级到|推迟到|提前到)了?(?P<new>[^，。；！？]{1,40})"),
    (ChangeKind.REPLACES, r"(?:把|将)?(?P<old>[^，。；！？]{1,40}?)(?:被)?(?:改成|改为|改到|换成|换到|变成|调整为"
        r"|推迟到|提前到|延期到)了?(?P<new>[^，。；！？]{1,40})"),
    (ChangeKind.REPLACES, r"(?P<new>[^，。；！？]{1,40})[，]?(?:而不是|而非|代替)(?P<old>[^，。；！？]{1,40})"),
    (ChangeKind.REPLACES, r"不是(?P<old>[^，。；！？]{1,30})[，]?(?:而是|，?是)(?P<new>[^，。；！？]{1,40})"),
    (ChangeKind.RETRACTS, r"(?:请|麻烦|帮我|你可以|可以)?(?:把"
        r"|将)(?P<old>[^，。；！？]{1,40}?)(?:从(?P<what>[^，。；！？]{1,30}?)(?:里|中|上)?)?(?:删除|删掉|去掉"
        r"|移除|划掉|忘掉|忘了|取消)"),
    (ChangeKind.RETRACTS, r"(?:请|麻烦|帮我|你可以|^)(?:从(?P<what>[^，。；！？]{1,30}?)(?:里|中|上)?)?(?:删除"
        r"|删掉|去掉|移除|划掉|忘掉|忘记)(?P<old>[^，。；！？]{1,40})"),
    (ChangeKind.RETRACTS, r"(?:不再|再也不)(?:需要)?(?P<old>[^，。；！？]{1,40})"),
    (ChangeKind.RETRACTS, r"(?<!再也)不(?P<old>(?:用|想|喜欢|爱|需要|打算|住|在|去|吃"
        r"|喝)[^，。；！？]{1,30}?)了(?=[，。；！？]|$)"),
    (ChangeKind.RETRACTS, r"(?:^|[，。；])(?P<old>[^，。；！？]{2,30}?)(?:是?我|我们)?(?:之前|刚才|上次|那天)?(?:说|记|写|讲)错了"),
    (ChangeKind.REPLACES, r"(?:把|将)?(?P<old>[^，。；！？]{2,20}?)(?:我|我们)?(?:已经|已|刚|也|都)?(?:给)?(?:退|卖|注销|退订|送人|扔|退租|转让)(?:了|掉了?)(?=[，。；！？]|$)"),
    (ChangeKind.CLOSES, r"(?:取消|放弃|戒|停止)了?(?P<old>[^，。；！？]{1,30})"),
    (ChangeKind.CLOSES, r"(?P<old>[^，。；！？]{1,30}?)(?:已经|已)?取消了"),
    (ChangeKind.CLOSES, r"(?:我|我们)(?:已经|已|刚|刚刚|终于)?(?:完成|做完|办完|搞定|处理完"
        r"|弄完)了?(?P<old>[^，。；！？]{1,40})"),
    (ChangeKind.CLOSES, r"(?P<old>[^，。；！？]{2,30}?)(?:已经|已|都)(?:完成|做完|办完|搞定|处理完|弄完)了?"),
)  # fmt: skip
_RULES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in (*_ENGLISH, *_CHINESE))

# "Used to" opens a contrast: what follows tells whether something new takes the place.
_FORMERLY = re.compile(
    rf"\b{_I}\s+{_SOFTLY}(?:used\s+to|once|formerly|previously)\s+(?P<old>[^,;!?]{{1,120}}?)"
    r"(?P<rest>\s*(?:[,;.!]|\bbut\b|\band\s+now\b).*)?$"
    r"|(?:以前|之前|曾经|原来|原先|本来)(?P<zh_old>[^，。；！？]{1,40})(?P<zh_rest>[，。；！].*)?$",
    re.IGNORECASE,
)
# To the end of its clause, so that what begins is looked for outside it.
_CEASED = re.compile(
    r"(?:n't\b|\b(?:not|no\s+longer|any\s?more|(?:gone|went|going)\s+off|out\s+of|moved\s+on|less|lost\s+interest"
    r"|stopped"
    r"|quit|too)\b)[^,;.!?]*|(?:现在|如今|最近)?[不没][^，；。！？]*",
    re.IGNORECASE,
)
_BEGUN = re.compile(
    r"\b(?:grown\s+to|come\s+to|came\s+to|started|drawn|prefer\w*|into|enjoy\w*|lov\w+|lik(?:e|es|ing)|dislike\w*"
    r"|keen|changed\s+my\s+mind)\b"
    r"|更|改|反而|喜欢|讨厌",
    re.IGNORECASE,
)
_NOWADAYS = re.compile(r"\b(?:now|lately|these\s+days|nowadays|recently|instead)\b|现在|如今|最近", re.IGNORECASE)
_NOT_MEANT = re.compile(
    r"\b(?:don't|do\s+not|never|won't|can't|didn't|couldn't|not)\s+(?:to\s+)?(?:forget|remove|delete|drop)\b"
    r"|\b(?:trying|try|planning|thinking|hoping|wondering|tempted|aiming|aim|hope)\s+(?:to|of|about|if|whether)\b|\b(?:considering"
    r"|exploring|might|whether)\b"
    r"|别忘|不要忘|不会忘|忘不了|\bif\s+(?:i|we|you)\b|\bhow\s+(?:do|can|to|should)\b|\bshould\s+(?:i|we)\b"
    r"|如果|怎么|如何|要不要",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:need(?:ing)?|want(?:ing)?|have|having|trying|planning|plan|going|able)\s+to\s+)?(?:be\s+)?"
    r"(?:track(?:ing)?|keep(?:ing)?\s+track\s+of)?\s*",
    re.IGNORECASE,
)
# What is asked to be forgotten is behind "what I said about" and before "that matter".
_ZH_ABOUT = re.compile(
    r"^(?:(?:我|我们)?(?:之前|刚才|上次|以前)?(?:跟你|对你|和你)?(?:说过?|提到?过?|讲过?|告诉你)的)?(?:关于|有关)?"
)
_ZH_MATTER = re.compile(r"(?:的(?:事情?|信息|内容|记录|消息)|这件?事情?|那件?事情?)$")
_TRAILING = re.compile(
    r"(?:\s+(?:at\s+all|lately|now|either|too|as\s+well|for\s+now|for\s+good|for\s+(?:me|us)|completely|altogether|entirely|yesterday|today|recently|last\s+\w+"
    r"|(?:on\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:a|an|two|three|four|five|six|\d+)\s+\w+\s+ago"
    r"|in\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d)))+$",
    re.IGNORECASE,
)
_GENERAL = frozenset(
    terms(
        "some any something anything everything all information info detail thing item entry piece point part stuff"
        " lot bit one really actually just honestly quite very much always idea kind sort way think thought"
        " feel like love enjoy prefer hate dislike fan big huge into keen"
        " need want plan planning going track tracking list task back"
    )
)
# "The 1980s" are "the 80s".
_DECADE = re.compile(r"\b(?:19|20)(?=\d0s\b)")
# What a phrase means that only points back is known from what stands before it.
_ANAPHORA = re.compile(
    r"\b(?:everything|something|anything)\b|^(?:(?:but|and)\s+)?(?:his|her|their|its|that|this|these|those)\s+\w+$"
    r"|\b(?:me|it|them|him|her|us)(?:\s+(?:as|so|very)?\s*much)?$",
    re.IGNORECASE,
)
# "Update the list to include …" adds.
_ADDITION = re.compile(
    r"^(?:also\s+)?(?:include|reflect|add|contain|cover|mention|show)\b|^(?:包括|包含|加入|增加)", re.IGNORECASE
)
_CODE = re.compile(r"[{}<>\\]|\w\(|\(\)|\w\[|[=;|]\s*$|\s==?\s|^\s*[#@*|/]|::|`|\b[A-Z]{3,}\s+/|_\w+_")
_INSIDE = re.compile(r"[\"“「《]([^\"”」》]{2,240})|(?:^|\s)'(.{2,240})$")
_REQUEST = re.compile(
    r"\b(?:remove|delete|erase|discard|scrap|drop|strike|forget|disregard|ignore|scratch|take|cross)\b|删|去掉|移除|划掉|忘|取消|说错|记错",
    re.IGNORECASE,
)
_MARKS = " \t\"'“”‘’「」《》()（）.,"


@dataclass(frozen=True, slots=True)
class Change:
    """`old` is no longer so; `new` takes its place ("" when nothing does). `what`: the thing that it is changed in.

    `cue`: the words that say so. `request`: it asks to forget, and says nothing itself. Parts are quoted from the
    sentence without marks around them.
    """

    kind: ChangeKind
    old: str
    new: str
    what: str
    cue: str
    request: bool = False


def changes(sentence: str) -> list[Change]:
    """What `sentence` says has changed, surest first; a question, a condition, a reminder or a plan says nothing."""
    # White space of one kind and length: long runs of it would cost the patterns minutes.
    return list(_changes(" ".join(sentence.replace("’", "'").replace("‘", "'").split())))


# What settles a memory asks for the same sentences over and over.
@lru_cache(maxsize=1024)
def _changes(plain: str) -> tuple[Change, ...]:
    if plain.endswith(("?", "？")) or _NOT_MEANT.search(plain) or not is_prose(plain):
        return ()
    found = [*_formerly(plain)]
    for kind, rule in _RULES:
        match = rule.search(plain)
        if match is None:
            continue
        groups = match.groupdict()
        change = _change(kind, groups.get("old"), groups.get("new"), groups.get("what"), match.group())
        if change and not any(change.old in other.cue or other.old in change.cue for other in found):
            found.append(change)
    # "I have done it, so take it off my list": what is over is taken back, too.
    if any(one.kind is ChangeKind.RETRACTS and not object_terms(one.old) for one in found):
        found = [replace(one, kind=ChangeKind.RETRACTS) if one.kind is ChangeKind.CLOSES else one for one in found]
    return tuple(found)


def is_prose(sentence: str) -> bool:
    """Whether `sentence` is said and not a piece of code or data."""
    return _CODE.search(sentence) is None


def object_terms(phrase: str) -> frozenset[str]:
    """The index terms by which the thing of a change is known again; none for "it", "his style", "some information"."""
    return frozenset() if _ANAPHORA.search(phrase) else own_terms(phrase)


def own_terms(text: str) -> frozenset[str]:
    """The index terms of `text` without those of general words ("really", "thing", "like")."""
    found = frozenset(terms(_DECADE.sub("", text))) - _GENERAL
    # Two Chinese characters of which one is of the grammar are no word.
    return frozenset(
        term for term in found if len(term) < 2 or not is_cjk(term[0]) or FUNCTION_CHARACTERS.isdisjoint(term)
    )


def _formerly(plain: str) -> list[Change]:
    match = _FORMERLY.search(plain)
    if match is None:
        return []
    old = match.group("old") or match.group("zh_old")
    rest = match.group("rest") or match.group("zh_rest") or ""
    goes_on = _CEASED.sub(" ", rest)
    begun = _BEGUN.search(goes_on) or (_NOWADAYS.search(goes_on) and object_terms(_NOWADAYS.sub(" ", goes_on)))
    kind = ChangeKind.REPLACES if begun or not _CEASED.search(rest) else ChangeKind.RETRACTS
    change = _change(kind, old, rest if kind is ChangeKind.REPLACES else "", "", match.group())
    return [change] if change else []


def _change(kind: ChangeKind, old: str | None, new: str | None, what: str | None, cue: str) -> Change | None:
    inside = _INSIDE.search((old or "").strip())
    said = next(filter(None, inside.groups())) if inside else old or ""
    bare = _TRAILING.sub("", _LEADING.sub("", said.strip(_MARKS))).strip(_MARKS)
    bare = _ZH_MATTER.sub("", _ZH_ABOUT.sub("", bare)) or bare
    if not bare or (kind is ChangeKind.REPLACES and new and _ADDITION.search(new)):
        return None
    request = kind is ChangeKind.RETRACTS and _REQUEST.search(cue) is not None
    return Change(kind, bare, (new or "").strip(_MARKS), (what or "").strip(_MARKS), cue.strip(), request)
