"""Finds the values in a clause that can be told apart by their form: times, days, amounts, contacts, places in a house.

Two values of one kind can stand for each other ("at 9:30", "at half past ten"); values of different kinds cannot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|a hundred|a dozen)"
)
_ORDINAL_WORD = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|ground|top|last)"
_ZH_NUMBER = r"(?:[\d.]{0,12}[\d一二三四五六七八九十两百千万零半]{1,12})"
# In order: what an earlier kind has taken is not read again.
_KINDS: tuple[tuple[str, str], ...] = (
    ("address", r"[\w.+-]+@[\w-]+\.[\w.-]+|https?://\S+|(?<![\w.])[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|cn|de|uk)\b"),
    ("phone", r"(?<![\w.])\+?\d[\d\s().-]{5,}\d(?![\w:])|\b\d{3}-\d{4}\b|\bx\d{3,5}\b"),
    ("money", r"[$€£¥]\s?\d[\d,.]*\s?(?:k|m|million)?\b|\b\d[\d,.]*\s?(?:k\s)?(?:dollars?|euros?|pounds?|bucks|usd|eur|gbp|rmb|yuan|chf)\b"
        rf"|{_ZH_NUMBER}(?:块钱?|元|美元|欧元|人民币|万元)"),
    ("clock", r"\b\d{1,2}:\d\d(?:\s?(?:[ap]m\b|[ap]\.m\b\.?))?|\b\d{1,2}\s?(?:[ap]m\b|[ap]\.m\b\.?|o'clock\b)|\b(?:noon|midnight|midday)\b"
        rf"|\b(?:half past|quarter past|quarter to)\s(?:{_NUMBER_WORD}|\d+)|(?:凌晨|早上|上午|中午|下午|傍晚|晚上|夜里)?{_ZH_NUMBER}点(?:半|一刻|{_ZH_NUMBER}分?)?(?!\d)"),
    ("floor", rf"\b(?:{_ORDINAL_WORD}|\d+(?:st|nd|rd|th))\s(?:floor|grade|row)\b|{_ZH_NUMBER}[层楼]|{_ZH_NUMBER}年级"),
    ("day", rf"\b\d{{4}}-\d\d-\d\d\b|\b{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?\b|\b(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?(?:\sof)?\s{_MONTH}\b(?:\s\d{{4}})?"
        r"|\bthe\s\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}(?:st|nd|rd|th)\b(?!\s(?:floor|grade|street|avenue|place))|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b"
        rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:in|by|until|till|to|for|of|from|since|is|early|mid|late)\s(?P<month>{_MONTH})\b(?!\s\d{{1,2}}\b)(?:\s\d{{4}})?"
        rf"|\b(?:next|this)\s(?:week|weekend|month|year|spring|summer|autumn|fall|winter)\b|\btomorrow\b|\bQ[1-4]\b|\b(?:christmas|new year's|easter|thanksgiving|halloween)(?:\s(?:eve|day|monday|sunday))?\b"
        rf"|(?:\d{{2,4}}年)?{_ZH_NUMBER}月(?:{_ZH_NUMBER}[日号]?|初|底|中旬)?|{_ZH_NUMBER}[号](?!楼|线|院|门)|(?:下|这|本|上)?(?:周|星期|礼拜)[一二三四五六日天末]|明天|后天|春节|国庆节?|元旦|除夕|中秋节?|五一|端午节?|清明节?|圣诞节?|下周|下个?月"),
    ("clock", rf"(?:(?<=\bat )|(?<=\buntil )|(?<=\bto )|(?<=not ))(?:{_NUMBER_WORD}|\d{{1,2}})(?=$|[\s.,;!](?![\d%]))"
        r"(?!\s(?:percent|people|weeks?|days?|hours?|minutes?|months?|years?|euros?|dollars?|pounds?|kg|km|mg|ml))"),
    ("duration", rf"\b(?:\d[\d.,]*|{_NUMBER_WORD}|an?|half an)\s?-?(?:minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?|working days)\b(?!\s?old)"
        rf"|{_ZH_NUMBER}(?:分钟|个?小时|个?钟头|天|个?星期|周(?![一二三四五六日天末])|个月|年(?!级|\d))"),
    ("age", rf"\b(?:\d{{1,3}}|{_NUMBER_WORD})\s(?:years?\sold|months?\sold)\b|\bturn(?:s|ed)\s(?:\d{{1,3}}|{_NUMBER_WORD})\b|{_ZH_NUMBER}岁"),
    ("percent", rf"\b\d[\d.,]*\s?(?:%|percent)|{_ZH_NUMBER}%|百分之{_ZH_NUMBER}"),
    ("version", r"\bv?\d+\.\d+(?:\.\d+)*\b(?!\s?(?:kg|km|k|m|miles?|litres?|liters?|%))|\bv\d+\b|\bversion\s\d+\b"),
    ("code", r"\b(?:room|gate|platform|terminal|seat|building|unit|flat|apartment|suite|locker|track|bay|desk|line|bus|tram|table|level|port|aisle)\s#?[A-Z]?\d[\w-]*\b"
        r"|\b(?-i:[A-Z]{1,3}[- ]?\d{1,5}[A-Z]?)\b|(?<![\d.])\d{1,5}(?:室|房间?|号楼|号线|路(?!口)|会议室|教室)"),
    ("amount", rf"\b\d[\d,.]*\s?(?:[A-Za-z]+)?|\b{_NUMBER_WORD}(?:-{_NUMBER_WORD})?\s[a-z]+|{_ZH_NUMBER}\s?(?:[个只条本家位人次份杯台辆套间张瓶公斤里千克米升碗片粒支盒箱名集门节页]+|斤|kg|km)?"),
)  # fmt: skip
_FIND = tuple((kind, re.compile(pattern, re.IGNORECASE | re.ASCII)) for kind, pattern in _KINDS)
# Kinds that are never written without a digit or a Chinese number: where there is none they are not looked for.
_NUMBERS = re.compile(r"[\d一二三四五六七八九十两百千万零半]")
_OF_NUMBERS = frozenset(("phone", "money", "percent", "version", "code"))
_UNIT = re.compile(r"[^\d\s,.一二三四五六七八九十两百千万零半].*$")
_WORDS_FOR_NUMBERS = re.compile(rf"^{_NUMBER_WORD}(?:-{_NUMBER_WORD})?\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?:\b(?:at|on|by|in|until|till|from|for|to|around|about|the)\s)+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Value:
    """Words of one `kind` at [start, end) of a clause, in lower case. `unit`: what an amount counts, "" for others."""

    kind: str
    text: str
    start: int
    end: int
    unit: str = ""


@lru_cache(maxsize=1024)
def values(clause: str) -> tuple[Value, ...]:
    """The values of `clause` in reading order; none overlaps another."""
    taken: list[Value] = []
    has_numbers = _NUMBERS.search(clause) is not None
    for kind, pattern in _FIND:
        if kind in _OF_NUMBERS and not has_numbers:
            continue
        for match in pattern.finditer(clause):
            start, end = match.span("month") if match.groupdict().get("month") else match.span()
            if kind == "phone" and sum(character.isdigit() for character in match.group()) < 4:
                continue
            if any(start < other.end and other.start < end for other in taken):
                continue
            text = " ".join(clause[start:end].lower().replace(",", "").split()).strip(" .:-")
            if text:
                taken.append(Value(kind, text, start, end, _unit(text) if kind == "amount" else ""))
    return tuple(sorted(taken, key=lambda value: value.start))


def _unit(text: str) -> str:
    rest = _WORDS_FOR_NUMBERS.sub("", text).strip() if _WORDS_FOR_NUMBERS.match(text) else text
    match = _UNIT.search(rest)
    return match.group().strip().rstrip("s") if match else ""


def with_preposition(clause: str, value: Value) -> int:
    """Where the value's phrase begins: with the preposition and article before it."""
    match = _BEFORE.search(clause[: value.start])
    return match.start() if match else value.start
