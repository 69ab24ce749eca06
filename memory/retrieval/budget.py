"""Divides a budget of tokens: between the sections of a context, and within a section between its items."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memory.enums import CutReason
from memory.text.sentences import sentence_ends

Count = Callable[[str], int]


@dataclass(slots=True)
class SectionItem:
    """Holds one entry of a section. `prefix` and `text` make its line; `cut` is the reason if it was cut, else None.

    `tokens`: the cost of its line as kept, or of the whole line if it was cut. `beside`: ids of the turns that it rests
    on. `referred`: its line only refers to the place in the text that already shows the memory.
    """

    id: str
    prefix: str
    text: str
    line: str
    tokens: int
    cut: CutReason | None = None
    trimmed: bool = False
    beside: frozenset[str] = frozenset()
    referred: bool = False


def item(identity: str, prefix: str, text: str, count: Count) -> SectionItem:
    """Makes an item with its line, which ends with a line break; further lines of the text are indented.

    Because of the indentation, a memory cannot pass for a heading or for another memory. A line starts with a dash and
    ends with a line break, where byte-pair encodings like OpenAI's split anyway, so the token counts of the lines add
    up to that of the text.
    """
    line = _line(prefix, text)
    return SectionItem(identity, prefix, text, line, count(line))


def shares(budget: int, demands: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Divides `budget` among demands by weight, and returns what each gets; what one does not need, the others get.

    This is weighted max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992,
    6.5.2).
    """
    granted = [0] * len(demands)
    hungry = set(range(len(demands)))
    while hungry:
        total = sum(weights[position] for position in hungry)
        sated = {position for position in hungry if demands[position] * total <= budget * weights[position]}
        if not sated:
            for position in hungry:
                granted[position] = budget * weights[position] // total
            break
        for position in sated:
            granted[position] = demands[position]
        budget -= sum(demands[position] for position in sated)
        hungry -= sated
    return granted


def fill(items: Iterable[SectionItem], room: int, *, count: Count | None = None) -> None:
    """Keeps the `items`, most important first, that fit into `room` tokens, and cuts the others.

    With `count`, the first item that does not fit is trimmed to as many whole sentences as fit, if at least one does.
    """
    may_trim = count is not None
    for entry in items:
        if entry.tokens > room and may_trim and count is not None:
            may_trim = not trim(entry, room, count)
        if entry.tokens > room:
            entry.cut = CutReason.OVER_BUDGET
        else:
            room -= entry.tokens


def newest_fitting(items: Sequence[SectionItem], room: int) -> int:
    """Returns how many items at the end of `items` fit into `room` tokens together."""
    for fitting, entry in enumerate(reversed(items)):
        room -= entry.tokens
        if room < 0:
            return fitting
    return len(items)


def leave_out(items: Iterable[SectionItem], reason: CutReason) -> None:
    """Marks `items` as cut for `reason`."""
    for entry in items:
        entry.cut = reason


def refer(entry: SectionItem, prefix: str, place: str, count: Count) -> None:
    """Replaces the entry's text by a reference to the `place` that already shows the memory."""
    entry.prefix, entry.text, entry.referred = prefix, place, True
    entry.line = _line(prefix, place)
    entry.tokens = count(entry.line)


def trim(entry: SectionItem, room: int, count: Count) -> bool:
    """Shortens the entry to its first sentences that fit, with an ellipsis; returns False if not even one fits."""
    whole = len(entry.text.rstrip())
    ends = [end for end in sentence_ends(entry.text) if end < whole]
    fitting = bisect_right(ends, room, key=lambda end: count(_shorten(entry, end)))
    if not fitting:
        return False
    entry.line, entry.trimmed = _shorten(entry, ends[fitting - 1]), True
    entry.tokens = count(entry.line)
    return True


def _shorten(entry: SectionItem, end: int) -> str:
    return _line(entry.prefix, f"{entry.text[:end].rstrip()} …")


def _line(prefix: str, text: str) -> str:
    return "- " + "\n  ".join(f"{prefix}{text}".splitlines()) + "\n"
