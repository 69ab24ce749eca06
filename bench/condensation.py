#!/usr/bin/env python
"""Measures extractive cards: how much of a session they keep for their tokens, and how similar they are to summaries.

    .venv/bin/python bench/condensation.py --sessions sessions.jsonl --dialogues dev.jsonl

`--sessions`: JSON lines as in LoCoMo, with `group`, `turns` ("Speaker: text"), `time`, and `observation`: for each
speaker [fact, "D<session>:<turn>"] with the source turns of the fact, counted from 1. The score is the share of these
turns that the card quotes. `--dialogues`: as in DialogSum, with `dialogue` (a turn a line) and `summary`; the figures
are ROUGE-1, -2 and -L (F1, stemmed). Each text may take `--share` of the tokens of all turns, counted as an agent gets
it, with heading, labels and dates; the whole turns of the baselines are counted alike. `json` is the cost of the stored
card, and `rolled` a card that takes in `--batch` turns at a time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rouge_score.rouge_scorer import RougeScorer

from memory.text.card import SECTIONS, build_card, card_tokens, line_prefix
from memory.text.statements import Turn
from memory.text.tokens import count_tokens

HEADING = "Summary of the session:\n"
DRAWS = 10
ROUGES = ("rouge1", "rouge2", "rougeL")
KEPT = ("kept", "precision", "tokens")


@dataclass(frozen=True, slots=True)
class Case:
    """Holds a session: its `lines` as an agent gets them, its turns, the places of those worth keeping, a summary."""

    group: str
    lines: list[str]
    turns: list[Turn]
    wanted: frozenset[int]
    summary: str

    @property
    def tokens(self) -> int:
        return sum(map(count_tokens, self.lines))


@dataclass(frozen=True, slots=True)
class Told:
    """Holds what an agent gets for a case: the covered turns, the text, its tokens, and those of its JSON."""

    turns: frozenset[int]
    text: str
    tokens: int
    json_tokens: int = 0


def sessions(path: Path) -> list[Case]:
    """Reads the sessions of a file that have observations."""
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        sources = [source for facts in row["observation"].values() for _, source in facts]
        marks = " ".join(" ".join(source) if isinstance(source, list) else source for source in sources)
        found = re.findall(r"D(\d+):(\d+)", marks)
        wanted = frozenset(int(turn) - 1 for session, turn in found if int(session) == row["session"])
        said = datetime.strptime(row["time"].replace("on ", ""), "%I:%M %p %d %B, %Y")
        if wanted:
            cases.append(_case(row["group"], row["turns"], wanted, row.get("session_summary", ""), said))
    return cases


def dialogues(path: Path) -> list[Case]:
    """Reads the dialogues of a file, with their summaries."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [[turn for turn in row["dialogue"].split("\n") if turn.strip()] for row in rows]
    return [
        _case("", turns, frozenset(), row["summary"], None) for row, turns in zip(rows, lines, strict=True) if turns
    ]


def _case(group: str, lines: Sequence[str], wanted: frozenset[int], summary: str, said: datetime | None) -> Case:
    turns = []
    for place, line in enumerate(lines):
        speaker, _, text = line.partition(": ")
        turns.append(Turn(str(place), text, "user", speaker, said))
    return Case(group, [f"- {line}\n" for line in lines], turns, wanted, summary)


def whole_turns(case: Case, order: Sequence[int], budget: int) -> Told:
    """Makes a text of as many whole turns, in that order of preference, as fit under the heading."""
    spent, taken = count_tokens(HEADING), set()
    for place in order:
        cost = count_tokens(case.lines[place])
        if spent + cost <= budget:
            taken.add(place)
            spent += cost
    return Told(frozenset(taken), "".join(case.lines[place] for place in sorted(taken)), spent)


def card(case: Case, budget: int | None, *, batch: int = 0) -> Told:
    """Makes the card of the case (budget None: the default); with `batch`, it takes in that many turns at a time."""
    built: dict[str, Any] | None = None
    size = batch or len(case.turns)
    for start in range(0, len(case.turns), size):
        done = min(1.0, (start + size) / len(case.turns))
        room = None if budget is None else int((budget - count_tokens(HEADING)) * done)
        built = build_card(case.turns[start : start + size], previous=built, max_tokens=room)
    assert built is not None
    told = {int(source) for items in built["sources"].values() for sources in items for source in sources}
    text = "".join(f"- {line_prefix(section)}{item}\n" for section in SECTIONS for item in built[section])
    stored = json.dumps({k: v for k, v in built.items() if k != "sources"}, ensure_ascii=False, separators=(",", ":"))
    return Told(frozenset(told), text, count_tokens(HEADING) + card_tokens(built), count_tokens(stored))


def baselines(case: Case, budget: int) -> Iterator[tuple[str, Told]]:
    places = list(range(len(case.lines)))
    yield "first turns", whole_turns(case, places, budget)
    yield "longest turns", whole_turns(case, sorted(places, key=lambda place: -len(case.lines[place])), budget)
    for draw in range(DRAWS):
        yield "random turns", whole_turns(case, random.Random(draw).sample(places, len(places)), budget)


def score_kept(case: Case, told: Told) -> list[float]:
    """Returns recall and precision of the turns worth keeping, and the tokens as a share of all."""
    hits = len(case.wanted & told.turns)
    return [hits / len(case.wanted), hits / max(1, len(told.turns)), told.tokens / case.tokens]


def rouge(case: Case, told: Told, scorer: RougeScorer) -> list[float]:
    scores = scorer.score(case.summary, told.text)
    return [scores[name].fmeasure for name in ROUGES]


def measure(cases: Sequence[Case], share: float, batch: int, score: Callable[[Case, Told], list[float]]) -> dict:
    """Returns the mean scores of the baselines and of the card, by name."""
    found: dict[str, list[list[float]]] = {}
    for case in cases:
        budget = int(case.tokens * share)
        told = [*baselines(case, budget), ("card", card(case, budget)), ("rolled", card(case, budget, batch=batch))]
        for name, one in told:
            found.setdefault(name, []).append(score(case, one))
    return {name: _means(rows) for name, rows in found.items()}


def report_sessions(cases: Sequence[Case], share: float, batch: int, scorer: RougeScorer) -> None:
    print(f"{len(cases)} sessions, {share:.0%} of their tokens: source turns kept, precision, tokens (%)")
    rows = measure(cases, share, batch, score_kept)
    _print(KEPT, rows)
    print(f"card to the best baseline: {_lead(rows):.2f}; by conversation, kept and to its best baseline:")
    for group in sorted({case.group for case in cases}):
        own = measure([case for case in cases if case.group == group], share, batch, score_kept)
        print(f"{group:16}{100 * own['card'][0]:12.1f}{_lead(own):12.2f}")
    given = [(case, card(case, None)) for case in cases]
    whole = sum(case.tokens for case in cases)
    text, stored = (sum(getattr(told, name) for _, told in given) for name in ("tokens", "json_tokens"))
    print(f"with the default budget, of {whole} tokens: text {text / whole:.1%}, json {stored / whole:.1%}")
    _print(KEPT, {"card": _means([score_kept(case, told) for case, told in given])})
    print("ROUGE to the reference summaries (F1, %)")
    summarised = [case for case in cases if case.summary]
    _print(ROUGES, measure(summarised, share, batch, lambda case, told: rouge(case, told, scorer)))


def _lead(rows: dict[str, list[float]]) -> float:
    """Returns the card's score divided by that of the best baseline."""
    return rows["card"][0] / max(values[0] for name, values in rows.items() if name.endswith("turns"))


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.mean(column) for column in zip(*rows, strict=True)]


def _print(names: Sequence[str], rows: dict[str, list[float]]) -> None:
    print(f"{'':16}" + "".join(f"{name:>12}" for name in names))
    for name, values in rows.items():
        print(f"{name:16}" + "".join(f"{100 * value:12.1f}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path)
    parser.add_argument("--dialogues", type=Path)
    parser.add_argument("--share", type=float, default=0.25, help="of a session's tokens, that a text may take (0.25)")
    parser.add_argument("--batch", type=int, default=8, help="turns that a rolled card takes in at a time (8)")
    options = parser.parse_args()
    scorer = RougeScorer(list(ROUGES), use_stemmer=True)
    if options.sessions:
        report_sessions(sessions(options.sessions), options.share, options.batch, scorer)
    if options.dialogues:
        cases = dialogues(options.dialogues)
        print(f"{len(cases)} dialogues, {options.share:.0%} of their tokens: ROUGE to the summaries (F1, %)")
        _print(ROUGES, measure(cases, options.share, options.batch, lambda case, told: rouge(case, told, scorer)))


if __name__ == "__main__":
    main()
