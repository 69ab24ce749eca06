#!/usr/bin/env python
"""Measures how well the gate tells which turns are worth long-term memory, and learns weights for its parts.

    .venv/bin/python bench/gate_worth.py turns.jsonl [--label share_memory] [--sets sets/one sets/two]

A line of the file is {text, role, session, <label>: true or false}; any role but `user` counts as the agent. Printed
are precision, recall and F1 by threshold of the shipped points; then for each part its frequency in turns that are
worth it and in others, its points, and its weight in a logistic regression, with the F1 of these weights on
conversations (the part of the session's name before "/") that they were not learned from.

`--sets` names folders in the form of `manage.py evaluate`, for which the shares of all turns and of evidence that are
worth enough are printed. No weights are learned from them: they show whether the points hold elsewhere. There, the
first speaker of a group counts as the user, unless the speakers are called user and assistant.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.enums import Role
from memory.gate.policy import GatePolicy
from memory.gate.worth import POINTS, shares, worth

THRESHOLDS = np.round(np.arange(0.20, 0.66, 0.05), 2)
RIDGE = 1.0
NEWTON_STEPS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("turns", type=Path)
    parser.add_argument("--label", default="share_memory")
    parser.add_argument("--sets", nargs="*", default=[], type=Path, metavar="DIR")
    options = parser.parse_args()

    turns = _lines(options.turns)
    roles = [Role.USER if turn["role"] == Role.USER else Role.AGENT for turn in turns]
    labels = np.array([bool(turn[options.label]) for turn in turns])
    scores = np.array([worth(turn["text"], role=role).score for turn, role in zip(turns, roles, strict=True)])
    found = [shares(turn["text"], role=role) for turn, role in zip(turns, roles, strict=True)]
    features = np.array([[one.get(name, 0.0) for name in POINTS] for one in found])
    groups = np.array([str(turn.get("session", "")).partition("/")[0] for turn in turns])

    print(f"{len(turns)} turns, {labels.sum()} worth long-term memory\n\nthreshold  precision  recall     F1")
    for threshold in THRESHOLDS:
        figures = _figures(scores >= threshold, labels)
        mark = "  default" if np.isclose(threshold, GatePolicy().worth_threshold) else ""
        print(f"{threshold:9.2f}" + "".join(f"{figure:10.3f}" for figure in figures) + mark)
    _report_learning(features, labels, groups)
    for folder in options.sets:
        _report_set(folder)


def _lines(path: Path) -> list[dict]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def _figures(chosen: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    hits = float((chosen & labels).sum())
    precision, recall = hits / max(1.0, chosen.sum()), hits / max(1.0, labels.sum())
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def _report_learning(features: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> None:
    weights = _learn_weights(features, labels)
    print("\npart          in worth  in others  points  learned (log odds)")
    for place, name in enumerate(POINTS):
        has = features[:, place] > 0
        print(
            f"{name:13}{has[labels].mean():9.2f}{has[~labels].mean():11.2f}{POINTS[name]:8.2f}{weights[place + 1]:9.2f}"
        )
    scores = np.zeros(len(labels))
    for group in np.unique(groups):
        own = groups == group
        learned = _learn_weights(features[~own], labels[~own])
        scores[own] = learned[0] + features[own] @ learned[1:]
    best = max((_figures(scores >= cut, labels) for cut in np.arange(-3.0, 1.0, 0.1)), key=lambda figures: figures[2])
    print("learned, other conversations: precision {:.3f}, recall {:.3f}, F1 {:.3f}".format(*best))


def _learn_weights(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fits a ridge logistic regression by Newton's method; returns weights [1 + parts], the intercept first."""
    inputs = np.hstack([np.ones((len(features), 1)), features])
    ridge = RIDGE * np.eye(inputs.shape[1])
    ridge[0, 0] = 0.0
    weights = np.zeros(inputs.shape[1])
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (likely * (1 - likely))[:, None]).T @ inputs + ridge
        # The row of a part that no turn has contains only its ridge, which keeps the matrix invertible.
        weights += np.linalg.solve(curvature, inputs.T @ (labels - likely) - ridge @ weights)
    return weights


def _report_set(folder: Path) -> None:
    documents = _lines(folder / "corpus.jsonl")
    wanted = {line.split("\t")[1] for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]}
    roles = _roles(documents)
    kept = np.array(
        [
            worth(document["text"], role=role).score >= GatePolicy().worth_threshold
            for document, role in zip(documents, roles, strict=True)
        ]
    )
    gold = np.array([document["_id"] in wanted for document in documents])
    user = np.array([role == Role.USER for role in roles])
    print(
        f"{folder.name}: worth enough are {kept.mean():.0%} of {len(kept)} turns, {kept[gold].mean():.0%} of the "
        f"{gold.sum()} that answer a question, {kept[gold & user].mean():.0%} of those by the user"
    )


def _roles(documents: Sequence[dict]) -> list[Role]:
    first: dict[str, str] = {}
    roles = []
    for document in documents:
        speaker = str(document.get("speaker") or Role.USER)
        user = "user" if speaker in ("user", "assistant") else first.setdefault(document["group"], speaker)
        roles.append(Role.USER if speaker == user else Role.AGENT)
    return roles


if __name__ == "__main__":
    main()
