#!/usr/bin/env python
"""Learns the constants of `memory/retrieval/relevance.py`, and reports the quality of answerability and relevance.

    .venv/bin/python bench/relevance.py --sets sets/one sets/two --keep /somewhere/asked --curve curve.svg

Each set has the form of `manage.py evaluate`. Each namespace (group) is asked its own questions and foreign ones: of
other groups of its set (if that has GROUPS or more), of other sets in the same language, and in another language.
Foreign questions with the wording of an own question are left out. The namespaces of `small_namespaces/` are two more
sets, with SMALL of the weight; one half is learned from, and the other measured. `--keep` writes the results of each
set to a file of that folder, and reads the file if it exists, so that learning again takes seconds.

Two models are learned, with the same weight for each set. Answerability compares judged evidence among the best TOP
hits of own questions with all hits of foreign ones, each with half of the weight; hits without judgement are left out.
The relevance of a hit is learned from all hits of own questions, with OWN_SHARE of the weight, and of foreign ones; a
hit without judgement is no evidence. Names of speakers in foreign questions are replaced by those of the namespace,
because names alone would distinguish them. If all namespaces of a set are asked the same (`--alike`), they answer each
other's questions, which are measured but not learned from.

Printed are, with constants learned without the measured set and as shipped: the AUROC of answerability for own
questions against each kind of foreign ones; own and foreign questions below a floor; the share of evidence among hits
with a relevance from SURE on and up to UNSURE; and a table of reliability.
"""

from __future__ import annotations

import argparse
import json
import random
import re
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
# The weight of a set of small namespaces, relative to another set.
SMALL = 0.5
# The share of own questions in the weight of all, when the relevance of hits is learned.
OWN_SHARE = 0.7
SURE, UNSURE = 0.8, 0.2
FLOORS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds a question as a namespace answered it.

    `evidence`: that of `retrieval.relevance`. `hits`: the `HitEvidence` of each hit, best first, and whether it is
    judged relevant. `relevant`: the number of relevant memories of the namespace. `half`: LEARN or REPORT for the small
    namespaces and histories.
    """

    set: str
    kind: str
    type: str
    evidence: dict[str, float]
    hits: list[tuple[float, float, bool, float, bool]]
    relevant: int
    half: str = ""

    @property
    def learned(self) -> bool:
        """Tells whether constants may be learned from it."""
        return self.half != small_namespaces.REPORT

    @property
    def measured(self) -> bool:
        """Tells whether it counts in the figures."""
        return self.half != small_namespaces.LEARN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", required=True, type=Path, metavar="DIR")
    parser.add_argument("--most", type=int, default=200, help="own questions of a set, evenly spread (200)")
    parser.add_argument("--keep", type=Path, required=True, help="folder for what was found")
    parser.add_argument(
        "--alike", nargs="*", default=[], metavar="SET", help="sets whose namespaces are all asked the same: see above"
    )
    parser.add_argument(
        "--histories",
        type=Path,
        help="folder of histories as JSON: those with _dev_ are learned from, _unseen_ measured",
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
        told = options.keep / "histories.jsonl"
        if options.histories and not told.exists():
            _keep(told, _ask_histories(options.histories))
        _report(
            [Asked(**one) for file in (*files, *small.values(), told) if file.exists() for one in _read(file)],
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
            speakers = sorted({memory.speaker for memory in group.memories if memory.speaker})
            all_speakers = sorted({one.speaker for other in chosen[name] for one in other.memories if one.speaker})
            wanted = [(NONE, text, "", {}) for text in unanswered.get(group.name, ())]
            wanted += [(OWN, one.text, one.type, one.grades) for one in own]
            for kind, pool, count in (
                (SAME, [_swap_speakers(text, speakers, all_speakers) for text in near if text not in texts], len(own)),
                (OTHER, far[True], len(own)),
                (LANGUAGE, far[False], max(1, len(own) // 2)),
            ):
                distinct = sorted(set(pool))
                wanted += [(kind, text, "", {}) for text in draws.sample(distinct, min(count, len(distinct)))]
            asked += _ask_namespace(name, group, wanted)
        _keep(file, asked)


def _swap_speakers(text: str, speakers: Sequence[str], known: Sequence[str]) -> str:
    """Replaces each of the `known` names in `text` by one of `speakers`, equal names by the same one."""
    if not speakers:
        return text
    named = re.compile(r"\b(?:" + "|".join(map(re.escape, known)) + r")\b")
    return named.sub(lambda match: speakers[known.index(match.group()) % len(speakers)], text)


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


def _ask_histories(folder: Path) -> list[Asked]:
    from memory.evaluation.measure import QuestionGroup  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    asked: list[Asked] = []
    for file in sorted(folder.glob("*.json")):
        told = json.loads(file.read_text(encoding="utf-8"))
        memories = [
            NewMemory(
                session=turn["session"],
                role=turn["role"],
                text=turn["text"],
                speaker=turn["speaker"],
                metadata={"doc_id": turn["id"]},
                occurred_at=datetime.fromisoformat(turn["time"]),
            )
            for turn in told["turns"]
        ]
        wanted = [
            (OWN if one["gold"] else NONE, one["question"], one["type"], dict.fromkeys(one["gold"], 1.0))
            for one in told["questions"]
        ]
        half = small_namespaces.REPORT if "_unseen_" in file.stem else small_namespaces.LEARN
        found = _ask_namespace("histories", QuestionGroup(told["name"], [], memories), wanted)
        asked += [replace(answered, half=half) for answered in found]
    return asked


def _by_language(pools: dict[str, list[str]], name: str, own: set[str]) -> dict[bool, list[str]]:
    """Returns the questions of other sets, in the same language as the set's own (True) and in others (False)."""
    from memory.text.analysis import cjk_share  # noqa: PLC0415

    chinese = np.mean([cjk_share(text) for text in sorted(own)]) > 0.3
    found: dict[bool, list[str]] = {True: [], False: []}
    for other, texts in pools.items():
        if other != name:
            for text in texts:
                found[bool((cjk_share(text) > 0.3) == chinese)].append(text)
    return found


def _without_evidence(folder: Path) -> dict[str, list[str]]:
    """Returns by group the questions of the set without judgements."""
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
            hits = [(*hit.evidence, hit.metadata["doc_id"] in relevant) for hit in retrieval.hits]
            found.append(Asked(name, kind, type_, asdict(retrieval.evidence), hits, len(relevant)))
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """Holds all hits of all questions as arrays.

    `features` [hits, 5] are those of `AnswerEvidence.features`, `of_hit` [hits, 9] those of its `features_of_all` and
    `own_features`. `row`: the place of the question. `evidence`: the hit is judged relevant for an own question.
    """

    asked: Sequence[Asked]
    features: np.ndarray
    of_hit: np.ndarray
    row: np.ndarray
    evidence: np.ndarray

    def of(self, keep: Callable[[Asked], bool]) -> np.ndarray:
        """Returns a mask of the questions for which `keep` is true."""
        return np.array([keep(one) for one in self.asked])

    def best(self, relevance: np.ndarray) -> np.ndarray:
        """Returns the relevance of each question's answer; 0 without a hit."""
        best = np.zeros(len(self.asked))
        np.maximum.at(best, self.row, relevance)
        return best


def _table(asked: Sequence[Asked]) -> Table:
    from memory.retrieval.relevance import AnswerEvidence, HitEvidence  # noqa: PLC0415

    features, of_hit, row, evidence = [], [], [], []
    for place, one in enumerate(asked):
        known = AnswerEvidence(**one.evidence)
        hits = [HitEvidence(*shown) for *shown, _ in one.hits]
        for number, (hit, (*_, relevant)) in enumerate(zip(hits, one.hits, strict=True), start=1):
            features.append(known.features(cosine=hit.cosine, bm25=hit.bm25))
            of_hit.append([*known.features_of_all(), *known.own_features(number, hit, hits[0])])
            row.append(place)
            evidence.append(relevant and one.kind == OWN)
    return Table(asked, np.array(features), np.array(of_hit), np.array(row), np.array(evidence))


def _weights(table: Table, sets: Sequence[str], part: Callable[[Asked], bool]) -> np.ndarray:
    """Returns the weight of each hit, 0 if its question is not in `part`.

    All sets weigh the same (small namespaces SMALL), evidence weighs half of a set, and a question's evidence together
    counts once. FOREIGN has the weights of the kinds of foreign questions.
    """
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


def _hit_weights(table: Table, sets: Sequence[str], part: Callable[[Asked], bool]) -> np.ndarray:
    """Returns the weight of each hit for learning the relevance of hits, 0 if its question is not in `part`.

    All sets weigh the same (small namespaces SMALL), and hits of own questions weigh OWN_SHARE of a set.
    """
    weights = np.zeros(len(table.row))
    for name in sets:
        for is_own, share in ((True, OWN_SHARE), (False, 1 - OWN_SHARE)):
            those = table.of(lambda one, name=name, is_own=is_own: one.set == name and (one.kind == OWN) == is_own)
            chosen = (those & table.of(part))[table.row]
            weights[chosen] = share / max(chosen.sum(), 1) * (SMALL if name.startswith("small_") else 1.0)
    return weights / weights.sum()


@dataclass(frozen=True, slots=True)
class Learned:
    """Holds a logistic model of all sets, and predictions for each hit by models learned without its set."""

    coefficients: np.ndarray
    left_out: np.ndarray


def _learn(table: Table, sets: Sequence[str], features: np.ndarray, weigh: Callable[..., np.ndarray]) -> Learned:
    """Learns from `features` [hits, features] with the weights that `weigh` gives the hits of some sets."""

    def learn(names: Sequence[str]) -> np.ndarray:
        weights = weigh(names)
        used = weights > 0
        return fit_logistic(features[used], table.evidence[used], weights[used])

    left_out = np.zeros(len(table.row))
    for name in sets:
        those = table.of(lambda one, name=name: one.set == name)
        # One half of a set with halves is left out already.
        is_halved = any(one.half for one in table.asked if one.set == name)
        rows = those[table.row]
        left_out[rows] = predict(learn(sets if is_halved else [one for one in sets if one != name]), features[rows])
    return Learned(learn(sets), left_out)


def predict(coefficients: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Returns the predictions of a logistic model; the first of its `coefficients` is the intercept."""
    return 1 / (1 + np.exp(-(coefficients[0] + features @ coefficients[1:])))


def never_rising(values: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Returns for each hit the least value among it and the hits before it of the same question (`row`)."""
    found = values.copy()
    for place in range(1, len(found)):
        if row[place] == row[place - 1]:
            found[place] = min(found[place], found[place - 1])
    return found


def _report(asked: Sequence[Asked], alike: Sequence[str], curve: Path | None) -> None:
    from memory.retrieval import relevance as shipped  # noqa: PLC0415

    table = _table(asked)
    sets = list(dict.fromkeys(one.set for one in asked))

    def is_learned(one: Asked) -> bool:
        return one.learned and not (one.kind == SAME and one.set in alike)

    answers = _learn(table, sets, table.features, lambda names: _weights(table, names, is_learned))
    as_shipped = predict(np.array([shipped.INTERCEPT, *shipped.WEIGHTS]), table.features)
    for title, values in (("learned without the set", answers.left_out), ("as shipped", as_shipped)):
        print(f"\nanswerability, {title}: AUROC of own questions against")
        print(" " * 16 + "".join(f"{kind:>16}" for kind in (*FOREIGN, NONE, "adversarial*")))
        for name in sets:
            print(f"{name[:15]:16}" + "".join(f"{area:16.3f}" for area in _areas(table, values, name)))
        print("own questions below, % / foreign questions below, %, at a floor of")
        print(" " * 16 + "".join(f"{floor:>16g}" for floor in FLOORS))
        for name in sets:
            print(f"{name[:15]:16}" + "".join(_format_below(table, values, name, floor) for floor in FLOORS))
    print("\n* questions of the type adversarial against the set's other own ones")
    hits = _learn(table, sets, table.of_hit, lambda names: _hit_weights(table, names, is_learned))
    shipped_hits = predict(np.array([shipped.HIT_INTERCEPT, *shipped.HIT_WEIGHTS]), table.of_hit)
    for title, values in (("learned without the set", hits.left_out), ("as shipped", shipped_hits)):
        print(f"\nrelevance of hits, {title}: hits from {SURE} on, evidence, %; hits up to {UNSURE}, evidence, %")
        _print_sides(table, never_rising(values, table.row), sets)
    print("\nreliability: hits, relevance, share of evidence; learned without the set, each set with the same weight")
    weights = _hit_weights(table, sets, lambda one: one.measured)
    points = _reliability(never_rising(hits.left_out, table.row), table.evidence, weights)
    for count, mean, share in points:
        print(f"{count:8} {mean:8.3f} {share:8.3f}")
    if curve:
        curve.write_text(draw([(mean, share) for _, mean, share in points]))
    for title, learned in (("answerability", answers), ("relevance of hits", hits)):
        print(f"\n{title}: intercept, then weights: " + "  ".join(f"{value:.2f}" for value in learned.coefficients))


def _print_sides(table: Table, values: np.ndarray, sets: Sequence[str]) -> None:
    measured = table.of(lambda one: one.measured)[table.row]
    kinds = table.of(lambda one: one.kind == OWN)[table.row]
    rows = [(name, table.of(lambda one, name=name: one.set == name)[table.row] & kinds) for name in sets]
    rows += [("own questions", kinds), ("foreign", ~kinds)]
    for name, those in rows:
        figures = ""
        for side in (values >= SURE, values <= UNSURE):
            chosen = those & measured & side
            share = 100 * table.evidence[chosen].mean() if chosen.any() else float("nan")
            figures += f"{chosen.sum():8} {share:6.1f}"
        print(f"{name[:15]:16}{figures}")


def _areas(table: Table, values: np.ndarray, name: str) -> list[float]:
    best = table.best(values)

    def of(kind: str, *, adversarial: bool | None = None) -> np.ndarray:
        chosen = table.of(lambda one: (one.set, one.kind) == (name, kind) and one.measured)
        if adversarial is not None:
            chosen &= table.of(lambda one: (one.type == "adversarial") == adversarial)
        return best[chosen]

    areas = [rank_area(of(OWN), of(kind)) for kind in (*FOREIGN, NONE)]
    return [*areas, rank_area(of(OWN, adversarial=False), of(OWN, adversarial=True))]


def _format_below(table: Table, values: np.ndarray, name: str, floor: float) -> str:
    own = table.of(lambda one: (one.set, one.kind) == (name, OWN) and one.measured)
    foreign = table.of(lambda one: one.set == name and one.kind != OWN and one.measured)
    best = table.best(values)
    return f"{100 * (best[own] < floor).mean():11.0f} /{100 * (best[foreign] < floor).mean():3.0f}"


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
