"""Histories of 10 to 80 turns, and questions with what a right answer to each contains.

Their author did not know the code. They are in English, Chinese and both, in the first and the third person. DEV is for
finding out what goes wrong; of UNSEEN only figures are printed, so that no rule is made for it. `turns` have
`id`, `session`, `role`, `speaker`, `text` and `time`. `questions` have `contains` (each entry is in a right answer; of
a list one of the alternatives), `gold` (the turns that hold the answer) and `type`; those of the type NEVER_SAID are
close to what was said and have no answer. `questions_dev.jsonl` has 510 more to the histories of DEV, by other writers.
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
    """The result of one question: whether the answer `contains` all that was asked, whether the `first` hit does,
    whether it was `refused`, and how many lines are `unrelated`: they hold nothing of it and quote no turn that does.
    """

    type: str
    contains: bool
    first: bool
    refused: bool
    unrelated: int


def histories(half: str) -> Iterator[dict]:
    """The histories of one half, in the order of their names."""
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
    """Score `lines` as the answer to a question of a history; no lines are a refusal."""
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
