#!/usr/bin/env python
"""Learns the weights of `memory/governance/likelihood.py` from the pairs beside this script and the learn half.

    .venv/bin/python bench/settling/learn.py
    .venv/bin/python bench/settling/learn.py --held-out

A line of PAIRS is a pair of messages: U (the newer replaces the older) or N (it only looks so), older, newer. Two facts
of one sheet of `facts.py` are an N. Three
tenths of the files of FRESH are held out, all lines of an older message together; pairs across lines are added as
negatives. A logistic regression with L2 is fitted; of the clauses of a pair the most likely two count. An N weighs more
than a U, for a wrong retirement is worse than one that is missed. Printed are the weights and, by cross-validation
over older messages and frames, how many updates are recognised and how many others are taken for one; with --held-out
the same for the lines that were held out (whoever mends the rules by them has spent them).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
os.environ.setdefault("MEMOS_DATA_DIR", str(Path(tempfile.gettempdir()) / "memos-bench-settling"))
os.environ.setdefault("DATABASE_URL", "postgresql://nobody@localhost/nothing")
os.environ.setdefault("REDIS_URL", "redis://localhost:1/0")

import django

django.setup()

from bench.settling import facts, frames_learn
from bench.settling.cases import Case, contains
from bench.settling.halves import LEARN, cases_of
from bench.settling.pairs import PAIRS, lines_of
from memory.governance.likelihood import Nearness, features, is_told, vetoes
from memory.governance.references import resolve_references
from memory.governance.updates import update
from memory.providers.embedding.registry import provider_for, read_configured_model
from memory.text.analysis import cjk_share
from memory.text.utterances import statements

CROSSED = "crossed"
HELD_OUT = "held out"
FACTS = "facts"
HELD_OUT_FACTS = "facts held out"
MOST_CROSSED = 6000
_BESIDE = frozenset((*frames_learn.BESIDE_EN, *frames_learn.BESIDE_ZH))
FOLDS = 5
L2 = 1.0
# Weight of an N, and of a pair across lines, of which there are many and easy ones; a U has 1.
NEGATIVE_WEIGHT = 1.5
CROSSED_WEIGHT = 0.5
LEAST = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8)


@dataclass(frozen=True, slots=True)
class Pair:
    """Messages of one `group` of a `source`; `label` 1 when the newer replaces the older."""

    source: str
    group: str
    label: int
    older: str
    newer: str


@dataclass(frozen=True, slots=True)
class Row:
    """`values`: the features of each two clauses and, behind them, their vetoes, float64 [two clauses, columns];
    `free`: which of them no veto forbids, bool [two clauses]."""

    label: int
    weight: float
    values: np.ndarray
    free: np.ndarray

    def chance(self, weights: np.ndarray) -> float:
        """0..1: of the most likely two clauses that no veto forbids."""
        return float(1 / (1 + np.exp(-(self.values[self.free] @ weights).max()))) if self.free.any() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="report the lines that were held out, too")
    options = parser.parse_args()
    every = list(read_pairs())
    pairs = [pair for pair in every if pair.source not in (HELD_OUT, HELD_OUT_FACTS)]
    pairs += cross_pairs(pairs)
    names, rows = rows_of(pairs)
    report(pairs, cross_validate(pairs, rows))
    weights = fit(rows)
    if options.held_out:
        kept = [pair for pair in every if pair.source in (HELD_OUT, HELD_OUT_FACTS)]
        report(kept, np.array([row.chance(weights) for row in rows_of(kept)[1]]))
    for name, weight in zip(names, weights[: len(names)], strict=True):
        print(f'    "{name}": {weight:.2f},')


def read_pairs() -> Iterator[Pair]:
    """The lines of every file of PAIRS, and what the learn half says that it replaces or leaves alone."""
    for name in PAIRS:
        for line in lines_of(name):
            yield Pair(HELD_OUT if line.held_out else name, line.older, int(line.replaces), line.older, line.newer)
    for case in cases_of(LEARN):
        yield from _pairs_of(case)
    for held_out in (False, True):
        for group, older, newer in facts.pairs(held_out=held_out):
            yield Pair(HELD_OUT_FACTS if held_out else FACTS, group, 0, older, newer)


def _pairs_of(case: Case) -> Iterator[Pair]:
    texts = [message.text for message in case.messages]
    said = [at for at, one in enumerate(case.messages) if one.role == "user"]
    beside = [at for at in said if texts[at] in _BESIDE]
    told = [at for at in said if at not in beside]
    giving_way = {one.message for one in case.replaced}
    if case.kind == "compound":
        former = [one.not_first for one in case.questions if one.not_first]
        giving_way |= {at for at in told[:-1] if any(contains(texts[at], value) for value in former)}
    for old in sorted(giving_way):
        later = [at for at in told if at > old and at not in giving_way]
        yield from (Pair(LEARN, case.frame, 1, texts[old], texts[at]) for at in later[-1:])
    left_alone = told if case.kind == "lookalike" else beside
    yield from (Pair(LEARN, case.frame, 0, texts[old], texts[new]) for new in told for old in left_alone if old < new)


def cross_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of an older and a newer message of two lines, half of them of two Chinese lines."""
    chance = random.Random(3)
    found = []
    for chinese in (False, True):
        mine = [pair for pair in pairs if _chinese(pair.older) == _chinese(pair.newer) == chinese]
        chosen = [(chance.choice(mine), chance.choice(mine)) for _ in range(MOST_CROSSED // 2)]
        found += [
            Pair(CROSSED, one.group, 0, one.older, other.newer) for one, other in chosen if one.group != other.group
        ]
    return found


def _chinese(text: str) -> bool:
    return cjk_share(text) > 0.5


def rows_of(pairs: Sequence[Pair]) -> tuple[list[str], list[Row]]:
    """The names of the features, and a row for each pair."""
    read = {text: resolve_references(statements(text)) for pair in pairs for text in (pair.older, pair.newer)}
    known = sorted(
        {
            text
            for said in read.values()
            for statement, claims in said
            for text in (statement.text, *(claim.clause.text for claim in claims))
        }
    )
    vectors = dict(zip(known, provider_for(*read_configured_model()).embed(known), strict=True))
    names: list[str] = []
    rows = []
    for pair in pairs:
        values, free = [], []
        for statement, claims in read[pair.newer]:
            for new in claims:
                for old in (claim for _, earlier in read[pair.older] for claim in earlier):
                    ruled = update(new, old)
                    if not is_told(new, old, statement.text):
                        continue
                    former = vectors[old.clause.text]
                    near = Nearness(float(vectors[statement.text] @ former), float(vectors[new.clause.text] @ former))
                    rule = ruled.confidence if ruled else 0.0
                    found = features(new, old, statement.text, near, rule=rule)
                    forbidden = vetoes(new, old, statement.text, ruled=ruled is not None)
                    names = names or list(found)
                    values.append([*found.values(), *forbidden.values()])
                    free.append(not any(forbidden.values()))
        rows.append(Row(pair.label, _weight(pair), np.array(values, float), np.array(free, bool)))
    return names, rows


def _weight(pair: Pair) -> float:
    if pair.source == CROSSED:
        return CROSSED_WEIGHT
    return 1.0 if pair.label else NEGATIVE_WEIGHT


def fit(rows: Sequence[Row]) -> np.ndarray:
    """Newton's method; the most likely two clauses of a pair are chosen anew in a few rounds. float64 [columns]."""
    rows = [row for row in rows if len(row.values)]
    size = rows[0].values.shape[1]
    penalty = L2 * np.eye(size)
    penalty[0, 0] = 0.0
    labels, importance = np.array([row.label for row in rows]), np.array([row.weight for row in rows])
    chosen = np.array([row.values.mean(axis=0) for row in rows])
    for _ in range(4):
        weights = np.zeros(size)
        for _ in range(15):
            chance = 1 / (1 + np.exp(-np.clip(chosen @ weights, -30, 30)))
            gradient = chosen.T @ (importance * (labels - chance)) - penalty @ weights
            curvature = (chosen * (importance * chance * (1 - chance))[:, None]).T @ chosen + penalty
            weights = weights + np.linalg.solve(curvature, gradient)
        chosen = np.array([row.values[np.argmax(row.values @ weights)] for row in rows])
    return weights


def cross_validate(pairs: Sequence[Pair], rows: Sequence[Row]) -> np.ndarray:
    """The likelihood of each pair by weights that were learned without its group."""
    groups = sorted({pair.group for pair in pairs})
    random.Random(0).shuffle(groups)
    fold = {group: number % FOLDS for number, group in enumerate(groups)}
    chances = np.zeros(len(pairs))
    for held_out in range(FOLDS):
        weights = fit([row for pair, row in zip(pairs, rows, strict=True) if fold[pair.group] != held_out])
        for place, (pair, row) in enumerate(zip(pairs, rows, strict=True)):
            if fold[pair.group] == held_out:
                chances[place] = row.chance(weights)
    return chances


def report(pairs: Sequence[Pair], chances: np.ndarray) -> None:
    """Prints the share of U and of N that are at least so likely, of each source and language."""
    print(f"{'updates recognised / others taken for one, %':46}" + "".join(f"{least:>14}" for least in LEAST))
    for source in dict.fromkeys(pair.source for pair in pairs):
        for language, chinese in (("en", False), ("zh", True)):
            mine = [
                place for place, pair in enumerate(pairs) if pair.source == source and _chinese(pair.older) == chinese
            ]
            cells = []
            for least in LEAST:
                shares = []
                for label in (1, 0):
                    found = [chances[place] >= least for place in mine if pairs[place].label == label]
                    shares.append(f"{100 * sum(found) / len(found):.1f}" if found else "-")
                cells.append(f"{shares[0]:>7} /{shares[1]:>5}")
            if mine:
                print(f"{source + ' ' + language:30}{len(mine):6} pairs    " + "".join(cells))


if __name__ == "__main__":
    main()
