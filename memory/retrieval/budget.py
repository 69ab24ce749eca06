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
    """One entry of a section: `prefix` and `text` make its line. It is kept unless `cut` says why not.

    `tokens` is the cost of its line, as kept; of an item that is cut, what the whole line would have cost. `beside`:
    the items that say what it says. `referred`: its line says where in the text it is told.
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
    """An item with its line, which ends with a line break; further lines of a text are set in.

    So a memory cannot pass for a heading or for another memory. And as a line starts with a dash and ends with a line
    break, where byte-pair encodings of OpenAI's kind split anyway, the tokens of lines add up to those of the text.
    """
    line = _line(prefix, text)
    return SectionItem(identity, prefix, text, line, count(line))


def shares(budget: int, demands: Sequence[int], weights: Sequence[int]) -> list[int]:
    """How much of `budget` each demand gets: what it needs, up to its weight's part of what is left by the others.

    Weighted max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, 6.5.2).
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
    """Keeps of `items`, most important first, what fits into `room` tokens, and cuts the others.

    With `count`, the first that does not fit is trimmed to the sentences that do, if one does.
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
    """How many of the last of `items` fit into `room` tokens together, without a gap."""
    for fitting, entry in enumerate(reversed(items)):
        room -= entry.tokens
        if room < 0:
            return fitting
    return len(items)


def leave_out(items: Iterable[SectionItem], reason: CutReason) -> None:
    """Leaves `items` out for `reason`."""
    for entry in items:
        entry.cut = reason


def refer(entry: SectionItem, prefix: str, place: str, count: Count) -> None:
    """Has the entry say in which `place` it is told, and nothing else."""
    entry.prefix, entry.text, entry.referred = prefix, place, True
    entry.line = _line(prefix, place)
    entry.tokens = count(entry.line)


def trim(entry: SectionItem, room: int, count: Count) -> bool:
    """Shortens the entry to as many of its first sentences, and an ellipsis, as fit; False when not one does."""
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
