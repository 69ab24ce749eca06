"""A tiny dataset: two groups, one question for both groups, one question without evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CORPUS: list[dict[str, Any]] = [
    {"_id": "a1", "group": "a", "text": "The kiln fires at nine hundred degrees.", "speaker": "Tove", "session": "s1"},
    {"_id": "a2", "group": "a", "text": "Glaze dries for two days.", "speaker": "assistant", "time": "2024-05-01"},
    {"_id": "a3", "group": "a", "text": "The parking permit ends in June."},
    {"_id": "b1", "group": "b", "text": "The ferry to the island leaves at seven."},
    {"_id": "b2", "group": "b", "text": "A kiln ticket costs four coins."},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "group": "a", "text": "How hot is the kiln when it fires?", "type": "fact"},
    {"_id": "q2", "group": "a", "text": "How many days does glaze dry?", "type": "time"},
    {"_id": "q3", "group": "*", "text": "Which kiln ticket costs how many coins?", "type": "fact"},
    {"_id": "q4", "group": "b", "text": "Who knows the way to the moon?", "type": "fact"},
]
QRELS = [("q1", "a1", 1), ("q2", "a2", 1), ("q3", "b2", 1), ("q4", "b1", 0)]


def write_dataset(folder: Path, *, corpus: Any = CORPUS, queries: Any = QUERIES, qrels: Any = QRELS) -> Path:
    """Write the dataset as files; a row that is a string is written unchanged."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    lines = [row if isinstance(row, str) else "\t".join(map(str, row)) for row in qrels]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_dataset(tmp_path / "pottery")


@pytest.fixture
def make_dataset(tmp_path: Path) -> Callable[..., Path]:
    return lambda **changes: write_dataset(tmp_path / "changed", **changes)
