#!/usr/bin/env python
"""Fits the weights of `memory/governance/update_score.py`, and writes them to `update_weights.json` next to it.

    .venv/bin/python bench/settling/learn.py
    .venv/bin/python bench/settling/learn.py --write

It learns from the pairs in this folder that are not held out, the even sheets of `facts.py`, the learn half of the
frames, the dev half of `strangers/`, and pairs across lines as negatives. It prints for the other pairs the share of
updates and of others that reach each threshold, unless `find_obstacle` finds one. With --write, the weights are stored.
The model is a logistic regression with L2, fitted by Newton's method.
"""

from __future__ import annotations

import argparse
import json
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
os.environ.setdefault("MEMOS_SECRET_KEY", "only-to-learn-weights-that-no-server-reads-with-this-key")

import django

django.setup()

from bench.settling import facts, frames_learn, frames_report, strangers
from bench.settling.cases import Case, contains
from bench.settling.halves import LEARN, REPORT, cases_of
from bench.settling.pairs import COUNTED, PAIRS, lines_of
from memory.governance.update_score import WEIGHTS_FILE, compute_features, find_obstacle, list_features
from memory.providers.embedding.registry import provider_for, read_configured_model
from memory.text.subjects import is_chinese

MOST_CROSSED = 6000
L2 = 2.0
# The weight of a pair of each source. Those of strangers are few, but most like what people write.
IMPORTANCE = {
    "crossed": 0.5,
    "pairs_same_form": 6.0,
    "pairs_plain": 3.0,
    "pairs_plain_zh": 3.0,
    "facts": 4.0,
    "updates": 4.0,
    "successors": 4.0,
    "lookalikes": 2.0,
    "series": 2.0,
}
LEAST = (0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8)
_BESIDE = frozenset(
    (*frames_learn.BESIDE_EN, *frames_learn.BESIDE_ZH, *frames_report.BESIDE_EN, *frames_report.BESIDE_ZH)
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Holds two statements of one `source`; `label` is 1 if the newer gives a new value for the older one."""

    source: str
    label: int
    older: str
    newer: str

    @property
    def chinese(self) -> bool:
        return is_chinese(self.older)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the weights")
    options = parser.parse_args()
    learned, held_out = list(read_learned()), list(read_held_out())
    learned += cross_pairs(learned)
    vectors = embed([*learned, *held_out])
    names = list_features()
    free = [pair for pair in learned if not find_obstacle(pair.newer, pair.older)]
    rows = build_rows(free, names, vectors)
    importance = np.array([IMPORTANCE.get(pair.source, 1.0) for pair in free])
    weights = fit(rows, np.array([pair.label for pair in free]), importance)
    if options.write:
        size = len(names)
        found = {name: [round(weights[at], 3), round(weights[size + at], 3)] for at, name in enumerate(names)}
        WEIGHTS_FILE.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    report(held_out, names, vectors, weights)


def read_learned() -> Iterator[Pair]:
    """Yields the pairs that weights are learned from."""
    for name in PAIRS:
        yield from (Pair(name, int(one.replaces), one.older, one.newer) for one in lines_of(name) if not one.held_out)
    yield from (pair for case in cases_of(LEARN) for pair in _list_pairs_of(case, LEARN))
    yield from (Pair("facts", 0, older, newer) for _, older, newer in facts.pairs(held_out=False))
    yield from _read_strangers(strangers.DEV)


def read_held_out() -> Iterator[Pair]:
    """Yields the pairs that are only counted."""
    for name in PAIRS:
        yield from (
            Pair("pairs held out", int(one.replaces), one.older, one.newer) for one in lines_of(name) if one.held_out
        )
    for name in COUNTED:
        yield from (Pair(f"{name} counted", int(one.replaces), one.older, one.newer) for one in lines_of(name))
    yield from (pair for case in cases_of(REPORT) for pair in _list_pairs_of(case, f"report {case.kind}"))
    yield from (Pair("facts held out", 0, older, newer) for _, older, newer in facts.pairs(held_out=True))
    yield from (
        Pair(f"{pair.source} unseen", pair.label, pair.older, pair.newer) for pair in _read_strangers(strangers.UNSEEN)
    )


def _read_strangers(half: str) -> Iterator[Pair]:
    for kind in ("updates", "lookalikes", "series", "successors"):
        yield from (Pair(kind, label, older, newer) for label, _, older, newer in strangers.list_pairs(kind, half))


def _list_pairs_of(case: Case, source: str) -> Iterator[Pair]:
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
        yield from (Pair(source, 1, texts[old], texts[at]) for at in later[-1:])
    left_alone = told if case.kind == "lookalike" else beside
    yield from (Pair(source, 0, texts[old], texts[new]) for new in told for old in left_alone if old < new)


def cross_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Makes pairs of an older and a newer message of different lines, half of them Chinese."""
    chance = random.Random(3)
    found = []
    for chinese in (False, True):
        mine = [pair for pair in pairs if pair.chinese == chinese]
        chosen = [(chance.choice(mine), chance.choice(mine)) for _ in range(MOST_CROSSED // 2)]
        found += [Pair("crossed", 0, one.older, other.newer) for one, other in chosen if one.older != other.older]
    return found


def embed(pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
    """Returns the vector of each text."""
    texts = sorted({text for pair in pairs for text in (pair.older, pair.newer)})
    return dict(zip(texts, provider_for(*read_configured_model()).embed(texts), strict=True))


def build_rows(pairs: Sequence[Pair], names: Sequence[str], vectors: dict[str, np.ndarray]) -> np.ndarray:
    """Returns float64 [pairs, 2 × features]: the features, and repeated for Chinese pairs only."""
    place = {name: at for at, name in enumerate(names)}
    rows = np.zeros((len(pairs), 2 * len(names)))
    for row, pair in zip(rows, pairs, strict=True):
        cosine = float(vectors[pair.newer] @ vectors[pair.older])
        for name, value in compute_features(pair.newer, pair.older, cosine).items():
            row[place[name]] = value
        if pair.chinese:
            row[len(names) :] = row[: len(names)]
    return rows


def fit(rows: np.ndarray, labels: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """Fits the weights, float64 [columns]."""
    size = rows.shape[1]
    penalty = L2 * np.eye(size)
    penalty[0, 0] = 1e-6
    weights = np.zeros(size)
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (importance * (labels - chance)) - penalty @ weights
        curvature = (rows * (importance * chance * (1 - chance))[:, None]).T @ rows + penalty
        weights = weights + np.linalg.solve(curvature, gradient)
    return weights


def report(pairs: Sequence[Pair], names: Sequence[str], vectors: dict[str, np.ndarray], weights: np.ndarray) -> None:
    """Prints the share of updates and of others that reach each threshold, by source and language."""
    chances = 1 / (1 + np.exp(-(build_rows(pairs, names, vectors) @ weights)))
    chances *= [not find_obstacle(pair.newer, pair.older) for pair in pairs]
    print(f"{'updates linked / others linked, %':44}" + "".join(f"{least:>14}" for least in LEAST))
    for source in sorted({pair.source for pair in pairs}):
        for chinese in (False, True):
            mine = [at for at, pair in enumerate(pairs) if pair.source == source and pair.chinese == chinese]
            cells = []
            for least in LEAST:
                shares = []
                for label in (1, 0):
                    found = [chances[at] >= least for at in mine if pairs[at].label == label]
                    shares.append(f"{100 * sum(found) / len(found):.1f}" if found else "-")
                cells.append(f"{shares[0]:>7} /{shares[1]:>5}")
            if mine:
                print(f"{source + (' zh' if chinese else ' en'):34}{len(mine):4} pairs" + "".join(cells))


if __name__ == "__main__":
    main()
