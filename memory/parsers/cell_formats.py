"""Formats a cell's value as spreadsheet programs do, by its number format (ECMA-376, 18.8.30).

Names of months and weekdays are English. A date in the format of the reader's system, which the file doesn't know, is
written with the year first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

GENERAL = "General"
# Formats in the file that stand for those of the reader's system.
_OF_SYSTEM = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm", "m/d/yy": "yyyy-mm-dd"}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|(?P<space>_.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>[<>=]+-?[\d.]+)\]|\[[^\]]*\]"
    r"|(?P<half>AM/PM|A/P|上午/下午)|(?P<power>E[+-]0+)|(?P<general>General)"
    r"|(?P<moment>y+|m+|d+|h+|s+(?:\.0+)?|e+|a{3,4})|(?P<digit>[0#?])|(?P<sign>[.,%@/;])|(?P<plain>.)",
    re.IGNORECASE | re.DOTALL,
)
_WEEKDAYS = "一二三四五六日"
# Number of significant digits of a number without a format.
_DIGITS = 11
_TESTS = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "=": lambda a, b: a == b, "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b, "<>": lambda a, b: a != b,
}  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str


def show_value(value: object, code: str) -> str:
    """Format a value (text, bool, number, date, time or duration) by the number format `code`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    sections = _split(_OF_SYSTEM.get(code, code) or GENERAL)
    if isinstance(value, str):
        return _show_text(value, sections[3]) if len(sections) > 3 else value
    if isinstance(value, date | time | timedelta):
        return _show_moment(value, sections[0]).strip() or str(value)
    if isinstance(value, int | float):
        return _show_number(Decimal(repr(value)), sections)
    return str(value)


def _split(code: str) -> list[list[_Token]]:
    """Parse a format into its sections: for positive and negative numbers, zero, and text."""
    sections: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup
        if kind is None:
            continue
        text = match[kind]
        if kind == "sign" and text == ";":
            sections.append([])
        elif kind == "space":
            sections[-1].append(_Token("text", " "))
        else:
            sections[-1].append(_Token("text" if kind in ("quoted", "escaped", "currency", "plain") else kind, text))
    return sections


def _show_text(value: str, section: Sequence[_Token]) -> str:
    return "".join(value if token.text == "@" else token.text for token in section if token.kind in ("text", "sign"))


def _show_number(value: Decimal, sections: Sequence[list[_Token]]) -> str:
    section, value = _choose(value, sections)
    if not section:
        return ""
    if any(token.kind == "general" or token.text == "@" for token in section):
        own = _show_general(value)
        return "".join(own if one.kind == "general" or one.text == "@" else one.text for one in section).strip()
    sign = "-" if value < 0 else ""
    shown, rounded = _show_digits(abs(value), section)
    return (sign if rounded else "") + shown.strip()


def _choose(value: Decimal, sections: Sequence[list[_Token]]) -> tuple[list[_Token], Decimal]:
    """Return the section for a number, and the number to show: a section for negative numbers has its own sign."""
    conditions = [next((one.text for one in section if one.kind == "condition"), None) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            test = re.fullmatch(r"([<>=]+)(.+)", condition or ">=-1e999")
            if test and _TESTS[test[1]](value, Decimal(test[2])):
                return [one for one in section if one.kind != "condition"], value
        return sections[-1], value
    if value < 0 and len(sections) > 1:
        return sections[1], -value
    if value == 0 and len(sections) > 2:
        return sections[2], value
    return sections[0], value


def _show_general(value: Decimal) -> str:
    if value == value.to_integral_value():
        return str(int(value))
    shown = f"{float(value):.{_DIGITS}g}"
    return shown.upper() if "e" in shown else shown


def _show_digits(value: Decimal, section: Sequence[_Token]) -> tuple[str, bool]:
    """Return a positive number as formatted, and whether it is more than zero after rounding."""
    value *= 100 ** sum(token.text == "%" for token in section)
    kinds = [token.kind for token in section]
    signs = [token.text if token.kind == "sign" else "" for token in section]
    point = signs.index(".") if "." in signs else len(section)
    whole = [place for place, kind in enumerate(kinds) if kind == "digit" and place < point]
    parts = [place for place, kind in enumerate(kinds) if kind == "digit" and place > point]
    if "/" in signs:
        return _show_fraction(value), value > 0
    if not whole and not parts:
        return "".join(token.text for token in section if token.kind == "text" or token.text == "%"), value > 0
    first, last = min(whole + parts), max(whole, default=point)
    value /= 1000 ** sum(len(list(_find_scale(signs, max(some)))) for some in (whole, parts) if some)
    power = next((token for token in section if token.kind == "power"), None)
    exponent = value.adjusted() if power and value else 0
    value = value.scaleb(-exponent).quantize(Decimal(1).scaleb(-len(parts)), ROUND_HALF_UP)
    left, _, right = f"{value:f}".partition(".")
    right = _trim(right, [section[place].text for place in parts])
    left = left.lstrip("0").rjust(sum(section[place].text == "0" for place in whole), "0")
    if "," in signs[first:last]:
        left = f"{int(left or 0):,}".rjust(len(left)) if left else ""
    filled = dict(_fill(left, whole, section))
    filled |= dict(zip(parts, right, strict=False))
    shown = []
    for place, token in enumerate(section):
        if token.kind == "digit":
            shown.append(filled.get(place, ""))
        elif token.kind == "power":
            shown.append(_show_power(token.text, exponent))
        elif token.kind == "text" or token.text == "%":
            shown.append(token.text)
        elif place == point and right:
            shown.append(".")
    return "".join(shown), value > 0


def _find_scale(signs: Sequence[str], last: int) -> Iterator[str]:
    """Yield the commas directly after the last digit, each of which divides by a thousand."""
    for sign in signs[last + 1 :]:
        if sign != ",":
            return
        yield sign


def _fill(left: str, whole: Sequence[int], section: Sequence[_Token]) -> Iterator[tuple[int, str]]:
    """Distribute the digits before the point over their places, from the right; the first place gets the rest.

    They stay together unless the format has text between them, as in a telephone number.
    """
    if not whole:
        return
    apart = any(token.kind == "text" for token in section[whole[0] : whole[-1]])
    if not apart or len(left) <= 1:
        yield whole[0] if not apart else whole[-1], left
        return
    for place in reversed(whole[1:]):
        left, digit = left[:-1], left[-1:]
        yield place, digit
    yield whole[0], left


def _trim(right: str, places: Sequence[str]) -> str:
    """Drop final zeros that the format shows only if they are significant."""
    while right and right[-1] == "0" and places[len(right) - 1] != "0":
        right = right[:-1]
    return right


def _show_power(text: str, exponent: int) -> str:
    sign = "-" if exponent < 0 else "+" if text[1] == "+" else ""
    return f"E{sign}{abs(exponent):0{len(text) - 2}d}"


def _show_fraction(value: Decimal) -> str:
    part = Fraction(value % 1).limit_denominator(99)
    whole = int(value) + (part == 1)
    shown = f"{part.numerator}/{part.denominator}" if 0 < part < 1 else ""
    return f"{whole} {shown}".strip() if whole or not shown else shown


def _show_moment(value: date | time | timedelta, section: Sequence[_Token]) -> str:
    tokens = [one for one in section if one.kind not in ("digit", "condition", "general")]
    moments = [place for place, token in enumerate(tokens) if token.kind in ("moment", "elapsed", "half")]
    if not moments:
        return ""
    half = any(token.kind == "half" for token in tokens)
    shown = []
    for place, token in enumerate(tokens):
        if token.kind not in ("moment", "elapsed", "half"):
            shown.append(token.text)
            continue
        order = moments.index(place)
        before = tokens[moments[order - 1]].text[0].lower() if order else ""
        after = tokens[moments[order + 1]].text[0].lower() if order + 1 < len(moments) else ""
        is_minute = token.text[0] in "mM" and len(token.text) < 3 and (before == "h" or after == "s")
        if token.kind == "elapsed":
            shown.append(_show_elapsed(value, token.text.lower()))
        else:
            shown.append(_show_unit(value, "n" * len(token.text) if is_minute else token.text.lower(), half=half))
    return "".join(shown)


def _show_elapsed(value: date | time | timedelta, unit: str) -> str:
    seconds = value.total_seconds() if isinstance(value, timedelta) else _seconds_of(value)
    return f"{int(seconds // {'h': 3600, 'm': 60, 's': 1}[unit[0]]):0{len(unit)}d}"


def _seconds_of(value: date | time) -> float:
    if not isinstance(value, datetime | time):
        return 0.0
    return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1_000_000


def _show_unit(value: date | time | timedelta, unit: str, *, half: bool) -> str:
    seconds = value.total_seconds() if isinstance(value, timedelta) else _seconds_of(value)
    hour, minute, second = int(seconds // 3600), int(seconds // 60 % 60), seconds % 60
    name = next(iter(groupby(unit)))[0]
    if name == "h":
        shown = (hour % 12 or 12) if half else hour % 24
    elif name == "n":
        shown = minute
    elif name == "s":
        return f"{second:0{len(unit)}.{len(unit.partition('.')[2])}f}"
    elif unit in ("am/pm", "a/p", "上午/下午"):
        return ("上午", "下午")[hour % 24 >= 12] if unit[0] == "上" else ("AM", "PM")[hour % 24 >= 12]
    elif not isinstance(value, date):
        return ""
    elif name in "ye":
        return f"{value.year % 100:02d}" if name == "y" and len(unit) < 3 else f"{value.year}"
    elif name == "a":
        return ("星期" if len(unit) > 3 else "") + _WEEKDAYS[value.weekday()]
    elif len(unit) > 2:
        names = {"m": ("%b", "%B"), "d": ("%a", "%A")}[name]
        return value.strftime(names[len(unit) > 3])[: 1 if len(unit) > 4 else None]
    else:
        shown = value.month if name == "m" else value.day
    return f"{shown:0{len(unit)}d}"
