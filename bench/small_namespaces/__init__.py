"""Makes small namespaces: one to ten short memories, and questions that they answer and do not answer.

`en.txt` and `zh.txt` have frames: a memory, questions that it answers (`?`), and one about the same subject that it
does not answer (`~`). The last frame has questions that no memories answer (`!`). Each frame is asked in a namespace of
each of SIZES, together with memories of other frames. Foreign questions are those of frames that are not in the
namespace, and of the last one. Frames alternate between two halves: one is learned from, and the other measured.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("en", "zh")
SIZES = (1, 3, 10)
LEARN, REPORT = "learn", "report"
SEED = 7
_MARKS = {"?": "answered", "~": "near", "!": "elsewhere"}


@dataclass(slots=True)
class Frame:
    """Holds a memory and questions: answered ones, unanswered ones about the same subject, and ones about others."""

    name: str
    half: str = ""
    memory: str = ""
    answered: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Small:
    """Holds a namespace of `memories` in order; `place` is that of the memory that answers the questions `answered`.

    `near`: questions about a known subject that are not answered. `foreign`: a question of another frame. `elsewhere`:
    a question that no frame answers.
    """

    name: str
    half: str
    memories: Sequence[str]
    place: int
    answered: Sequence[str]
    near: Sequence[str]
    foreign: str
    elsewhere: str


def frames(language: str) -> list[Frame]:
    """Reads the frames of one of LANGUAGES. Raises ValueError for a line that does not belong to a frame."""
    found: list[Frame] = []
    lines = (Path(__file__).parent / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        mark, text = line[:1], line[2:]
        if mark == "[":
            found.append(Frame(line.strip("[]"), half=(LEARN, REPORT)[len(found) % 2]))
        elif mark in _MARKS and line[1:2] == " ":
            getattr(found[-1], _MARKS[mark]).append(text)
        elif line and found and not found[-1].memory:
            found[-1].memory = line
        elif line:
            raise ValueError(
                f"{language}.txt line {number}: a frame has one memory, then lines with {' '.join(_MARKS)}"
            )
    return found


def namespaces(language: str) -> list[Small]:
    """Puts each frame into a namespace of each of SIZES, with a foreign question and one that no frame answers."""
    draws = random.Random(f"{SEED} {language}")
    *told, last = frames(language)
    made = []
    for frame in told:
        others = [other for other in told if other.half == frame.half and other is not frame]
        # The questions that no frame answers are divided between the halves, too.
        elsewhere = last.elsewhere[(LEARN, REPORT).index(frame.half) :: 2]
        for size in SIZES:
            drawn = draws.sample(others, size)
            within, outside = drawn[: size - 1], drawn[size - 1]
            memories = [frame.memory, *(other.memory for other in within)]
            draws.shuffle(memories)
            made.append(
                Small(
                    name=f"{language}-{frame.name}-{size}",
                    half=frame.half,
                    memories=memories,
                    place=memories.index(frame.memory),
                    answered=frame.answered,
                    near=frame.near,
                    foreign=draws.choice(outside.answered),
                    elsewhere=draws.choice(elsewhere),
                )
            )
    return made
