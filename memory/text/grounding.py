"""Finds numbers, dates and names in a statement that its source messages don't contain.

A language model may put a statement in other words, but a number or name in none of its messages is made up, or belongs
to another person. The check compares surface forms, without a language model, and is strict: wordings that it doesn't
recognise count as made up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date

from memory.text.analysis import CJK, STOP_WORDS, terms
from memory.text.event_dates import interval
from memory.text.periods import DAY, period
from memory.text.statements import Turn
from memory.text.timespan import Span, spans
from memory.text.timewords import MONTH_NUMBERS, WEEKDAYS

_SMALL = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_DIGIT = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_WORDS = re.compile(
    r"\b(?:{0})(?:[\s-]+(?:and\s+)?(?:{0}))*\b".format("|".join((*_SMALL, *_TENS, *_SCALES))), re.IGNORECASE
)
_HAN_DIGITS = {**{digit: value for value, digit in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000}
_HAN = f"[{''.join(_HAN_DIGITS)}十百千万亿]"
_HAN_NUMBER = re.compile(f"{_HAN}+")
# Matches Chinese numerals only before a unit, because 一 and 万 are otherwise parts of words.
_HAN_COUNT = re.compile(
    rf"(?<!第)({_HAN}+)(?=[个天日号周月年点块元次人岁名位条件台辆本只张页组层层米里克斤吨倍折度]|小时|分钟|公里|美元|欧元|星期)"
)
_DATES = (
    re.compile(r"(?P<year>\d{4})[-/](?P<month>\d\d?)(?:[-/](?P<day>\d\d?))?(?!\d)"),
    re.compile(r"(?:(?P<year>\d{4})年)?(?P<month>\d\d?)月(?:(?P<day>\d\d?)[日号])?"),
    re.compile(r"(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<name>[A-Z][a-z]{2,8})\.?(?:,? (?P<year>\d{4}))?"),
    re.compile(r"(?P<name>[A-Z][a-z]{2,8})\.? (?P<day>\d\d?)(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{4}))?"),
    re.compile(r"(?P<name>[A-Z][a-z]{2,8})\.?,? (?P<year>\d{4})"),
    re.compile(r"(?P<year>(?:19|20)\d\d)(?:年|\b)"),
)
_WEEKDAY = re.compile(
    r"\b(?P<name>monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b|(?:周|星期|礼拜)(?P<han>[一二三四五六日天])",
    re.IGNORECASE,
)

_WORD = re.compile(rf"[^\W\d_{CJK}][^\W_{CJK}]*(?:['’][^\W\d_{CJK}]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…。！？：；]|[-–—•*])[\s\"'“‘(「《]*$")
_SUBJECTS = frozenset(
    """user users assistant agent speaker customer client person people everyone everybody someone somebody nobody team
    family group member members participant participants message conversation session""".split()
)
# Matches what follows a name at the start of a sentence, and seldom follows another word there.
_AFTER_NAME = re.compile(
    r"(?:['’]s\b|\s+(?:(?:and|or|&)\s+[^\W\d_a-z]|[^\W\d_a-z]|(?:is|was|has|had|will|would|can|could|wants|does|did|also"
    r"|[a-z]{2,}(?:s|ed))\b|(?:said|told|went|got|made|took|gave|bought|met|saw|came|left|lost|won|sold|began|chose)\b))"
)
_NO_NAME_ENDING = ("ing", "tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ism")
_HAN_SURNAME = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方"
    "石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
_HAN_NAME = re.compile(
    rf"[小老阿][{_HAN_SURNAME}](?![{CJK}]?[的地得])|[{_HAN_SURNAME}](?:先生|女士|小姐|老师|医生|经理|教授|总监|主任|阿姨|叔叔|师傅)"
    rf"|(?:^|[，。；：、和与跟给找由])[{_HAN_SURNAME}][{CJK}]{{1,2}}(?=说|决定|喜欢|计划|打算|认为|希望|负责|想要|建议|提醒|住在|来自|买了|去了)"
)
_TO_OTHERS = re.compile(r"\b(?:you|your|yours|we|us|our|ours)\b|[你您]|我们|咱", re.IGNORECASE)
_HAN_QUOTED = re.compile(r"[《「『“]([^》」』”]{2,40})[》」』”]")


def find_invented(text: str, sources: Sequence[Turn], conversation: Sequence[Turn] = ()) -> str | None:
    """Return the first date, number or name of `text` that is in none of `sources`, or None if all are.

    The days on which the sources were said count as said, and so do the days that "yesterday" and the like mean. If the
    sources say "you" or "we", so do the names of the speakers in `conversation` (all messages). Names that
    `conversation` contains are recognised in `text` even at the start of a sentence.
    """
    text = _normal(text)
    told = [_normal(f"{turn.speaker or turn.role}: {turn.text}") for turn in sources]
    if any(_TO_OTHERS.search(words) for words in told):
        told.extend(_normal(turn.speaker) for turn in conversation if turn.speaker)
    meant = [span for turn in sources for span in _list_spans(turn)]
    days = [(span.start.date(), (span.end - DAY).date()) for span in meant]
    rest = _without_dates(text, meant, days)
    weekdays = {day for words in told for day in _weekdays(words)} | {first.weekday() for first, _ in days}
    for match in _WEEKDAY.finditer(rest):
        if _weekday(match) not in weekdays:
            return match.group()
    rest = _WEEKDAY.sub(" ", rest)
    numbers = {value for words in told for value, _ in _numbers(words, all_han=True)}
    for value, shown in _numbers(rest, all_han=False):
        if value not in numbers:
            return shown
    return _unknown_name(rest, told, conversation)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def _list_spans(turn: Turn) -> Iterator[Span]:
    """Yield the day on which a turn was said, and the times that it names."""
    said = turn.occurred_at
    if said is None:
        return
    moment = said if said.tzinfo else said.replace(tzinfo=UTC)
    day = period(moment.replace(tzinfo=None), "day")
    yield Span(day.start.replace(tzinfo=moment.tzinfo), day.end.replace(tzinfo=moment.tzinfo), "")
    yield from (span for span in spans(turn.text, moment, moment.tzinfo or UTC) if span.end - span.start >= DAY)


def _without_dates(text: str, meant: Sequence[Span], days: Sequence[tuple[date, date]]) -> str:
    """Return `text` without the times in `meant`, and without dates that match a first or last day of `days`.

    A date without a day or a year matches by what it has.
    """
    for written in filter(None, map(interval, meant)):
        text = text.replace(written, " ")
    for pattern in _DATES:
        text = pattern.sub(lambda match: " " if _is_known(match, days) else match.group(), text)
    return text


def _is_known(match: re.Match[str], days: Sequence[tuple[date, date]]) -> bool:
    parts = match.groupdict()
    name = (parts.get("name") or "").lower()
    if name and name[:3] not in MONTH_NUMBERS:
        return False
    month = MONTH_NUMBERS[name[:3]] if name else int(parts.get("month") or 0)
    wanted = (int(parts.get("year") or 0), month, int(parts.get("day") or 0))
    ends = {day for pair in days for day in pair}
    return any(
        all(not want or want == have for want, have in zip(wanted, (day.year, day.month, day.day), strict=True))
        for day in ends
    )


def _weekdays(text: str) -> Iterator[int]:
    return (_weekday(match) for match in _WEEKDAY.finditer(text))


def _weekday(match: re.Match[str]) -> int:
    return WEEKDAYS[(match["name"] or match["han"]).lower()]


def _numbers(text: str, *, all_han: bool) -> Iterator[tuple[float, str]]:
    """Yield (value, as written) for numbers in digits, English words and Chinese numerals.

    Unless `all_han` is set, "one" and 一 are skipped, which are mostly not numbers, and so are Chinese numerals without
    a unit.
    """
    for match in _DIGIT.finditer(text):
        value = float(match.group().replace(",", ""))
        scale = _scale_behind(text, match.end())
        yield value * scale, match.group()
        if scale > 1 and all_han:
            yield value, match.group()
    for match in _WORDS.finditer(text):
        words = [word for word in re.split(r"[\s-]+", match.group().lower()) if word != "and"]
        for value in _read_number_words(words):
            if value != 1 or all_han:
                yield value, match.group()
    for match in (_HAN_NUMBER if all_han else _HAN_COUNT).finditer(text):
        counted = _han_value(match.group(match.lastindex or 0))
        if counted is not None and (counted != 1 or all_han):
            yield counted, match.group()


def _scale_behind(text: str, end: int) -> int:
    found = re.match(r"\s?(hundred|thousand|million|billion|[kK]\b|百|千|万|亿)", text[end : end + 10])
    if not found:
        return 1
    scales = {**_SCALES, "k": 1000, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
    return scales[found.group(1).lower()]


def _read_number_words(words: Sequence[str]) -> Iterator[float]:
    """Yield the values of consecutive number words: "two hundred and five" is one, "two three" are two."""
    total = current = 0
    last = ""
    for word in words:
        if word in _SCALES:
            current = max(1, current) * _SCALES[word]
            if current >= 1000:
                total, current = total + current, 0
        else:
            value = _SMALL.get(word, _TENS.get(word, 0))
            joins = not last or last in _SCALES or (last in _TENS and 0 < value < 10)
            if not joins:
                yield total + current
                total = current = 0
            current += value
        last = word
    if last and not (len(words) == 1 and last in _SCALES):
        yield total + current


def _han_value(numeral: str) -> float | None:
    """Return the value of a Chinese numeral like 三十五, 两千零五, 二〇二四 or 三万五千, None if it isn't one."""
    if not any(character in "十百千万亿" for character in numeral):
        return float("".join(str(_HAN_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    for character in numeral:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_SCALES:
            section += (digit or 1) * _HAN_SCALES[character]
            digit = 0
        else:
            if not section and not digit:
                return None
            total = (total + section + digit) * (10_000 if character == "万" else 100_000_000)
            section = digit = 0
    return float(total + section + digit)


def _unknown_name(text: str, told: Sequence[str], conversation: Sequence[Turn]) -> str | None:
    said = " ".join(told)
    words = {word.lower() for word in _words(said)}
    stems = set(terms(said))
    names = {word for turn in conversation for word in _names_of(turn)}
    for match in _WORD.finditer(text):
        word = match.group().removesuffix("'s")
        plain = word.lower()
        if not word[0].isupper() or plain in words or plain.split("'")[0] in STOP_WORDS or plain in _SUBJECTS:
            continue
        if set(terms(word)) & stems:
            continue
        if _SENTENCE_START.search(text[: match.start()]) is None or plain in names or _opens_as_name(text, match):
            return word
    for found in _chinese_names(text):
        if found not in said:
            return found
    speakers = {_normal(turn.speaker) for turn in conversation if turn.speaker and not turn.speaker.isascii()}
    return next((speaker for speaker in speakers if speaker in text and speaker not in said), None)


def _words(text: str) -> Iterable[str]:
    return (match.group().removesuffix("'s") for match in _WORD.finditer(text))


def _names_of(turn: Turn) -> Iterator[str]:
    """Yield the speaker's name, and words that are capitalised inside a sentence."""
    yield from (word.lower() for word in _words(_normal(turn.speaker)))
    text = _normal(turn.text)
    for match in _WORD.finditer(text):
        word = match.group().removesuffix("'s")
        if word[0].isupper() and len(word) > 1 and _SENTENCE_START.search(text[: match.start()]) is None:
            yield word.lower()


def _opens_as_name(text: str, match: re.Match[str]) -> bool:
    word = match.group()
    if word.lower().endswith(_NO_NAME_ENDING):
        return False
    return word.endswith("'s") or _AFTER_NAME.match(text, match.end()) is not None


def _chinese_names(text: str) -> Iterator[str]:
    for match in _HAN_NAME.finditer(text):
        yield match.group().lstrip("，。；：、和与跟给找由")
    for match in _HAN_QUOTED.finditer(text):
        yield match.group(1)
