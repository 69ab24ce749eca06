#!/usr/bin/env python
"""Learns the weights of `memory/retrieval/fusion.py` from datasets in the form of `manage.py evaluate`.

    .venv/bin/python bench/learn_weights.py --sets sets/one sets/two:fact,event

Each question is asked of scratch namespaces as in an evaluation, by the product's own code. The values of its
retrievers and signals for every candidate are stored, and the weights are fitted (`listwise.py`) with cross-validation
over groups. Printed are the weights, and R@10 and MRR in percent, always of questions that the weights were not learned
from. The figures are those of the first stage, before restatements, variety and a reranker. The retrievers keep their
current weights: factors of these are learned for meaning and words, relative to that of meaning. As in the product,
`dated` favours the best by all other signals; this, and what neighbours and sessions lend, depends on the current
weights. After a large change of weights, run it again.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from listwise import Asked, fit, folds, quality

from bench.product import product

ARM_FEATURES = ("meaning", "words")
SEED = 20
FOLDS = 5
SHIPPED = "as shipped"


@dataclass(frozen=True, slots=True)
class Learnable:
    """Holds a dataset's questions, and their R@10 and MRR [questions, 2] as ranked now and by each retriever alone."""

    name: str
    asked: list[Asked]
    now: dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", required=True, metavar="DIR[:TYPE,TYPE]")
    parser.add_argument("--most", type=int, default=800, help="questions of a dataset, evenly spread (800)")
    options = parser.parse_args()
    with product():
        sets = [_learnable(name, most=options.most) for name in options.sets]
    _report(sets)


def _learnable(argument: str, *, most: int) -> Learnable:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.evaluation.runner import choose_groups, embed_questions  # noqa: PLC0415
    from memory.services.evaluation.runs import Options  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415

    folder, _, types = argument.partition(":")
    dataset = read_dataset(Path(folder))
    groups = choose_groups(dataset, Options(types=tuple(filter(None, types.split(",")))))
    step = max(1, -(-sum(len(group.questions) for group in groups) // most))
    now = datetime.now(UTC)
    asked: list[Asked] = []
    ranked: list[dict[str, tuple[float, float]]] = []
    place = 0
    for group in groups:
        chosen = [one for number, one in enumerate(group.questions, start=place) if number % step == 0]
        place += len(group.questions)
        questions = embed_questions([replace(group, questions=chosen)], now=now)
        embedded = embed_batches(group.memories)
        with scratch_namespace(
            f"learn-{group.name}", memories=group.memories, embedded=embedded, actor="learn", keep=False, now=now
        ) as scope:
            documents = _documents(scope)
            for one in chosen:
                wanted = {identity for identity, grade in one.grades.items() if grade > 0}
                listed, arms = _ask(scope, questions[one.text], wanted, documents, group.name)
                asked.append(listed)
                ranked.append({name: quality(listed, scores) for name, scores in arms.items()})
    print(f"{dataset.name}: {len(asked)} questions in {len(groups)} groups", flush=True)
    return Learnable(dataset.name, asked, {name: np.array([one[name] for one in ranked]) for name in ranked[0]})


def _documents(scope) -> dict:
    from memory.models import Memory  # noqa: PLC0415

    return dict(Memory.objects.in_scope(scope).values_list("pk", "metadata__doc_id"))


def _ask(scope, question, wanted: set[str], documents: dict, group: str) -> tuple[Asked, dict[str, np.ndarray]]:
    """Returns the candidates as the product ranks them, read ones first, and their scores by each retriever alone."""
    from memory.enums import ARMS  # noqa: PLC0415
    from memory.retrieval.fusion import SIGNALS  # noqa: PLC0415
    from memory.retrieval.pipeline import first_stage  # noqa: PLC0415

    ranking, hits = first_stage(scope, question)
    row_of = {memory_id: row for row, memory_id in enumerate(ranking.ids)}
    read = [row_of[str(hit.id)] for hit in hits]
    seen = set(read)
    order = [*read, *(row for row in ranking.order if row not in seen)]
    values = {name: value[order] for name, value in ranking.values.items()}
    nothing = np.zeros(len(order))
    dated = [float("dated" in hit.candidate.parts) for hit in hits]
    values["dated"] = np.concatenate([dated, nothing[len(hits) :]])
    arms = [ranking.weights[name] * values[name] for name in ARMS]
    features = np.stack([*arms, *(values.get(name, nothing) for name in SIGNALS)], axis=1)
    relevant = np.array([documents[uuid.UUID(ranking.ids[row])] in wanted for row in order], dtype=bool)
    ranked = {"words alone": values["lexical"], "meaning alone": values["dense"], SHIPPED: -np.arange(len(order))}
    return Asked(features.astype(np.float32), relevant, len(wanted), group), ranked


def _report(sets: Sequence[Learnable]) -> None:
    from memory.retrieval.fusion import SIGNALS  # noqa: PLC0415

    names = (*ARM_FEATURES, *SIGNALS)
    everything = [one.asked for one in sets]
    rows: list[tuple[str, list[np.ndarray]]] = [
        *((label, [one.now[label] for one in sets]) for label in ("words alone", "meaning alone")),
        ("arms, learned", _cross_validate(everything, slice(0, len(ARM_FEATURES)))),
        ("all, learned", _cross_validate(everything, slice(None))),
        ("all, learned from the other sets", _leave_one_out(everything)),
        (SHIPPED, [one.now[SHIPPED] for one in sets]),
    ]
    print(f"\nR@10 / MRR, {FOLDS}-fold cross-validation over groups")
    print(" " * 34 + "".join(f"{one.name[:14]:>16}" for one in sets))
    for label, figures in rows:
        print(f"{label:34}" + "".join(f"{100 * r:9.1f} /{100 * m:5.1f}" for r, m in (f.mean(axis=0) for f in figures)))
    learned = fit(everything)
    spread = np.std([fit(part) / fit(part)[0] for part in _training_parts(everything)], axis=0)
    shipped = {**dict.fromkeys(ARM_FEATURES, 1.0), **SIGNALS}
    print(f"\nWeights, over that of meaning (temperature {1 / learned[0]:.3f})")
    for name, weight, unsure in zip(names, learned / learned[0], spread, strict=True):
        print(f"{name:12} {weight:7.3f} ± {unsure:5.3f}   shipped {shipped[name]:6.3f}")


def _training_parts(sets: Sequence[Sequence[Asked]]) -> Iterator[list[list[Asked]]]:
    """Yields for each fold the questions of every set that are not in it."""
    numbers = [folds(asked, count=FOLDS, seed=SEED) for asked in sets]
    for fold in range(FOLDS):
        yield [
            [one for one, own in zip(asked, number, strict=True) if own != fold]
            for asked, number in zip(sets, numbers, strict=True)
        ]


def _cross_validate(sets: Sequence[Sequence[Asked]], columns: slice) -> list[np.ndarray]:
    """Returns R@10 and MRR of each question by weights of `columns` that were learned without its fold."""
    learned = []
    for part in _training_parts(sets):
        weights = np.zeros(sets[0][0].features.shape[1])
        weights[columns] = fit([[_narrow(one, columns) for one in asked] for asked in part])
        learned.append(weights)
    figures = []
    for asked in sets:
        own = folds(asked, count=FOLDS, seed=SEED)
        figures.append(np.array([quality(one, one.features @ learned[f]) for one, f in zip(asked, own, strict=True)]))
    return figures


def _leave_one_out(sets: Sequence[Sequence[Asked]]) -> list[np.ndarray]:
    """Returns R@10 and MRR of each question by weights that were learned from the other sets only."""
    if len(sets) < 2:
        return [np.full((1, 2), np.nan)]
    figures = []
    for number, asked in enumerate(sets):
        weights = fit([*sets[:number], *sets[number + 1 :]])
        figures.append(np.array([quality(one, one.features @ weights) for one in asked]))
    return figures


def _narrow(one: Asked, columns: slice) -> Asked:
    return Asked(one.features[:, columns], one.relevant, one.evidence, one.group)


if __name__ == "__main__":
    main()
