#!/usr/bin/env python
"""Learns the constants of `memory/retrieval/relevance.py`; reports how well relevance tells and is calibrated.

    .venv/bin/python bench/relevance.py --sets sets/one sets/two --keep /somewhere/asked --curve curve.svg

Each set has the form of `manage.py evaluate`. Every namespace (group) is asked its own questions and foreign ones: of
other groups of its set (where it has GROUPS or more), of other sets in the same language, and in another language.
Foreign questions that are worded like one of its own are left out. The namespaces of `small_namespaces/` are two more
sets of SMALL the weight, of which one half is learned from and the other measured. `--keep` writes what each set gave
to a file of that folder, and reads the file when it is there: learning again takes seconds.

Learned is from judged evidence among the best TOP hits of own questions against all hits of foreign ones, every set
with the same weight, half of it for either; hits that nobody judged are not counted as irrelevant. Where all namespaces
of a set are asked the same (`--alike`), they answer each other's questions: these are measured and not learned from.
Printed are, with
constants learned without the set that is measured, and as shipped: AUROC of the answer's relevance (its best hit's),
own questions against each kind of foreign ones; R@TOP in points that `min_relevance` at a floor loses; own and foreign
questions below it; and a table of reliability.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_namespaces
from reliability import draw, fit_logistic, rank_area

from bench.product import product

OWN, SAME, OTHER, LANGUAGE, NONE = "own", "same set", "other sets", "other language", "no evidence"
FOREIGN = {SAME: 0.5, OTHER: 0.4, LANGUAGE: 0.1}
GROUPS = 3
TOP = 10
SEED = 20
# What a set of small namespaces weighs of another set.
SMALL = 0.5
FLOORS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a namespace answered it: `evidence` is that of `retrieval.relevance`, `hits` are [cosine, BM25,
    whether it is judged relevant]; `relevant`: how many memories of the namespace are; `half`: of the small namespaces,
    LEARN or REPORT."""

    set: str
    kind: str
    type: str
    evidence: dict[str, float]
    hits: list[tuple[float, float, bool]]
    relevant: int
    half: str = ""

    @property
    def learned(self) -> bool:
        """Whether constants may be learned from it."""
        return self.half != small_namespaces.REPORT

    @property
    def measured(self) -> bool:
        """Whether it counts in the figures."""
        return self.half != small_namespaces.LEARN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", required=True, type=Path, metavar="DIR")
    parser.add_argument("--most", type=int, default=200, help="own questions of a set, evenly spread (200)")
    parser.add_argument("--keep", type=Path, required=True, help="folder for what was found")
    parser.add_argument(
        "--alike", nargs="*", default=[], metavar="SET", help="sets whose namespaces are all asked the same: see above"
    )
    parser.add_argument("--curve", type=Path, help="SVG file for the reliability curve")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    files = [options.keep / f"{folder.resolve().name}.jsonl" for folder in options.sets]
    small = {language: options.keep / f"small_{language}.jsonl" for language in small_namespaces.LANGUAGES}
    with product():
        if not all(file.exists() for file in files):
            _ask_everything(options.sets, files, most=options.most)
        for language, file in small.items():
            if not file.exists():
                _keep(file, _ask_small(language))
        _report(
            [Asked(**one) for file in (*files, *small.values()) for one in _read(file)],
            options.alike,
            options.curve,
        )


def _read(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _ask_everything(folders: Sequence[Path], files: Sequence[Path], *, most: int) -> None:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.evaluation.runner import choose_groups  # noqa: PLC0415
    from memory.services.evaluation.runs import Options  # noqa: PLC0415

    chosen = {folder.resolve().name: choose_groups(read_dataset(folder), Options()) for folder in folders}
    pools = {name: [one.text for group in groups for one in group.questions] for name, groups in chosen.items()}
    for folder, file in zip(folders, files, strict=True):
        if file.exists():
            continue
        asked: list[Asked] = []
        name = folder.resolve().name
        unanswered = _without_evidence(folder)
        each = max(1, most // len(chosen[name]))
        draws = random.Random(f"{SEED} {name}")
        for group in chosen[name]:
            step = max(1, len(group.questions) // each)
            own = group.questions[::step][:each]
            texts = {one.text for one in group.questions}
            near = [
                one.text
                for other in chosen[name]
                if len(chosen[name]) >= GROUPS and other.name != group.name
                for one in other.questions
            ]
            far = _by_language(pools, name, texts)
            wanted = [(NONE, text, "", {}) for text in unanswered.get(group.name, ())]
            wanted += [(OWN, one.text, one.type, one.grades) for one in own]
            for kind, pool, count in (
                (SAME, [text for text in near if text not in texts], len(own)),
                (OTHER, far[True], len(own)),
                (LANGUAGE, far[False], max(1, len(own) // 2)),
            ):
                distinct = sorted(set(pool))
                wanted += [(kind, text, "", {}) for text in draws.sample(distinct, min(count, len(distinct)))]
            asked += _ask_namespace(name, group, wanted)
        _keep(file, asked)


def _keep(file: Path, asked: Sequence[Asked]) -> None:
    file.write_text("\n".join(json.dumps(asdict(one)) for one in asked))
    print(f"{file.stem}: {len(asked)} questions", flush=True)


def _ask_small(language: str) -> list[Asked]:
    from memory.evaluation.measure import QuestionGroup  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    asked: list[Asked] = []
    for one in small_namespaces.namespaces(language):
        memories = [
            NewMemory(session="notes", role="user", text=text, metadata={"doc_id": str(place)})
            for place, text in enumerate(one.memories)
        ]
        wanted = [(OWN, text, "", {str(one.place): 1.0}) for text in one.answered]
        wanted += [(NONE, text, "", {}) for text in one.near]
        wanted += [(SAME, one.foreign, "", {}), (OTHER, one.elsewhere, "", {})]
        found = _ask_namespace(f"small_{language}", QuestionGroup(one.name, [], memories), wanted)
        asked += [replace(answered, half=one.half) for answered in found]
    return asked


def _by_language(pools: dict[str, list[str]], name: str, own: set[str]) -> dict[bool, list[str]]:
    """Questions of the other sets: those in the language of the set's own (True), and the rest."""
    from memory.text.analysis import cjk_share  # noqa: PLC0415

    chinese = np.mean([cjk_share(text) for text in sorted(own)]) > 0.3
    found: dict[bool, list[str]] = {True: [], False: []}
    for other, texts in pools.items():
        if other != name:
            for text in texts:
                found[bool((cjk_share(text) > 0.3) == chinese)].append(text)
    return found


def _without_evidence(folder: Path) -> dict[str, list[str]]:
    """By group, the questions of the set that no judgement names."""
    judged = {line.split("\t")[0] for line in (folder / "qrels.tsv").read_text().splitlines()}
    found: dict[str, list[str]] = {}
    for one in _read(folder / "queries.jsonl"):
        if one["_id"] not in judged and one.get("type") == "abstention":
            found.setdefault(one["group"], []).append(one["text"])
    return found


def _ask_namespace(name: str, group, wanted: Sequence[tuple]) -> list[Asked]:
    from memory.retrieval.pipeline import retrieve  # noqa: PLC0415
    from memory.services.entities.extract import index_namespace  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.services.recall.search import Ask, questions  # noqa: PLC0415

    now = datetime.now(UTC)
    embedded = embed_batches(group.memories)
    found = []
    with scratch_namespace(
        f"relevance-{group.name}", memories=group.memories, embedded=embedded, actor="bench", keep=False, now=now
    ) as scope:
        index_namespace(scope, now=now)
        settle_namespace(scope, now=now)
        for (kind, _, type_, grades), question in zip(
            wanted, questions([Ask(text, 1, now) for _, text, _, _ in wanted]), strict=True
        ):
            retrieval = retrieve(scope, question, top_k=TOP)
            relevant = {identity for identity, grade in grades.items() if grade > 0}
            hits = [
                (hit.similarity, hit.candidate.parts["lexical"].raw, hit.metadata["doc_id"] in relevant)
                for hit in retrieval.hits
            ]
            found.append(Asked(name, kind, type_, asdict(retrieval.evidence), hits, len(relevant)))
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """All hits of all questions as arrays: `features` [hits, 5] (of `AnswerEvidence.features`), `row` (the question's
    place), `evidence` (judged relevant, of an own question)."""

    asked: Sequence[Asked]
    features: np.ndarray
    row: np.ndarray
    evidence: np.ndarray

    def of(self, keep: Callable[[Asked], bool]) -> np.ndarray:
        """Which questions are so."""
        return np.array([keep(one) for one in self.asked])

    def best(self, relevance: np.ndarray) -> np.ndarray:
        """The answer's relevance of each question; 0 without a hit."""
        best = np.zeros(len(self.asked))
        np.maximum.at(best, self.row, relevance)
        return best


def _table(asked: Sequence[Asked]) -> Table:
    from memory.retrieval.relevance import AnswerEvidence  # noqa: PLC0415

    features, row, evidence = [], [], []
    for place, one in enumerate(asked):
        known = AnswerEvidence(**one.evidence)
        for cosine, bm25, relevant in one.hits:
            features.append(known.features(cosine=cosine, bm25=bm25))
            row.append(place)
            evidence.append(relevant and one.kind == OWN)
    return Table(asked, np.array(features), np.array(row), np.array(evidence))


def _weights(table: Table, sets: Sequence[str], part: Callable[[Asked], bool]) -> np.ndarray:
    """Each hit's weight, 0 where its question is no `part`: sets alike (small namespaces SMALL), evidence half, a
    question's evidence once, foreign kinds as FOREIGN says."""
    weights = np.zeros(len(table.row))
    for name in sets:
        of_set = table.of(lambda one, name=name: one.set == name and part(one))[table.row]
        own = table.evidence & of_set
        each = np.bincount(table.row[own], minlength=len(table.asked))
        weights[own] = 1 / each[table.row[own]]
        weights[own] *= 0.5 / max(weights[own].sum(), 1e-9)
        foreign = np.zeros(len(table.row), dtype=bool)
        for kind, share in FOREIGN.items():
            those = of_set & table.of(lambda one, kind=kind: one.kind == kind)[table.row]
            if those.any():
                weights[those] = share / those.sum()
            foreign |= those
        weights[foreign] *= 0.5 / max(weights[foreign].sum(), 1e-9)
        weights[of_set] *= SMALL if name.startswith("small_") else 1.0
    return weights / weights.sum()


def _report(asked: Sequence[Asked], alike: Sequence[str], curve: Path | None) -> None:
    from memory.retrieval import relevance as shipped  # noqa: PLC0415

    table = _table(asked)
    sets = list(dict.fromkeys(one.set for one in asked))
    of_set = np.array([sets.index(one.set) for one in asked])

    def learn(names: Sequence[str]) -> np.ndarray:
        weights = _weights(table, names, lambda one: one.learned and not (one.kind == SAME and one.set in alike))
        used = weights > 0
        return fit_logistic(table.features[used], table.evidence[used], weights[used])

    def predict(coefficients: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(coefficients[0] + table.features @ coefficients[1:])))

    learned = learn(sets)
    as_shipped = predict(np.array([shipped.INTERCEPT, *shipped.WEIGHTS]))
    left_out = np.zeros(len(table.row))
    for place, name in enumerate(sets):
        rows = of_set[table.row] == place
        # Of the small namespaces a half is left out already.
        others = sets if name.startswith("small_") else [other for other in sets if other != name]
        left_out[rows] = predict(learn(others))[rows]
    for title, values in (("learned without the set", left_out), ("as shipped", as_shipped)):
        print(f"\n{title}: AUROC of own questions against")
        print(" " * 16 + "".join(f"{kind:>16}" for kind in (*FOREIGN, NONE, "adversarial*")))
        for name in sets:
            print(f"{name[:15]:16}" + "".join(f"{area:16.3f}" for area in _areas(table, values, name)))
        print("lost of R@10 in points / own questions below, % / foreign questions below, %, at a floor of")
        print(" " * 16 + "".join(f"{floor:>16g}" for floor in FLOORS))
        for name in sets:
            print(f"{name[:15]:16}" + "".join(_format_lost(table, values, name, floor) for floor in FLOORS))
    print("\n* questions of the type adversarial against the set's other own ones")
    print("\nreliability: hits, relevance, share of evidence; learned without the set, each set with the same weight")
    points = _reliability(left_out, table.evidence, _weights(table, sets, lambda one: one.measured))
    for count, mean, share in points:
        print(f"{count:8} {mean:8.3f} {share:8.3f}")
    if curve:
        curve.write_text(draw([(mean, share) for _, mean, share in points]))
    print("\nlearned: intercept, then weights: " + "  ".join(f"{value:.2f}" for value in learned))


def _areas(table: Table, values: np.ndarray, name: str) -> list[float]:
    best = table.best(values)

    def of(kind: str, *, adversarial: bool | None = None) -> np.ndarray:
        chosen = table.of(lambda one: (one.set, one.kind) == (name, kind) and one.measured)
        if adversarial is not None:
            chosen &= table.of(lambda one: (one.type == "adversarial") == adversarial)
        return best[chosen]

    areas = [rank_area(of(OWN), of(kind)) for kind in (*FOREIGN, NONE)]
    return [*areas, rank_area(of(OWN, adversarial=False), of(OWN, adversarial=True))]


def _format_lost(table: Table, values: np.ndarray, name: str, floor: float) -> str:
    own = table.of(lambda one: (one.set, one.kind) == (name, OWN) and one.measured)
    foreign = table.of(lambda one: one.set == name and one.kind in FOREIGN and one.measured)
    relevant = np.maximum([one.relevant for one in table.asked], 1)
    below = np.bincount(table.row, weights=table.evidence & (values < floor), minlength=len(relevant))
    best = table.best(values)
    figures = (below / relevant)[own].mean(), (best[own] < floor).mean(), (best[foreign] < floor).mean()
    return f"{100 * figures[0]:8.1f} /{100 * figures[1]:3.0f}/{100 * figures[2]:3.0f}"


def _reliability(values: np.ndarray, evidence: np.ndarray, weights: np.ndarray) -> list[tuple[int, float, float]]:
    points = []
    for low in np.arange(0, 1, 0.1):
        inside = (values >= low) & (values < low + 0.1) & (weights > 0)
        if inside.any():
            mean, share = (np.average(one[inside], weights=weights[inside]) for one in (values, evidence))
            points.append((int(inside.sum()), float(mean), float(share)))
    return points


if __name__ == "__main__":
    main()
