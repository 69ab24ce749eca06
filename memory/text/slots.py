"""What a statement says of whom: subject, attribute and value, by closed lists of verbs and nouns. English and Chinese.

An attribute holds one value at a time (where somebody lives, a deadline) or many (likes, places visited): Rahm and Do
2000, "Data Cleaning: Problems and Current Approaches", call the first a functional dependency on the subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.text.analysis import terms

# Attributes that have one value at a time.
SINGLE = frozenset(("lives", "works", "role", "time", "version", "amount", "goal", "count", "age", "contact", "name"))

_I = r"(?:i|we|he|she|they|[a-z]+ )(?:'m|'ve|'s| am| is| are| have| has)?"
_ATTRIBUTES = {
    "lives": r"\b(?:live|lives|living|lived|reside[sd]?|based|moved|relocated|moving)\s+(?:in|to|at|near|from)\b"
        r"|住在|搬到|搬去|定居|家在",
    "works": r"\b(?:work|works|working|worked|job|employed|joined)\s+(?:at|for|in|with|as)\b|\bjoined\b"
        r"|\bemployer\b|上班|就职|工作于|任职|入职|跳槽",
    "role": r"\b(?:job title|promoted to|(?:i'm|i am|he is|she is) (?:an?|the) [a-z ]{2,40}(?:er|or|ist|ant|ian"
        r"|ent)\b)|担任|职位|升(?:职|任)",
    "time": r"\b(?:deadline|due|scheduled|meeting|appointment|flight|launch|release|review|interview|event"
        r"|reservation"
    r"|birthday|starts?|takes? place)\b|截止|期限|会议|预约|航班|发布|面试|日期|时间",
    "version": r"\bversion|\bv\d|版本",
    "amount": r"\b(?:budget|price|cost|costs|rent|salary|fee|quota|limit|balance|rate)\b|预算|价格|费用|房租|工资"
        r"|限额|成本",
    "goal": r"\b(?:goal|target|aim|objective)s?\b|目标|指标",
    "count": r"\b(?:have|has|had|own|owns|there (?:are|were)|total of|contains?)\s+(?:about |around |now )?\d|有\d"
        r"|一共|总共",
    "age": r"\b(?:years? old|turned \d|age)\b|岁",
    "contact": r"\b(?:phone|number|e-?mail|address)\b|电话|邮箱|地址",
    "name": r"\b(?:name is|is called|is named|called|renamed)\b|名字|名叫|叫做",
    "likes": r"\b(?:like[sd]?|lov(?:e|es|ed|ing)|enjoy\w*|prefer\w*|favou?rites?|fans? of|into|keen|fond|adore[sd]?"
        r"|appreciat\w+"
    r"|drawn to|hat(?:e|es|ed)|dislike[sd]?|can't stand|not a fan|care for|resonate\w*|interested in|avoid)\b"
    r"|喜欢|喜爱|爱[吃喝看听玩]|讨厌|不爱|偏好|最爱|感兴趣",
    "plans": r"\b(?:need(?:s|ed)? to|have to|has to|plan(?:s|ned|ning)?|going to|want(?:s|ed)? to|should|must"
        r"|remember to|remind"
    r"|to-?do|tasks?|schedule[sd]?|will|calendar|hoping to|about to|still)\b|需要|打算|计划|要去|待办|安排|得去|准备",
    "uses": r"\b(?:us(?:e|es|ed|ing)|driv(?:e|es|ing)|runs? on|switched|migrated|own|owns)\b|使用|在用|用的|开的",
    "eats": r"\b(?:eat|eats|eating|drink|drinks|drinking|smok\w+|diet)\b|吃|喝|抽烟",
}  # fmt: skip
_FIND = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ATTRIBUTES.items()}
_DISLIKES = re.compile(
    r"\b(?:hat(?:e|es|ed)|dislike[sd]?|can't stand|avoid|not a (?:big |huge )?fan|(?:don't|doesn't|didn't|not"
    r"|never)\s+(?:\w+\s+)?"
    r"(?:like|love|enjoy|care for|into|prefer|keen))\b|讨厌|不喜欢|不爱|不感兴趣",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^\W*(?:(?:actually|now|well|so|and|but|yes|also|please|currently|recently|today|as of [^,]{1,20})[,]?\s+)*"
    r"(?P<own>i|we|i'm|i've|we're|we've|i'd|i'll)\b"
    r"|^\W*(?P<of>(?:my|our|his|her|their)\s+[a-z]+(?:\s+[a-z]+(?=\s+(?:is|are|was|has|will|lives?|works?)\b))?)\b"
    r"|^\W*(?P<other>(?-i:[A-Z][a-z]+(?:\s[A-Z][a-z]+)*))\b(?=\s+(?:is|was|has|lives?|works?|moved|joined|likes?"
    r"|loves?))"
    r"|^\W*(?P<zh_of>(?:我|他|她)的?(?:妈妈|爸爸|姐姐|妹妹|哥哥|弟弟|女儿|儿子|妻子|丈夫|老板|同事|朋友|公司|团队"
    r"|项目))"
    r"|^\W*(?P<zh_own>我们?)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"[$€£¥]?\d[\d,]*(?:\.\d+)*(?:\s?(?:%|(?:am|pm|km|kg|ml|k|m|g|h)\b|元|块|点|号|日|月|年|个|岁|公里|小时|分钟))?"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|march|april|june|july|august|september"
    r"|october"
    r"|november|december)\b|(?:周|星期)[一二三四五六日天]|[一二三四五六七八九十]{1,3}[月日点个号]",
    re.IGNORECASE,
)
# Where somebody lives or works, right after the verb that says so.
_PLACE = re.compile(
    r"(?<!cost of )\b(?:liv(?:e|es|ing|ed)|resid\w+|based|moved"
    r"|relocated|work(?:s|ed|ing)?|employed|job)\s+(?:in|to|at|near|for)\s+"
    r"(?P<name>(?-i:[A-Z][\w'&-]*(?:\s+[A-Z][\w'&-]*)*))|\bjoined\s+(?P<joined>(?-i:[A-Z][\w'&-]*(?:\s+[A-Z][\w'&-]*)*))"
    r"|(?:住在|搬到|搬去|定居在?|就职于|入职)(?P<zh>[\u4e00-\u9fff]{2,8}?)(?=[了的住，。；！]|$)"
    r"|在(?P<zh_work>[\u4e00-\u9fff]{2,8}?)(?=上班|工作|任职)",
    re.IGNORECASE,
)
# What is told of one day is an event of that day, and no state that another replaces.
_OF_A_DAY = re.compile(
    r"\b(?:today|yesterday|tonight|just now|this (?:morning|afternoon|evening)|last (?:night|week|month|year)|ago"
    r"|spent|bought|paid|walked|ran|ate|drank)\b|今天|昨天|今晚|昨晚|刚才|上周|上个月|去年|花了|买了",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:when|if|while|during|unless|except|only on|on (?:weekdays|weekends|work ?days)|in (?:the )?(?:summer"
    r"|winter|spring"
    r"|autumn|fall|mornings?|evenings?|afternoons?)|at (?:work|home|night)|for (?:breakfast|lunch|dinner"
    r"|work))\b[^,.;!?]{0,40}"
    r"|如果|(?:工作日|周末|夏天|冬天|早上|晚上|上班时|在家时)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Slots:
    """`subject`: "" for the speaker, else who or what is named first. `attributes`: what is said of it.

    `values`: numbers, dates and `places` (which follow a verb of living or working), in lower case. `about`: the other
    index terms. `conditions`: when it holds. `likes`: whether an opinion is a good one; None when there is none.
    `event`: it is told of one day.
    """

    subject: str
    attributes: frozenset[str]
    values: frozenset[str]
    places: frozenset[str]
    about: frozenset[str]
    conditions: frozenset[str]
    likes: bool | None
    event: bool


def slots(sentence: str) -> Slots:
    """What `sentence` says of whom."""
    plain = sentence.replace("’", "'")
    attributes = frozenset(name for name, pattern in _FIND.items() if pattern.search(plain))
    values = {match.group().lower().replace(",", "").strip() for match in _VALUE.finditer(plain)}
    places = {next(filter(None, match.groups())).lower() for match in _PLACE.finditer(plain)}
    values |= places
    of_values = frozenset(term for value in values for term in terms(value))
    likes = None if "likes" not in attributes else _DISLIKES.search(plain) is None
    return Slots(
        _subject(plain),
        attributes,
        frozenset(values),
        frozenset(places),
        frozenset(terms(plain)) - of_values,
        frozenset(match.group().lower().strip() for match in _CONDITION.finditer(plain)),
        likes,
        _OF_A_DAY.search(plain) is not None,
    )


def _subject(plain: str) -> str:
    match = _SUBJECT.search(plain)
    if match is None or match.group("own") or match.group("zh_own"):
        return ""
    return (match.group("of") or match.group("other") or match.group("zh_of") or "").lower()
