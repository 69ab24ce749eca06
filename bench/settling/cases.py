"""Declares the cases of the settling set, and makes cases of frames and their fillings."""

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
# One case in this many gets unrelated messages.
DISTRACTED = 3
_SPEAKER = re.compile(r"^([A-Z][a-z]+|assistant|[一-鿿]{2,3})\| ")
_WORD = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Message:
    """Holds a message, `hours` after the first one of the case."""

    text: str
    session: str
    hours: float
    speaker: str = ""
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Question:
    """Holds a question whose top hit must say one of `first`; `not_first` is the obsolete value, or empty."""

    text: str
    first: tuple[str, ...]
    not_first: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """Holds a fact that must stay: one of the hits of `question` says all of `contains`."""

    question: str
    contains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """Holds the place of a message that no longer holds as a whole, and the value that it gave."""

    message: int
    value: str


@dataclass(frozen=True, slots=True)
class Case:
    """Holds messages in order, and what must hold after settling. `untouched`: places of messages."""

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
    """Holds sentences with gaps. `fields` names the gaps; each of `fills` has a value for each, separated by "|".

    A message may begin with its speaker, as "Anna| " ("assistant| " for the assistant). `ask` has (question, new value,
    old value), with " / " between alternatives of the new value. `kept` has (question, string, …). `replaced` has the
    old value by the place of the message. `untouched` has places besides the last one (for a lookalike all by default).
    `together`: all messages are in one session, minutes apart, instead of a day apart in separate sessions.
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
    """Yields the cases of `frames`; one in DISTRACTED gets two of the messages `beside`, which must stay untouched."""
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
    """Tells whether `text` contains `wanted`, ignoring case; Latin words at its ends must be whole words."""
    before = r"(?<![A-Za-z0-9])" if _WORD.match(wanted[0]) else ""
    after = r"(?![A-Za-z0-9])" if _WORD.match(wanted[-1]) else ""
    return re.search(before + re.escape(wanted) + after, text, re.IGNORECASE) is not None


def _distracting(beside: Sequence[str], number: int) -> Sequence[str]:
    start = 2 * (number // DISTRACTED)
    return [beside[(start + place) % len(beside)] for place in range(2)]


def _case(frame: Frame, gaps: Mapping[str, str], identity: str, language: str, distracting: Sequence[str]) -> Case:
    """Makes the case of one filling; the first distracting message comes first, the second before the last message."""
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
    """Fills the gaps of `text`; a value at its beginning is capitalised."""
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
