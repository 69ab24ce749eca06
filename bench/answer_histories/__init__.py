"""Histories of 10 to 80 turns, and questions with what a right answer to each contains.

Their author did not know the code. They are in English, Chinese and both, in the first and the third person. DEV is for
finding faults; of UNSEEN only figures are printed, so that no rule is made for it. `turns` have `id`, `session`,
`role`, `speaker`, `text` and `time`. `questions` have `contains` (a right answer has each entry, or one of the
alternatives if the entry is a list), `gold` (the turns that hold the answer) and `type`. Questions of the type
NEVER_SAID are close to the history and have no answer. `questions_dev.jsonl` has 510 further questions to the histories
of DEV, by other writers.
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
    """A line of an answer, and the ids of the turns that it quotes."""

    text: str
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Score:
    """The result of one question.

    `contains`: the answer has everything that was asked. `first`: the first hit has it. `refused`: there is no answer.
    `unrelated`: the number of lines that contain nothing of it and quote no turn that does.
    """

    type: str
    contains: bool
    first: bool
    refused: bool
    unrelated: int


def histories(half: str) -> Iterator[dict]:
    """Yield the histories of one half, sorted by name."""
    for path in sorted(Path(__file__).parent.glob(f"*_{half}_*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def more_questions() -> dict[str, list[dict]]:
    """Read the further questions to the histories of DEV, by the history's name. Their type is MORE or NEVER_SAID."""
    found: dict[str, list[dict]] = {}
    for line in (Path(__file__).parent / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        question["type"] = MORE if question["gold"] else NEVER_SAID
        found.setdefault(question["history"], []).append(question)
    return found


def score(question: dict, lines: Sequence[Line], first_hit: str) -> Score:
    """Score `lines` as the answer to a question of a history. No lines mean a refusal."""
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
