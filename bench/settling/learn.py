#!/usr/bin/env python
"""Learns the weights of `memory/governance/likelihood.py` from the pairs beside this script and the learn half.

    .venv/bin/python bench/settling/learn.py

`pairs.tsv` has a pair of messages a line: U (the newer replaces the older) or N (it only looks so), older, newer. Pairs
across lines are added as negatives. A logistic regression with a little L2 is fitted on the pairs that no rule decides
and nothing speaks against; of the clauses of a pair the most likely two count. Printed are, by cross-validation over
pairs and frames, how many updates are recognised and how many others are taken for one, and the weights.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
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

from bench.settling.halves import cases_of
from memory.governance.likelihood import Nearness, features, may_replace
from memory.governance.updates import resolved, update
from memory.providers.embedding import configured, provider_for
from memory.text.analysis import cjk_share
from memory.text.utterances import statements

CROSSED = 3000
FOLDS = 5
L2 = 1.0
# Weight of a pair across lines, of which there are many and easy ones.
CROSSED_WEIGHT = 0.5
# A rule this sure decides by itself.
RULED = 0.75


@dataclass(frozen=True, slots=True)
class Pair:
    """Messages of one `group`; `label` 1 when the newer replaces the older; `crossed`: they are of two groups."""

    group: str
    label: int
    older: str
    newer: str
    crossed: bool = False


def main() -> None:
    pairs = list(_pairs())
    rows = _rows(pairs)
    groups = sorted({pair.group for pair in pairs})
    random.Random(0).shuffle(groups)
    fold = {group: number % FOLDS for number, group in enumerate(groups)}
    chances = np.zeros(len(pairs))
    for held_out in range(FOLDS):
        weights = _fit([row for pair, row in zip(pairs, rows, strict=True) if fold[pair.group] != held_out])
        for place, (pair, row) in enumerate(zip(pairs, rows, strict=True)):
            if fold[pair.group] == held_out:
                chances[place] = row.chance(weights)
    _report(pairs, chances)
    names = list(features(*_any_claims(), Nearness(0.0, 0.0)))
    for name, weight in zip(names, _fit(rows), strict=True):
        print(f'    "{name}": {weight:.2f},')


def _pairs() -> Iterator[Pair]:
    lines = (Path(__file__).parent / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        label, older, newer = line.split("\t")
        found.append(Pair(f"line {number}", int(label == "U"), older, newer))
    for case in cases_of("learn"):
        said = [place for place, message in enumerate(case.messages) if message.role == "user"]
        texts = [message.text for message in case.messages]
        if case.kind == "lookalike":
            found += [Pair(case.frame, 0, texts[old], texts[new]) for new in said for old in said if old < new]
        for one in case.replaced:
            later = [place for place in said if place > one.message and place not in case.untouched]
            found += [Pair(case.frame, 1, texts[one.message], texts[place]) for place in later[:1]]
    yield from found
    chance = random.Random(3)
    for _ in range(CROSSED):
        one, other = chance.choice(found), chance.choice(found)
        if one.group != other.group and _chinese(one.older) == _chinese(other.newer):
            yield Pair(one.group, 0, one.older, other.newer, crossed=True)


def _chinese(text: str) -> bool:
    return cjk_share(text) > 0.5


@dataclass(slots=True)
class Row:
    """`values`: the features of each two clauses that may replace one another; `ruled`: a rule decides."""

    label: int
    weight: float
    values: np.ndarray
    ruled: bool

    def chance(self, weights: np.ndarray) -> float:
        """0..1: of the most likely two clauses."""
        if self.ruled:
            return 1.0
        return float(1 / (1 + np.exp(-(self.values @ weights).max()))) if len(self.values) else 0.0


def _rows(pairs: list[Pair]) -> list[Row]:
    read = {text: resolved(statements(text)) for pair in pairs for text in (pair.older, pair.newer)}
    texts = {
        text
        for said in read.values()
        for statement, claims in said
        for text in (statement.text, *(claim.clause.text for claim in claims))
    }
    known = sorted(texts)
    vectors = dict(zip(known, provider_for(*configured()).embed(known), strict=True))
    rows = []
    for pair in pairs:
        values, ruled = [], False
        for statement, claims in read[pair.newer]:
            for new in claims:
                for old in (claim for _, earlier in read[pair.older] for claim in earlier):
                    decided = update(new, old)
                    ruled = ruled or (decided is not None and decided.confidence >= RULED)
                    if may_replace(new, old):
                        former = vectors[old.clause.text]
                        near = Nearness(
                            float(vectors[statement.text] @ former), float(vectors[new.clause.text] @ former)
                        )
                        values.append(list(features(new, old, near).values()))
        rows.append(Row(pair.label, CROSSED_WEIGHT if pair.crossed else 1.0, np.array(values), ruled))
    return rows


def _any_claims() -> tuple:
    [(_, (claim,))] = resolved(statements("I live here."))
    return claim, claim


def _fit(rows: list[Row]) -> np.ndarray:
    """Newton's method; the most likely two clauses of a pair are chosen anew in a few rounds."""
    rows = [row for row in rows if len(row.values) and not row.ruled]
    size = rows[0].values.shape[1]
    penalty = L2 * np.eye(size)
    penalty[0, 0] = 0.0
    labels, importance = np.array([row.label for row in rows]), np.array([row.weight for row in rows])
    weights = np.zeros(size)
    weights[1:5] = 1.0
    for _ in range(4):
        chosen = np.array([row.values[np.argmax(row.values @ weights)] for row in rows])
        weights = np.zeros(size)
        for _ in range(25):
            chance = 1 / (1 + np.exp(-np.clip(chosen @ weights, -30, 30)))
            gradient = chosen.T @ (importance * (labels - chance)) - penalty @ weights
            curvature = (
                (chosen * (importance * chance * (1 - chance))[:, None]).T @ chosen + penalty + 1e-9 * np.eye(size)
            )
            weights = weights + np.linalg.solve(curvature, gradient)
    return weights


def _report(pairs: list[Pair], chances: np.ndarray) -> None:
    print("at least   updates recognised, look-alikes and other pairs taken for one (%)")
    for least in (0.5, 0.6, 0.7, 0.75, 0.8):
        cells = []
        for language, chinese in (("en", False), ("zh", True)):
            shares = []
            for label, crossed in ((1, False), (0, False), (0, True)):
                mine = [
                    chance >= least
                    for pair, chance in zip(pairs, chances, strict=True)
                    if (pair.label, pair.crossed) == (label, crossed) and _chinese(pair.older) == chinese
                ]
                shares.append(100 * sum(mine) / len(mine))
            cells.append(f"{language} {shares[0]:5.1f} {shares[1]:5.1f} {shares[2]:5.2f}")
        print(f"{least:8}   " + "   ".join(cells))


if __name__ == "__main__":
    main()
