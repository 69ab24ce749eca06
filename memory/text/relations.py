"""Finds relations between the names in a text: who works where, who is whose sister, and which names mean the same.

Names are replaced by single characters from a range for each kind, so that a pattern can ask for a person or a place
(the pattern method of Hearst 1992). The patterns are few and narrow. Questions and conditions state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.enums import EntityKind, Predicate
from memory.text.chinese_names import KINSHIP as CHINESE_KINSHIP
from memory.text.names import NameMatch, initials, is_wide, name_key
from memory.text.sentences import is_question, sentence_ends

# Stands for the speaker as the subject or object of a relation, who may have no name.
SPEAKER = -1


class RelationMatch(NamedTuple):
    """A relation; `subject` and `object` are indexes in the list of names, or `SPEAKER`.

    `ended` means that it no longer holds.
    """

    subject: int
    predicate: Predicate
    object: int
    detail: str
    ended: bool


class Alias(NamedTuple):
    """Two names of the same entity, as indexes in the list of names; `other` may be `SPEAKER`."""

    name: int
    other: int


_KINDS = list(EntityKind)
_RANGE = 0x400
_FIRST = 0xE000


def _sign(kind: EntityKind) -> str:
    first = _FIRST + _KINDS.index(kind) * _RANGE
    return f"[{chr(first)}-{chr(first + _RANGE - 1)}]"


_P, _L, _O, _J, _T = map(_sign, _KINDS)
_X = f"[{chr(_FIRST)}-{chr(_FIRST + len(_KINDS) * _RANGE - 1)}]"
_NAME = re.compile(_X)

_WHO = rf"(?P<s>{_P}|\bI\b)"
_NOW = (
    r"(?:['’](?:m|s|ve)| am| is| was| have| has| had| been| currently| now| still| also| just| recently| actually"
    r"| really| absolutely)*"
)
_ONCE = r"(?P<ended> used to| no longer)?"
_KIN_ENGLISH = {
    Predicate.FAMILY: "wife husband sister brother sibling mother father mom mum dad son daughter partner spouse "
    "fiance fiancee cousin nephew niece grandmother grandfather grandma grandpa grandson granddaughter girlfriend "
    "boyfriend aunt uncle",
    Predicate.FRIEND_OF: "friend bestie buddy pal roommate flatmate neighbor neighbour classmate",
    Predicate.COLLEAGUE_OF: "colleague coworker co-worker teammate boss mentor supervisor manager",
}
_KIN = {word: predicate for predicate, words in _KIN_ENGLISH.items() for word in words.split()} | {
    word: Predicate(predicate) for predicate, words in CHINESE_KINSHIP.items() for word in words
}
_KIN_WORD = "|".join(sorted((word for word in _KIN if word.isascii()), key=len, reverse=True))
_KIN_HAN = "|".join(sorted((word for word in _KIN if not word.isascii()), key=len, reverse=True))
_PET = "dog|cat|puppy|pup|kitten|pet|horse|hamster|rabbit|bunny|parrot|turtle"
_ICH = rf"(?P<s>{_P}|我(?!们|的))"
_ZH_NOW = "(?:现在|目前|一直|已经|最近|今年|去年|也|还|就|又|刚|正)*"
_ZH_ONCE = "(?P<ended>以前|之前|曾经?|原来)?"

_PATTERNS: list[tuple[Predicate | None, re.Pattern[str]]] = [
    (predicate, re.compile(pattern))
    for predicate, pattern in (
        (
            Predicate.WORKS_AT,
            rf"{_WHO}{_NOW}{_ONCE} (?:(?:work|intern)(?:s|ing)?|(?P<ended_2>worked|interned)|got (?:a|the"
            rf"|my) (?:\w+ )?job"
            rf"|start(?:ed|ing) (?:a|my) (?:new )?job|employed)(?: \w+){{0,3}}? (?:at|for|with) (?:the )?(?P<o>{_O})",
        ),
        (
            Predicate.WORKS_AT,
            rf"{_WHO}{_NOW}(?P<ended> (?:quit|left|resigned from|lost|laid off from))(?: my job at| the job at)? "
            rf"(?:the )?(?P<o>{_O})",
        ),
        (
            Predicate.STUDIES_AT,
            rf"{_WHO}{_NOW}{_ONCE} (?:stud(?:y|ies|ying)|enrolled|a student|(?P<ended_2>studied"
            rf"|graduated))(?: \w+){{0,4}}? "
            rf"(?:at|from) (?:the )?(?P<o>{_O})",
        ),
        (
            Predicate.LIVES_IN,
            rf"{_WHO}{_NOW}{_ONCE} (?:lives?|living|(?P<ended_2>lived)|settled|based|resides?)(?: \w+)?? (?:in"
            rf"|near) (?:the )?"
            rf"(?P<o>{_L})",
        ),
        (
            Predicate.LIVES_IN,
            rf"{_WHO}{_NOW} (?:moved|relocated)(?: back| here| over| out)?(?: from {_X})? to (?:the )?(?P<o>{_L})",
        ),
        (
            Predicate.COMES_FROM,
            rf"{_WHO}{_NOW} (?:(?:originally )?from|comes? from|born (?:and raised )?in"
            rf"|grew up in) (?:the )?(?P<o>{_L})",
        ),
        (Predicate.COMES_FROM, rf"\b[Mm]y (?:home ?town|home country|native country),? (?:is )?(?P<o>{_L})"),
        (
            Predicate.MEMBER_OF,
            rf"{_WHO}{_NOW}{_ONCE} (?:joined|a member of|volunteer(?:s|ed|ing)? (?:at|for|with)) (?:the )?(?P<o>{_O})",
        ),
        (
            Predicate.WORKS_ON,
            rf"{_WHO}{_NOW}{_ONCE} (?:work(?:s|ing)? on|lead(?:s|ing)?|manag(?:es|ing)) (?:the |my |a )?(?P<o>{_J})",
        ),
        (
            None,
            rf"(?:\b[Mm]y|(?P<s>{_P})['’]s)(?: \w+)? (?P<detail>{_KIN_WORD}),?(?:['’]s name is| is| was| named"
            rf"| called)?"
            rf" (?P<o>{_P})",
        ),
        (None, rf"(?P<o>{_P})(?:,| is| was) (?:my|(?P<s>{_P})['’]s)(?: \w+)? (?P<detail>{_KIN_WORD})\b"),
        (
            Predicate.OWNS,
            rf"(?:\b[Mm]y|\bI{_NOW} (?:have|got|adopted) an?|(?P<s>{_P})['’]s)(?: \w+)? (?P<detail>{_PET}),?"
            rf"(?:['’]s name is| is| named| called)? (?P<o>{_T})",
        ),
        (
            Predicate.PART_OF,
            rf"(?P<s>{_L})(?:,| is) (?:a|an|the)(?: \w+)? (?:city|town|village|district|neighbou?rhood|suburb|part"
            rf"|region"
            rf"|state|capital) (?:in|of) (?:the )?(?P<o>{_L})",
        ),
        (
            Predicate.PART_OF,
            rf"(?P<s>{_O})(?:,| is) (?:a|the) (?:subsidiary|division|department|part|branch) of (?:the )?(?P<o>{_O})",
        ),
        (
            Predicate.LIKES,
            rf"{_WHO}{_NOW} (?:loves?|likes?|enjoys?|adores?|prefers?|a (?:huge |big )?fan of)"
            rf"(?: reading| watching| playing| listening to| visiting)? [\"“]?(?:the )?(?P<o>{_T}|{_L}|{_O})",
        ),
        (Predicate.LIKES, rf"\b[Mm]y (?:all-time )?favou?rite (?:\w+ )?(?:is|was) (?:called )?[\"“]?(?P<o>{_T}|{_L})"),
        (Predicate.WORKS_AT, rf"{_ICH}{_ZH_NOW}{_ZH_ONCE}在(?P<o>{_O})(?:工作|上班|任职|实习|当|做|担任)"),
        (Predicate.WORKS_AT, rf"{_ICH}{_ZH_NOW}(?:入职|就职于|任职于|供职于|跳槽到)了?(?P<o>{_O})"),
        (Predicate.WORKS_AT, rf"{_ICH}{_ZH_NOW}(?P<ended>从)(?P<o>{_O})(?:离职|辞职|退休)"),
        (Predicate.MEMBER_OF, rf"{_ICH}{_ZH_NOW}(?:加入|参加)了?(?P<o>{_O})"),
        (Predicate.STUDIES_AT, rf"{_ICH}{_ZH_NOW}{_ZH_ONCE}在(?P<o>{_O})(?:读书|上学|念书|学习|读|上课)"),
        (Predicate.STUDIES_AT, rf"{_ICH}{_ZH_NOW}(?:(?P<ended>毕业于)|就读于|考上|考入)了?(?P<o>{_O})"),
        (
            Predicate.LIVES_IN,
            rf"{_ICH}{_ZH_NOW}{_ZH_ONCE}(?:住在|搬到|搬去|搬来|定居在?|居住在|生活在)了?(?P<o>{_L})",
        ),
        (Predicate.COMES_FROM, rf"{_ICH}{_ZH_NOW}(?:来自|出生在|出生于|的?老家[是在])(?P<o>{_L})"),
        (Predicate.COMES_FROM, rf"{_ICH}是(?P<o>{_L})人"),
        (Predicate.WORKS_ON, rf"{_ICH}{_ZH_NOW}(?:负责|在做)(?P<o>{_J})"),
        (None, rf"(?:我的?|(?P<s>{_P})的)(?P<detail>{_KIN_HAN})(?:叫|名叫|是)?(?P<o>{_P})"),
        (None, rf"(?P<o>{_P})是(?:我的?|(?P<s>{_P})的)(?P<detail>{_KIN_HAN})"),
        (
            Predicate.LIKES,
            rf"{_ICH}(?:很|最|特别|非常|也|一直|真的)*(?:喜欢|喜爱|爱)(?:看|听|玩|读|吃|去)?[《“]?(?P<o>{_T}|{_L})",
        ),
    )
]
_CONDITION = re.compile(
    r"\b(?:if|unless|wish|would|imagine|suppose|whether|pretend)\b[^.;]{0,40}$|(?:如果|要是|假如|万一)[^，。]*$", re.I
)

_ALIASES = [
    re.compile(
        rf"\b(?:[Cc]all me|calls me|[Mm]y (?:English |Chinese |first |full )?name(?:['’]s| is)|I go by|I am called) "
        rf"(?P<o>{_P})"
    ),
    re.compile(rf"(?:叫我|我叫|我的名字[是叫]|大家都?叫我)(?P<o>{_P})"),
    re.compile(rf"(?:(?P<s>{_P})，?(?:的|她的?|他的?)?|我的?|^|，)英文名字?[是叫为：:]?\s*(?P<o>{_P})"),
    re.compile(
        rf"(?P<s>{_X}),? [(]?(?:also known as|a\.k\.a\.|aka|better known as|short for|nicknamed"
        rf"|who goes by) (?P<o>{_X})"
    ),
    re.compile(rf"(?P<s>{_X})[》」]?(?:，)?(?:又称|又叫|简称|也叫|又名|别名)[《「]?(?P<o>{_X})"),
]
_BRACKETED = re.compile(rf"(?P<s>{_X})[》”\"]? ?[(（](?P<o>{_X})[)）]")


def find_relations(text: str, found: Sequence[NameMatch]) -> list[RelationMatch]:
    """Return the relations that the sentences of `text` state between their names, without repeats."""
    stated: dict[tuple[int, Predicate, int], RelationMatch] = {}
    for sentence in _sign_sentences(text, found):
        if is_question(sentence):
            continue
        for predicate, pattern in _PATTERNS:
            for match in pattern.finditer(sentence):
                if _CONDITION.search(sentence[: match.start()]):
                    continue
                groups = match.groupdict()
                detail = (groups.get("detail") or "").lower()
                meant = predicate or _KIN[detail]
                subject, object_ = _index(groups.get("s"), found), _index(groups["o"], found)
                ended = any(value for name, value in groups.items() if name.startswith("ended"))
                if subject != object_:
                    stated.setdefault((subject, meant, object_), RelationMatch(subject, meant, object_, detail, ended))
    return list(stated.values())


def find_aliases(text: str, found: Sequence[NameMatch]) -> list[Alias]:
    """Return the names that `text` says mean the same entity; two full names of people never do."""
    aliases: list[Alias] = []
    for sentence in _sign_sentences(text, found):
        for pattern in _ALIASES:
            for match in pattern.finditer(sentence):
                aliases.append(Alias(_index(match.group("o"), found), _index(match.groupdict().get("s"), found)))
        for match in _BRACKETED.finditer(sentence):
            alias = Alias(_index(match.group("o"), found), _index(match.group("s"), found))
            one, other = found[alias.name].name, found[alias.other].name
            if is_wide(one) != is_wide(other) or initials(name_key(other)) == name_key(one):
                aliases.append(alias)
    return [alias for alias in dict.fromkeys(aliases) if _may_be_one(alias, found)]


def _may_be_one(alias: Alias, found: Sequence[NameMatch]) -> bool:
    if alias.name in (alias.other, SPEAKER):
        return False
    if alias.other == SPEAKER:
        return True
    one, other = found[alias.name], found[alias.other]
    full = one.kind == other.kind == EntityKind.PERSON and " " in one.name.strip() and " " in other.name.strip()
    return name_key(one.name) != name_key(other.name) and not (full and is_wide(one.name) == is_wide(other.name))


def _sign_sentences(text: str, found: Sequence[NameMatch]) -> Iterator[str]:
    """Yield the sentences that contain names, with each name replaced by its character."""
    parts: list[str] = []
    ends = {*sentence_ends(text), *(match.end() for match in re.finditer("\n", text)), len(text)}
    at = 0
    named = [(item, index) for index, item in enumerate(found[:_RANGE]) if item.end > item.start]
    waiting = iter(named)
    upcoming = next(waiting, None)
    for end in sorted(ends):
        while upcoming is not None and upcoming[0].end <= end:
            item, index = upcoming
            parts.append(text[at : item.start])
            parts.append(chr(_FIRST + _KINDS.index(item.kind) * _RANGE + index))
            at = item.end
            upcoming = next(waiting, None)
        if upcoming is None or upcoming[0].start >= end:
            sentence = "".join([*parts, text[at:end]])
            at, parts = end, []
            if _NAME.search(sentence):
                yield sentence


def _index(sign: str | None, found: Sequence[NameMatch]) -> int:
    """Return the index in `found` of a name's character; `SPEAKER` for a pronoun and for None."""
    if sign is None or not _NAME.fullmatch(sign):
        return SPEAKER
    return (ord(sign) - _FIRST) % _RANGE
