"""Reads histories of 10 to 80 turns, and questions with the contents of their right answers.

Their author did not know the code. They are in English, Chinese and both, in the first and the third person. DEV is for
analysing failures; only figures of UNSEEN are printed, so that no rule is made for it. `turns` have `id`, `session`,
`role`, `speaker`, `text` and `time`. `questions` have `contains` (a right answer has each entry, or one of the
alternatives in a list), `gold` (the turns with the answer) and `type`; those of the type NEVER_SAID are close to what
was said, but have no answer. `questions_dev.jsonl` has 510 more for the histories of DEV, by other writers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DEV, UNSEEN = "dev", "unseen"
NEVER_SAID = "never_said"
MORE = "more"


@dataclass(frozen=True, slots=True)
class Line:
    """Holds a line of an answer, and the ids of the turns that it quotes."""

    text: str
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Score:
    """Holds the result of one question.

    `contains`: the answer has everything that was asked. `first`: the first hit has. `refused`: there was no answer.
    `unrelated`: the number of lines that contain nothing of the answer, and quote no turn that does.
    """

    type: str
    contains: bool
    first: bool
    refused: bool
    unrelated: int


def histories(half: str) -> Iterator[dict]:
    """Yields the histories of one half, in the order of their names."""
    for path in sorted(Path(__file__).parent.glob(f"*_{half}_*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def more_questions() -> dict[str, list[dict]]:
    """Reads the further questions to the histories of DEV, by the history's name; their type is MORE or NEVER_SAID."""
    found: dict[str, list[dict]] = {}
    for line in (Path(__file__).parent / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        question["type"] = MORE if question["gold"] else NEVER_SAID
        found.setdefault(question["history"], []).append(question)
    return found


def score(question: dict, lines: Sequence[Line], first_hit: str) -> Score:
    """Scores `lines` as the answer to a question of a history; no lines are a refusal."""
    wanted = [[entry] if isinstance(entry, str) else entry for entry in question["contains"]]

    def holds(text: str, entry: Sequence[str]) -> bool:
        return any(one.casefold() in text.casefold() for one in entry)

    answer = "\n".join(line.text for line in lines)
    return Score(
        type=question["type"],
        contains=bool(lines) and all(holds(answer, entry) for entry in wanted),
        first=all(holds(first_hit, entry) for entry in wanted),
        refused=not lines,
        unrelated=sum(
            line.turns.isdisjoint(question["gold"]) and not any(holds(line.text, entry) for entry in wanted)
            for line in lines
        ),
    )
