"""English and Chinese patterns for times. The group `phrase` of each pattern is the part that names the time."""

from __future__ import annotations

import re

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = {
    **{name: day for day, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())},
    **{name: day for day, name in enumerate("一二三四五六日")},
    "天": 6,
}
# First month of each season, which has three. Seasons are northern; winter belongs to the year that it begins in.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
UNITS = {
    **{"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month"},
    **{"季度": "quarter", "年": "year", "小时": "hour", "钟头": "hour", "分钟": "minute"},
}
DAY_WORDS = {
    **{"大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0},
    **{"今早": 0, "今晚": 0, "明天": 1, "明日": 1, "明晚": 1, "后天": 2},
}
# 去 means the year before.
YEAR_WORDS = {"大前": -3, "前": -2, "去": -1, "今": 0, "本": 0, "明": 1}

_NUMBERS = {
    **{word: value for value, word in enumerate("zero one two three four five six seven eight nine ten".split())},
    **{"eleven": 11, "twelve": 12, "a": 1, "an": 1, "couple": 2},
    **{digit: value for value, digit in enumerate("零一二三四五六七八九十")},
    **{"〇": 0, "两": 2},
}
# "A few" is two to this many.
FEW = 5
_FEW = frozenset(("few", "several", "几", "数", "好几"))


def number(words: str) -> int | None:
    """Return a count in digits or words ("twelve", 十二, 二〇二三), None for "a few" and 几, and 1 for ""."""
    words = words.lower().removeprefix("a ").removesuffix(" of")
    if words in _FEW:
        return None
    if not words or words.isdecimal():
        return int(words or 1)
    if words in _NUMBERS:
        return _NUMBERS[words]
    tens, ten, ones = words.partition("十")
    if ten:
        return 10 * _NUMBERS.get(tens, 1) + _NUMBERS.get(ones, 0)
    return int("".join(str(_NUMBERS[digit]) for digit in words))


def _english(pattern: str) -> re.Pattern[str]:
    """Compile `pattern`, ignoring its white space; `~` stands for white space in the text."""
    return re.compile("".join(pattern.split()).replace("~", r"\s+"), re.IGNORECASE | re.ASCII)


def _chinese(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(pattern.split()), re.ASCII)


_YEAR = r"(?:19[5-9]\d|20[0-4]\d)"
_FULL = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTH = rf"(?:{_FULL}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_UNIT = "(?P<unit>minute|hour|day|week|month|quarter|year)s?"
_COUNT = (
    r"(?P<count>\d{1,4}|a~couple(?:~of)?|a~few|few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    "|twelve)"
)
_WEEKDAY = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
# Excludes numbers that aren't years, and words that aren't seasons, by what follows them.
_NO_YEAR = (
    r"(?!\d|[.,]\d|\s*%|~(?:words?|people|tokens?|users?|items?|times|miles|dollars|euros|lines|steps|rows|ms)\b)"
)
_NO_SEASON = (
    r"(?!~(?:boot|cloud|framework|security|data|mvc|apart|under|into|in|on|off|short|back|behind|down|out|through|asleep"
    r"|for|water|roll)\b)"
)

EN_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "exact",
        _english(
            rf"""(?<![\w./-]) (?P<phrase> {_YEAR}-\d\d?(?:-\d\d?)? | {_YEAR}/\d\d?/\d\d? | \d\d?/\d\d?/{_YEAR} )
            (?=T\d|[^\w/-]|$) (?!\.\d)"""
        ),
    ),
    (
        "months",
        _english(
            rf"""\b(?:from|between)~(?P<phrase> (?P<month>{_FULL})~(?:and|to|until|through)~(?P<until>{_FULL})
            (?:~(?:of~)?(?P<year>{_YEAR}))? )\b"""
        ),
    ),
    (
        "dated",
        _english(
            rf"""\b(?P<phrase> {_DAY}(?:st|nd|rd|th)?~(?:of~)?(?P<month>{_MONTH})\b\.?(?:,?~(?P<year>{_YEAR})\b)? )"""
        ),
    ),
    (
        "dated",
        _english(
            rf"""(?P<preposition>\b(?:on|since|by|until|till|before|after|from|of|and|to|through|around)~(?:the~)?)?
            \b(?P<phrase> (?P<month>{_MONTH})\.?~(?P<day>{_DAY})(?P<ordinal>st|nd|rd|th)?(?![\d:%]|\.\d)\b
            (?:,?~(?P<year>{_YEAR})\b)? )"""
        ),
    ),
    (
        "monthly",
        _english(
            rf"""(?P<preposition>\b(?:in|during|since|by|until|till|before|after|from|of|and|to|through|early|late|mid)
            [\s-](?:the~)?)? \b(?P<phrase> (?P<month>{_MONTH})\.?,?~(?:of~)?(?P<year>{_YEAR})\b ){_NO_YEAR}"""
        ),
    ),
    (
        "monthly",
        _english(
            rf"""\b(?:in|during|since|until|till|throughout|early|late|mid|(?:end|start|beginning|middle|month|week)~of)
            [\s-](?:early~|late~|mid-?~?)?(?P<phrase> (?P<which>(?:this|last|next|past)~)?(?P<month>{_FULL}) )\b"""
        ),
    ),
    ("monthly", _english(rf"""\b(?P<phrase> (?P<which>this|last|next|past)~(?P<month>{_FULL}) )\b""")),
    ("season", _english(rf"\b(?P<phrase> {_SEASON}~(?:of~)?(?P<year>{_YEAR}) )\b")),
    ("season", _english(rf"\b(?:in|during|since|over)~(?:the~)?(?P<phrase> {_SEASON} )\b {_NO_SEASON}")),
    ("season", _english(rf"\b(?P<phrase> (?P<which>this|last|next|past)~{_SEASON} )\b {_NO_SEASON}")),
    (
        "yearly",
        _english(
            rf"""\b(?:in|during|since|before|after|until|till|throughout|early|late|mid|year|of|by|from|to|and|between|the)[\s-]
            (?P<phrase>(?P<year>{_YEAR}))\b{_NO_YEAR}"""
        ),
    ),
    (
        "library",
        _english(
            rf"""\b(?P<phrase> the~day~before~yesterday | yesterday | today | tomorrow | q[1-4]~{_YEAR}
            | (?:last|previous|next|this|current)~(?:week|month|year) )\b"""
        ),
    ),
    ("day", _english(r"\b(?P<phrase> (?P<word>last|this)~(?:night|morning|afternoon|evening) | tonight )\b")),
    ("quarter", _english(r"\b(?P<phrase> (?P<which>last|this|next|past|previous)~quarter )\b")),
    ("weekend", _english(r"\b(?P<phrase> (?P<which>last|this|next|past|previous)~weekend )\b")),
    (
        "rolling",
        _english(rf"\b(?P<phrase> (?:last|past|previous)~{_COUNT}~{_UNIT} )\b (?!~of)"),
    ),
    ("rolling", _english(r"\b(?P<phrase> past~(?P<unit>hour|day|week|month|year) )\b")),
    ("ago", _english(rf"\b(?P<phrase> {_COUNT}~{_UNIT}~(?:ago|back) )\b")),
    (
        "weekday",
        _english(rf"(?<!every\s)(?<!each\s)\b(?P<phrase> (?:(?P<which>last|this|next|past)~)?{_WEEKDAY} )\b"),
    ),
)

_DIGITS = "一二三四五六七八九"
_SHORT = rf"(?:十[{_DIGITS}]?|[{_DIGITS}]十[{_DIGITS}]?|[{_DIGITS}两])"
_ZH_COUNT = rf"(?P<count>\d{{1,4}}|{_SHORT}|半|好?几|数)"
_ZH_UNIT = "(?P<unit>天|日|周|个?(?:星期|礼拜|月|季度|小时|钟头)|年|小时|分钟)"
_ZH_YEAR = (
    rf"(?:(?P<year>{_YEAR}|[12一二][09〇零九][\d一二三四五六七八九〇零]{{2}})年|(?P<relative>大前|前|去|今|明)年)的?"
)
_ZH_DAY = rf"(?P<day>3[01]|[12]\d|0?[1-9]|三十一?|二十[{_DIGITS}]?|十[{_DIGITS}]?|[{_DIGITS}])[日号]"
_ZH_MONTH = rf"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[{_DIGITS}])月"

ZH_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("zh_season", _chinese(rf"(?P<phrase>{_ZH_YEAR}(?P<season>[春夏秋冬])[天季]?)")),
    ("zh_season", _chinese(r"(?P<phrase>(?P<which>上|这|今)个?(?P<season>[春夏秋冬])[天季]?)")),
    (
        "zh_date",
        _chinese(
            rf"(?<![\d一二两三四五六七八九十个几每])(?P<phrase>(?:{_ZH_YEAR})?{_ZH_MONTH}(?:份|底|初|中旬)?(?:{_ZH_DAY})?)(?!天)"
        ),
    ),
    ("zh_month_day", _chinese(rf"(?P<phrase>(?P<ups>上{{1,4}}|这|本|下)一?个?月的?(?:{_ZH_DAY})?)(?![亮球光])")),
    ("zh_year", _chinese(rf"(?<![\d以之从目说光声证])(?P<phrase>{_ZH_YEAR.removesuffix('的?')})(?![级代])")),
    (
        "day",
        _chinese(
            r"""(?<![以之从目提天年说光声证\d])(?P<phrase>(?P<word>大前天|前天|前日|昨[天日晚夜]|今[天日早晚]|明[天日晚]|后天))
            (?![气空生才赋性鹅])"""
        ),
    ),
    (
        "zh_week",
        _chinese(
            r"""(?<!以)(?P<phrase>(?P<ups>上{1,4}|这|本|下)一?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?)
            (?![期边围转到长刊岁年])"""
        ),
    ),
    ("quarter", _chinese(r"(?P<phrase>(?P<which>上|这|本)个?季度)")),
    (
        "ago",
        _chinese(rf"(?<![\d第每])(?P<phrase>{_ZH_COUNT}{_ZH_UNIT}(?:(?:之|以)?前))(?![往后面端台提十一二三两\d])"),
    ),
    ("rolling", _chinese(rf"(?P<phrase>(?:过去|最近|近)的?这?{_ZH_COUNT}{_ZH_UNIT})")),
    ("rolling", _chinese(r"(?P<phrase>这(?P<count>几|两)(?P<unit>天|周|个月|年))")),
    (
        "weekday",
        _chinese(
            r"""(?<![一二两三四五六七八九十几每\d上这本下个])(?P<phrase>(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]))
            (?![年岁次个回遍])"""
        ),
    ),
)

CUE = re.compile(
    rf"\d[-/]\d|\d{{4}}|\bq\d|\b(?:{_MONTH}|ago|yesterday|today|tonight|tomorrow|night|morning|afternoon|evening"
    r"|weeks?|months?|years?|quarters?|weekend|days?|hours?|minutes?|spring|summer|autumn|fall|winter"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|[年月周日天季昨今]|星期|礼拜|小时|分钟",
    re.IGNORECASE | re.ASCII,
)

MONTH_NUMBERS = {name: number for number, name in enumerate(MONTHS, start=1)}

_WHEN_BEFORE = r"(?:^|[.,;:?!…—-]\s*|\b(?:and|or|but|so|since|until|by|from|exactly)\s+)"
_WHEN_AFTER = (
    r"(?:['’][sd]\b|\s*(?:\?|$)|\s+(?:did|do|does|was|were|is|are|am|will|would|should|can|could|has|have|had|shall|might"
    r"|exactly|approximately)\b)"
)
WHEN = re.compile(
    rf"""{_WHEN_BEFORE}when{_WHEN_AFTER}|\b(?:knows?|remember|recall|tell\sme)\s+when\b
    |\b(?:what|which)(?:\s+exact)?\s+(?:time|date|day|week|weekend|month|year|season|century|decade)s?\b
    |\bhow\s+(?:long|recently|many\s+(?:minutes|hours|days|weeks|months|years))\b|\bwhat['’]s\s+the\s+date\b
    |什么时候|啥时候?|何时|几时|几月|几号|几日|几点|哪一?[天年月日周]|哪个?(?:月|星期|周|季度|时候)|星期几|周几|礼拜几
    |什么(?:时间|日期|日子|年份)|多久|多长时间|多少[天年]|几[天年]前|几个(?:月|星期|小时)""",
    re.IGNORECASE | re.VERBOSE,
)
