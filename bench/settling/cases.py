"""The cases of the settling set, and how they are made from frames and fillings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

KINDS = (
    "compound",
    "whole_update",
    "lookalike",
    "taken_back",
    "list_change",
    "correction_of_correction",
    "three_values",
)
LANGUAGES = ("en", "zh")
ASSISTANT = "assistant"
# One in this many cases gets messages that are unrelated to it.
DISTRACTED = 3
_SPEAKER = re.compile(r"^([A-Z][a-z]+|assistant|[一-鿿]{2,3})\| ")
_WORD = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Message:
    """A message, `hours` after the case's first one."""

    text: str
    session: str
    hours: float
    speaker: str = ""
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose top hit must contain one of `first`. `not_first` is the value that no longer holds, or ""."""

    text: str
    first: tuple[str, ...]
    not_first: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact that must stay: one of the hits of `question` has to contain all of `contains`."""

    question: str
    contains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A message, by its index, that no longer holds as a whole, and the value that it gave."""

    message: int
    value: str


@dataclass(frozen=True, slots=True)
class Case:
    """Messages in order, and what must hold after they were settled. `untouched` are indices of messages."""

    id: str
    language: str
    kind: str
    frame: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...] = ()
    kept: tuple[Kept, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    untouched: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Sentences with gaps. `fields` names the gaps; each of `fills` has a value for each gap, separated by "|".

    A message may begin with its speaker, as in "Anna| "; "assistant| " makes it the assistant's. `ask` has (question,
    new value, old value), with " / " between alternatives of the new one; `kept` has (question, string, …); `replaced`
    has the old value by the message's index. `untouched` are indices in addition to the last one; by default a
    look-alike has all. `together` puts all messages into one session, minutes apart, instead of separate sessions a day
    apart.
    """

    name: str
    kind: str
    fields: str
    fills: Sequence[str]
    messages: Sequence[str]
    ask: Sequence[tuple[str, ...]] = ()
    kept: Sequence[tuple[str, ...]] = ()
    replaced: Mapping[int, str] = field(default_factory=dict)
    untouched: Sequence[int] | None = None
    together: bool = False


def fill(frames: Sequence[Frame], language: str, half: str, beside: Sequence[str]) -> Iterator[Case]:
    """Yield the cases of `frames`. Every DISTRACTED-th one gets two of the unrelated messages, which stay untouched."""
    number = 0
    for frame in frames:
        names = frame.fields.split()
        for filling in frame.fills:
            values = filling.split("|") if names else []
            if len(values) != len(names):
                raise ValueError(f"{frame.name}: {filling!r} does not fill {frame.fields!r}.")
            number += 1
            gaps = dict(zip(names, values, strict=True))
            distracting = _distracting(beside, number) if beside and number % DISTRACTED == 0 else ()
            yield _case(frame, gaps, f"{half}-{language}-{number:03}", language, distracting)


def contains(text: str, wanted: str) -> bool:
    """Return whether `text` contains `wanted`, ignoring case, as whole words if it begins and ends with Latin ones."""
    before = r"(?<![A-Za-z0-9])" if _WORD.match(wanted[0]) else ""
    after = r"(?![A-Za-z0-9])" if _WORD.match(wanted[-1]) else ""
    return re.search(before + re.escape(wanted) + after, text, re.IGNORECASE) is not None


def _distracting(beside: Sequence[str], number: int) -> Sequence[str]:
    start = 2 * (number // DISTRACTED)
    return [beside[(start + place) % len(beside)] for place in range(2)]


def _case(frame: Frame, gaps: Mapping[str, str], identity: str, language: str, distracting: Sequence[str]) -> Case:
    """Return the case of one filling. The first distracting message comes first, the second before the last one."""
    said = [(place, _sentence(text, gaps)) for place, text in enumerate(frame.messages)]
    for text, at in zip(distracting, (0, len(said)), strict=False):
        said.insert(at, (-1, text))
    place_of = {place: now for now, (place, _) in enumerate(said) if place >= 0}
    every = frame.kind == "lookalike" and frame.untouched is None
    # The newest message must stay untouched, because nothing was said after it.
    safe = {-1, len(frame.messages) - 1, *(frame.untouched or ())}
    untouched = [now for now, (place, _) in enumerate(said) if every or place in safe]

    def fill(text: str) -> str:
        return text.format_map(gaps)

    return Case(
        identity,
        language,
        frame.kind,
        frame.name,
        tuple(_message(text, place, together=frame.together) for place, (_, text) in enumerate(said)),
        tuple(
            Question(fill(one[0]), tuple(fill(one[1]).split(" / ")), fill(one[2]) if len(one) > 2 else "")
            for one in frame.ask
        ),
        tuple(Kept(fill(one[0]), tuple(fill(text) for text in one[1:])) for one in frame.kept),
        tuple(Replaced(place_of[place], fill(value)) for place, value in frame.replaced.items()),
        tuple(untouched),
    )


def _sentence(text: str, gaps: Mapping[str, str]) -> str:
    """Fill in `text`; a gap at its beginning gets a capital letter."""
    spoken = _SPEAKER.match(text)
    start = spoken.end() if spoken else 0
    said = text[start:].format_map(gaps)
    return text[:start] + (said[0].upper() + said[1:] if text[start] == "{" else said)


def _message(text: str, place: int, *, together: bool) -> Message:
    spoken = _SPEAKER.match(text)
    speaker = spoken[1] if spoken else ""
    session, hours = ("talk", place / 20) if together else (f"day {place + 1}", 26.0 * place)
    if speaker == ASSISTANT:
        return Message(text[spoken.end() :], session, hours, role="agent")
    return Message(text[spoken.end() :] if spoken else text, session, hours, speaker)
