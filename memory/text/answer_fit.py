"""Recognises by words what a question asks for, and whether a text can be its answer, in English and Chinese.

A vector doesn't distinguish a sister from a brother, Tuesday from Thursday, or "How many?" from "Since when?". These
rules do. They never prove that a text is the answer; they only show that it isn't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memory.text.analysis import cjk_share
from memory.text.timespan import asks_when

_NUMERAL = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|dozen|half|once|twice)\b"
)
# Each kind of answer has two patterns: one for questions that ask for it, one for texts that hold it.
_KINDS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    kind: (re.compile(asks, re.IGNORECASE), re.compile(holds))
    for kind, asks, holds in (
        (
            "time",
            r"\bwhen\b|\b(?:what|which) (?:time|days?|dates?|weekdays?|month|year)\b|\bhow (?:long|often)\b"
            r"|几[点号时月]|哪几?[天日年]|什么时[候间]|何时|多久|多长时间|星期几|周几",
            r"(?i)\d{1,2}(?:[:.]\d\d|st\b|nd\b|rd\b|th\b| ?[ap]m\b)|\b(?:19|20)\d\d\b"
            r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
            r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
            r"|\b(?:spring|summer|autumn|winter|christmas|easter|weeks?|weekends?|months?|years?|days?|hours?|minutes?"
            r"|nights?|yesterday|today|tonight|tomorrow|o'clock|noon|midnight|mornings?|evenings?|afternoons?|since|until"
            r"|ago|half past)\b"
            r"|[周星期礼拜][一二三四五六日天末]|[月号日年点天]|小时|分钟|星期|早上|上午|中午|下午|晚上|凌晨|半夜|春节|中秋|国庆|五一|十一",
        ),
        (
            "number",
            r"\bhow (?:many|much|old|tall|big|far|fast|large|heavy)\b|\bprice\b|多少|多大|多高|多重|多远|年龄|价格"
            r"|几[个位岁次只条张块元楼层斤公]",
            rf"(?i){_NUMERAL}|[一二两三四五六七八九十百千万半双几零]",
        ),
        ("birthday", r"\bbirthdays?\b|生日", r"(?i)\bbirthdays?\b|\bborn\b|\bturn(?:s|ed|ing)?\b|生日|出生|周岁|大寿"),
        (
            "allergy",
            r"\ballerg|过敏",
            r"(?i)\ballerg|intoleran|\b(?:can't|cannot|can not|mustn't) (?:have|eat|take|stand|touch)"
            r"|\b(?:swells?|rash|hives|blisters?|ambulance|sneez\w+)\b|过敏|不能[吃喝碰沾]|起疹|忌口|发痒|肿",
        ),
        ("phone", r"\bphone number|\bnumber to (?:call|ring)\b|电话(?:号码)?是?(?:多少|几)|手机号", r"\d[\d -]{4,}\d"),
        (
            "home",
            r"\bwhere\b.*\blives?\b|住(?:在)?哪|家在哪",
            r"(?i)\bliv(?:e|es|ed|ing)\b|\bmov(?:e|es|ed|ing)\b|\b(?:address|flat|house|apartment|place|home)\b"
            r"|\d+ [a-z]+|\b(?:road|street|row|lane|avenue|square|block)\b|[住搬]|小区|[路街栋楼]",
        ),
        (
            "person",
            r"\bwho(?:se|m)?\b|谁|哪一?位",
            r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+|\bI\b|[叫是][\u4e00-\u9fff]{1,3}|[老小阿][\u4e00-\u9fff]|我"
            r"|[\u4e00-\u9fff](?:医生|老师|师傅|大夫|经理|主任|总|姐|哥|叔|工|教练)",
        ),
        (
            "place",
            r"\bwhere(?:abouts)?\b|\b(?:what|which) (?:address|city|town|place|street|hospital)\b"
            r"|哪[里儿]|什么地方|地址|哪个(?:城市|地方)|哪家",
            r"\b(?:in|at|to|from|near|on|by|under|behind|opposite|above)\s+(?:the\s+|a\s+|our\s+|my\s+)?(?:\d+\s+)?[A-Z]"
            r"|\b(?:in|at|under|behind|opposite|above|inside) (?:the|a|our|my|his|her) (?!end\b|moment\b|week)[a-z]"
            r"|[在去到住][\u4e00-\u9fff]|[路街市区县镇楼号室]",
        ),
        (
            "reason",
            r"\bwhy\b|\breason\b|\bhow come\b|为什么|为啥|为何|怎么会|原因",
            r"(?i)\b(?:because|since|so|as|due|reason|after|otherwise)\b|因为|所以|由于|原因|结果|怕|为了|后来|不然|否则",
        ),
    )
}  # fmt: skip

# Kinds whose recognition is reliable enough to reject a text without them.
_SURE = frozenset(("allergy", "birthday", "home", "phone"))

# Family roles and offices. All words of a line mean the same role.
_KIN: Mapping[str, re.Pattern[str]] = {
    role: re.compile(rf"(?<![\w-])(?:{english})s?(?![\w-])|{chinese}", re.IGNORECASE)
    for role, english, chinese in (
        ("brother", "brother|bro", "哥哥|弟弟|兄弟|[我他她你](?:大|二|三)?[哥弟](?!们)"),
        ("sister", "sister|sis", "姐姐|妹妹|姐妹|[我他她你](?:大|二|三)?[姐妹](?![夫妹])"),
        ("mother", "mother|mum|mom|mummy|mommy", "妈妈?(?!咪)|母亲"),
        ("father", "father|dad|daddy", "爸爸?|父亲"),
        ("wife", "wife|spouse|partner", "妻子|老婆|太太|爱人|媳妇"),
        ("husband", "husband|spouse|partner", "丈夫|老公|爱人"),
        ("partner", "partner|spouse|girlfriend|boyfriend|fianc[eé]e?", "[男女](?:朋)?友|对象|未婚[夫妻]"),
        ("son", "son", "儿子"),
        ("daughter", "daughter", "女儿|闺女"),
        ("grandmother", "grandmother|grandma|granny|gran|nan", "奶奶|外婆|姥姥"),
        ("grandfather", "grandfather|grandpa|grandad|granddad", "爷爷|外公|姥爷"),
        ("uncle", "uncle", "叔叔?|舅舅?|伯伯|姑父|姨夫"),
        ("aunt", "aunt|auntie|aunty", "阿姨|姑姑?|姑妈|姨妈|婶婶?|舅妈"),
        ("cousin", "cousin", "[表堂](?:哥|姐|弟|妹|兄)"),
        ("nephew", "nephew", "侄子|侄儿|外甥(?!女)"),
        ("niece", "niece", "侄女|外甥女"),
        ("sister-in-law", "sister-in-law", "嫂子?|弟媳|弟妹"),
        ("brother-in-law", "brother-in-law", "姐夫|妹夫"),
        ("mother-in-law", "mother-in-law", "婆婆|岳母|丈母娘"),
        ("father-in-law", "father-in-law", "公公|岳父|老丈人"),
    )
}
_OFFICES: Mapping[str, re.Pattern[str]] = {
    role: re.compile(rf"(?<![\w-])(?:{english})s?(?![\w-])|{chinese}", re.IGNORECASE)
    for role, english, chinese in (
        ("boss", "boss|manager|supervisor", "老板|上司|领导|主管|经理"),
        ("colleague", "colleague|co-?worker|teammate", "同事"),
        ("landlord", "landlord|landlady", "房东"),
        ("flatmate", "flatmate|roommate|housemate", "室友|合租"),
        ("neighbour", "neighbou?r", "邻居"),
        ("teacher", "teacher|tutor", "老师|教师"),
        ("dentist", "dentist", "牙医"),
        ("doctor", "doctor|gp|physician", "医生|大夫"),
        ("vet", "vet|veterinarian", "兽医"),
        ("lawyer", "lawyer|solicitor", "律师"),
        ("accountant", "accountant", "会计师"),
    )
}
_SOMEBODY = re.compile(
    r"\b(?:he|she|they|him|her|his|hers|their|them|your?)\b|(?<=[\w,;:] )(?!I\b)[A-Z][a-z]+|\b(?:Mr|Mrs|Ms|Dr|Prof)\.? "
    r"|[他她你]|叫"
)
_WEEKDAYS: Mapping[str, re.Pattern[str]] = {
    english: re.compile(rf"\b{english}|(?:周|星期|礼拜){chinese}", re.IGNORECASE)
    for english, chinese in zip(
        ("mon(?:day)?s?\\b", "tue(?:sday)?s?\\b", "wed(?:nesday)?s?\\b", "thu(?:rsday)?s?\\b", "fri(?:day)?s?\\b",
         "sat(?:urday)?s?\\b", "sun(?:day)?s?\\b"),
        ("一", "二", "三", "四", "五", "六", "[日天]"),
        strict=True,
    )
}  # fmt: skip
# If a question and a text both name words of such a group, they must have one in common.
_WORDS = (_KIN, _OFFICES, {**_KIN, **_OFFICES}, _WEEKDAYS)
_CAPITALISED = re.compile(r"(?<=[a-z,'’] )[A-Z][a-z]{2,}")
_DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november december christmas easter".split()
)
_NUMBER = re.compile(r"\d+")
_SEVERAL = re.compile(
    r"\b(?:which|what)(?: \w+){0,2} (?!is\b|was\b|does\b|has\b)\w{2,}s\b|\b(?:each|all|both) of\b|\ball the\b"
    r"|哪些|各是|分别",
    re.IGNORECASE,
)


def kinds_asked(question: str) -> frozenset[str]:
    """Return the kinds of answer that `question` asks for (time, number, person, …)."""
    found = {kind for kind, (asks, _) in _KINDS.items() if asks.search(question)}
    return frozenset(found | ({"time"} if asks_when(question) else set()))


def kinds_held(text: str) -> frozenset[str]:
    """Return the kinds of answer that `text` could be."""
    return frozenset(kind for kind, (_, holds) in _KINDS.items() if holds.search(text))


def lacks_answer(asked: frozenset[str], held: frozenset[str]) -> bool:
    """Tell whether a question that asks for `asked` has no answer in texts that hold the kinds `held`."""
    return not asked & _SURE <= held


def names_nobody_known(question: str, told: str) -> bool:
    """Tell whether `told`, the text of everything found, contains none of the names in a question.

    If `told` contains Chinese, names may be spelled differently there, so nothing is concluded.
    """
    names = {name.casefold() for name in _CAPITALISED.findall(question)} - _DATES
    return bool(names) and cjk_share(told) == 0 and not any(name in told.casefold() for name in names)


def asks_for_several(question: str) -> bool:
    """Tell whether a question asks for several things, which may be in several memories."""
    return _SEVERAL.search(question) is not None and "number" not in kinds_asked(question)


class Subject:
    """The subject of a question as far as its words tell: roles, names of speakers, weekdays, numbers."""

    def __init__(self, question: str, speakers: Sequence[str]) -> None:
        self._asked = [_find(words, question) for words in _WORDS]
        self._numbers = frozenset(_NUMBER.findall(question))
        self._names = _find_names(question, list(dict.fromkeys(filter(None, speakers))))

    def may_be(self, text: str, speaker: str) -> bool:
        """Tell whether `text`, said by `speaker`, may be about the subject, not another role, day or number."""
        if self._names and speaker and speaker not in self._names and not _find_names(text, self._names):
            return _SOMEBODY.search(text) is not None
        told = [_find(words, f"{speaker}: {text}") for words in _WORDS]
        return all(map(_agrees, self._asked, told)) and _agrees(self._numbers, frozenset(_NUMBER.findall(text)))


def _find(words: Mapping[str, re.Pattern[str]], text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in words.items() if pattern.search(text))


def _agrees(asked: frozenset[str], told: frozenset[str]) -> bool:
    return not asked or not told or not asked.isdisjoint(told)


def _find_names(text: str, names: Sequence[str]) -> list[str]:
    """Return the `names` that occur in `text`: as whole words, or anywhere in a script without spaces."""
    lower = text.lower()
    return [
        name
        for name in names
        if (re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", lower) if name.isascii() else name.lower() in lower)
    ]
