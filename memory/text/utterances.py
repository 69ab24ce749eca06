"""Splits a memory into statements: its sentences, each with its speaker, and in turns if the text is a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory.text.sentences import sentence_ends

# Only this much of a sentence is read, because the rules for statements expect bounded ones.
MAX_READ_CHARS = 400
# Lines like "label: text" make a transcript if there are enough of them, with few different labels.
_LEAST_LINES = 2
_MOST_LABELS = 6
_LABEL = re.compile(
    r"^[ \t]*(?P<label>[^\W\d_][^\s:：.!?。]{0,23}(?: [^\s:：.!?。]{1,23}){0,2})[:：][ \t]+(?=\S)", re.MULTILINE
)
# Finds a question after a statement: "I have never sailed, so can you …?"
_ASKS_BESIDES = re.compile(
    r"(?<=\w{3})[,;]?\s+(?:(?:so|and|but|then|-)\s+)*(?:(?:can|could|would|will|do|should|is|are)\s+(?:you|i|we|there|that|this|it)\b"
    r"|how\s+(?:can|do|should|would|could)\b|what\s+(?:are|is|should|do|would)\b)"
    r"|(?<=\w)[，；](?=[^，；]{0,3}(?:你能|能不能|能否|可以|怎么|如何|该))",
    re.IGNORECASE,
)
_AGENTS = frozenset(("assistant", "agent", "ai", "bot", "system", "model", "助手", "机器人"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a memory, at [start, end) of its text; `turn` counts the turns of a transcript from 0.

    `text` has its white space collapsed and is cut at `MAX_READ_CHARS`. `speaker` is that of the memory, or
    "speaker/label" if only a label in the text says so, which anyone could have written. `places` holds the position in
    the memory of each character of `text`; it is empty if they simply follow `start`.
    """

    text: str
    start: int
    end: int
    turn: int = 0
    speaker: str = ""
    by_agent: bool = False
    places: tuple[int, ...] = ()

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where [first, last) of `text` is in the memory; for all of `text`, including what was cut off."""
        if (first, last) == (0, len(self.text)):
            return self.start, self.end
        if not self.places:
            return self.start + first, self.start + last
        return self.places[first], self.places[last - 1] + 1


def statements(text: str, *, speaker: str = "", by_agent: bool = False) -> list[Statement]:
    """Return the sentences of `text` in order; in a transcript ("label: words"), each with its own speaker."""
    return [
        _statement(text, first, last, turn=turn, speaker=who, by_agent=agent)
        for turn, (start, end, who, agent) in enumerate(_turns(text, speaker, by_agent))
        for first, last in _sentences(text, start, end)
    ]


def live_statements(
    text: str, spans: Sequence[tuple[int, int]], *, speaker: str = "", by_agent: bool = False
) -> list[Statement]:
    """Return the statements of `text` without the characters at `spans`, dropping those left empty."""
    found = []
    for one in statements(text, speaker=speaker, by_agent=by_agent):
        gone = [(first, last) for first, last in spans if first < one.end and one.start < last]
        if not gone:
            found.append(one)
            continue
        kept = [place for place in range(one.start, one.end) if not any(first <= place < last for first, last in gone)]
        words = _even_out(text, kept)
        if any(text[place].isalnum() for place in words):
            read = "".join(" " if text[place].isspace() else text[place] for place in words)
            found.append(replace(one, text=read, start=words[0], end=words[-1] + 1, places=tuple(words)))
    return found


def own_statements(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Statement]:
    """Yield the live statements of a turn by its own speaker, not by an agent or by others in a transcript."""
    return (one for one in live_statements(text, spans) if not one.speaker and not one.by_agent)


def _statement(text: str, first: int, last: int, *, turn: int, speaker: str, by_agent: bool) -> Statement:
    evened = " ".join(text[first:last].split())
    read = evened[:MAX_READ_CHARS]
    if len(evened) == last - first:
        return Statement(read, first, last, turn, speaker, by_agent)
    places = tuple(_even_out(text, range(first, last)))
    return Statement(read, first, last, turn, speaker, by_agent, places[:MAX_READ_CHARS])


def _even_out(text: str, places: Iterable[int]) -> list[int]:
    """Return the places of the characters that are left when white space is collapsed, up to `MAX_READ_CHARS`."""
    found: list[int] = []
    for place in places:
        if text[place].isspace() and (not found or text[found[-1]].isspace()):
            continue
        found.append(place)
    while found and text[found[-1]].isspace():
        found.pop()
    return found[:MAX_READ_CHARS]


def live_text(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` without the statements at `spans`, given as [start, end) in characters."""
    kept, start = [], 0
    for first, last in sorted(spans):
        kept.append(text[start:first])
        start = max(start, last)
    return "".join((*kept, text[start:]))


def _turns(text: str, speaker: str, by_agent: bool) -> list[tuple[int, int, str, bool]]:
    """Return (start, end, speaker, by_agent) of each turn, without its label."""
    labels = list(_LABEL.finditer(text))
    names = {label.group("label").lower() for label in labels}
    if not (len(labels) >= _LEAST_LINES and len(names) <= min(_MOST_LABELS, len(labels)) and labels[0].start() == 0):
        return [(0, len(text), speaker, by_agent)]
    ends = [label.start() for label in labels[1:]] + [len(text)]
    return [
        (
            label.end(),
            end,
            speaker if label.group("label").lower() == "user" else f"{speaker}/{label.group('label')}",
            label.group("label").lower() in _AGENTS,
        )
        for label, end in zip(labels, ends, strict=True)
    ]


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first = start
    for last in (*(start + place for place in sentence_ends(text[start:end])), end):
        asking = _ASKS_BESIDES.search(text, first, last) if text[first:last].rstrip().endswith(("?", "？")) else None
        for cut in (asking.start(), last) if asking else (last,):
            part = text[first:cut]
            if part.strip():
                yield first + len(part) - len(part.lstrip()), first + len(part.rstrip())
            first = cut
