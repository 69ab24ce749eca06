#!/usr/bin/env python
"""Measures `memory/governance/duplicates.py` on pairs of sentences whose sameness people judged.

    .venv/bin/python bench/duplicates.py PATH

PATH holds files NAME.tsv with the columns a, b, label: 0 or 1 (the same), a grade 0..5 (the same from 4.5), or
entailment, neutral, contradiction. Printed are, of each file and for what may be merged unseen and for what is near at
least: precision, recall and F1 of "the same", and how many pairs that are not (of an inference set: contradictions)
were taken for it, all in percent. The cosine is that of the bundled model (MEMOS_MODEL_DIR).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.enums import Sameness
from memory.governance.duplicates import sameness
from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding

SAME_GRADE = 4.5
BATCH = 256
MERGED = (Sameness.EXACT, Sameness.RESTATES)


@dataclass(frozen=True, slots=True)
class Pairs:
    """`same`: that people judged so; `other`: that must not be merged (neutral pairs of inference sets are neither)."""

    name: str
    texts: list[tuple[str, str]]
    same: np.ndarray
    other: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    models = Path(os.environ.get("MEMOS_MODEL_DIR") or Path(os.environ.get("MEMOS_DATA_DIR", "data")) / "models")
    model = MiniLMEmbedding(DEFAULT_MODEL, model_dir=models, threads=os.cpu_count() or 1)
    columns = f"{'R':>7}{'F1':>7}{'false':>7}"
    print(f"{'set':20}{'pairs':>7}   {'merged: P':>10}{columns}   {'near: P':>10}{columns}")
    for file in sorted(options.path.glob("*.tsv")):
        pairs = _read(file)
        cosines = _cosines(model, pairs.texts)
        found = [sameness(a, b, cosine=float(c)) for (a, b), c in zip(pairs.texts, cosines, strict=True)]
        merged = np.array([verdict in MERGED for verdict in found])
        near = np.array([verdict is not Sameness.DIFFERENT for verdict in found])
        print(f"{pairs.name:20}{len(found):7}   {_figures(pairs, merged)}   {_figures(pairs, near)}", flush=True)


def _read(file: Path) -> Pairs:
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    rows = [row for row in rows if len(row) == 3]
    labels = [row[2] for row in rows]
    if {"entailment", "contradiction"} & set(labels):
        same = np.array([label == "entailment" for label in labels])
        other = np.array([label == "contradiction" for label in labels])
    else:
        grades = np.array([float(label) for label in labels])
        same = grades >= (1 if grades.max() <= 1 else SAME_GRADE)
        other = ~same
    return Pairs(file.stem, [(row[0], row[1]) for row in rows], same, other)


def _cosines(model: MiniLMEmbedding, texts: Sequence[tuple[str, str]]) -> np.ndarray:
    """Of each pair; every text is embedded once."""
    distinct = list(dict.fromkeys(text for pair in texts for text in pair))
    place = {text: row for row, text in enumerate(distinct)}
    vectors = np.concatenate([model.embed(distinct[start : start + BATCH]) for start in range(0, len(distinct), BATCH)])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.array([(place[a], place[b]) for a, b in texts])
    return np.einsum("ij,ij->i", vectors[rows[:, 0]], vectors[rows[:, 1]])


def _figures(pairs: Pairs, found: np.ndarray) -> str:
    right = int((found & pairs.same).sum())
    precision, recall = right / max(int(found.sum()), 1), right / max(int(pairs.same.sum()), 1)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    false = (found & pairs.other).sum() / max(int(pairs.other.sum()), 1)
    return f"{100 * precision:10.1f}{100 * recall:7.1f}{100 * f1:7.1f}{100 * false:7.1f}"


if __name__ == "__main__":
    main()
