#!/usr/bin/env python
"""Measures the effect of governance on stale memories: rankings without and with it.

    .venv/bin/python bench/staleness.py sets/one sets/two

Each set has the form of `manage.py evaluate`; a question of `queries.jsonl` may name `stale` documents, whose content
was taken back or replaced. Each group is queried twice in a scratch namespace by the product's own search: as ingested,
and after `services/memories/settle.py` has settled its memories. Printed are, at 10 results: R (of evidence, %) and
MRR; the share of questions with a stale document that nothing marks and no newer memory outranks; stale documents (all,
and the ones that are not evidence as well); documents of which a statement was retired (by decisions, not labels); and,
for questions whose evidence has an older and a newer part, how often the newer one is first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product

TOP = 10
WITHOUT, WITH = "without", "with"


@dataclass(slots=True)
class Asked:
    """Holds a question's evidence, stale documents, older and newer evidence, and the documents found each way."""

    kind: str
    evidence: frozenset[str]
    stale: frozenset[str]
    older: frozenset[str]
    newer: frozenset[str]
    found: dict[str, list[str]] = field(default_factory=dict)
    unnoticed: dict[str, frozenset[str]] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--show", type=int, default=0, help="decisions of each set to print, evenly spread (0)")
    options = parser.parse_args()
    with product():
        for folder in options.sets:
            _measure(folder, show=options.show)


def _measure(folder: Path, *, show: int) -> None:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.models import Memory, RetiredStatement  # noqa: PLC0415
    from memory.retrieval.pipeline import retrieve  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.services.recall.search import Ask, questions  # noqa: PLC0415

    dataset = read_dataset(folder)
    by_group = _questions(folder)
    asked: list[Asked] = []
    touched: set[str] = set()
    decisions: list[tuple[str, RetiredStatement]] = []
    reviews = 0
    for group, memories in dataset.groups.items():
        mine = by_group.get(group, [])
        if not mine:
            continue
        embedded = embed_batches(memories)
        now = datetime.now(UTC)
        ready = questions([Ask(text, TOP, now) for text, _ in mine])
        with scratch_namespace(
            f"stale-{group}", memories=memories, embedded=embedded, actor="bench", keep=False, now=now
        ) as scope:
            for way in (WITHOUT, WITH):
                if way == WITH:
                    settle_namespace(scope, now=now)
                for question, (_, one) in zip(ready, mine, strict=True):
                    hits = retrieve(scope, question, top_k=TOP).hits
                    one.found[way] = [hit.metadata["doc_id"] for hit in hits]
                    one.unnoticed[way] = frozenset(
                        hit.metadata["doc_id"] for hit in hits if not hit.later and not hit.retired
                    )
            rows = RetiredStatement.objects.in_scope(scope).select_related("memory")
            decisions += [(row.memory.metadata["doc_id"], row) for row in rows]
            over = Memory.objects.in_scope(scope).exclude(superseded_by=None)
            touched |= {row.memory.metadata["doc_id"] for row in rows}
            touched |= {memory.metadata["doc_id"] for memory in over}
            reviews += Memory.objects.in_scope(scope).exclude(review="").count()
        asked += [one for _, one in mine]
    print(f"\n{dataset.name}: {len(asked)} questions, statements retired in {len(touched)} documents, review {reviews}")
    for way in (WITHOUT, WITH):
        print(f"  {way:8}" + _figures(asked, way, touched))
    for kind in sorted({one.kind for one in asked if one.evidence}):
        mine = [one for one in asked if one.kind == kind and one.evidence]
        print(f"  R@{TOP} {kind:28}" + " → ".join(f"{_recall(mine, way):6.2f}" for way in (WITHOUT, WITH)))
    for name, one in decisions[:: max(1, len(decisions) // show)] if show else ():
        print(f"    {name} [{one.start}:{one.end}] {one.confidence:.2f} {one.reason}")


def _questions(folder: Path) -> dict[str, list[tuple[str, Asked]]]:
    """Reads the texts and labels of the questions with evidence or stale documents, by group."""
    evidence: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        question, document, grade = line.split("\t")[:3]
        if float(grade) > 0:
            evidence[question].add(document)
    found: dict[str, list[tuple[str, Asked]]] = defaultdict(list)
    for line in (folder / "queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        stale, roles = frozenset(row.get("stale") or ()), row.get("gold_roles") or {}
        if not (evidence[row["_id"]] or stale):
            continue
        older, newer = (frozenset(roles.get(name) or ()) for name in ("original_info", "updated_info"))
        asked = Asked(row.get("type") or "", frozenset(evidence[row["_id"]]), stale, older - newer, newer - older)
        found[row["group"]].append((row["text"], asked))
    return found


def _figures(asked: Sequence[Asked], way: str, touched: set[str]) -> str:
    answerable = [one for one in asked if one.evidence]
    stale = [one for one in asked if one.stale]
    text = f"R@{TOP} {_recall(answerable, way):6.2f}   MRR {_reciprocal_rank(answerable, way):6.2f}"
    if stale:
        unnoticed = [one for one in stale if (one.stale - one.evidence) & one.unnoticed[way]]
        text += f"   questions with an unnoticed stale one {len(unnoticed) / len(stale):.3f}"
    for label, part in (("", stale), (" with evidence", [one for one in stale if one.evidence])):
        if part:
            here = sum(len(one.stale & set(one.found[way])) for one in part)
            pure = sum(len((one.stale - one.evidence) & set(one.found[way])) for one in part)
            text += f"   stale@{TOP}{label} {here} of {sum(len(one.stale) for one in part)} (no evidence: {pure})"
    gone = sum(len(touched & set(one.found[way]) - one.evidence) for one in asked)
    text += f"   with a retired statement {gone}"
    both = [one for one in asked if one.older and one.newer]
    if both:
        first = [
            min((row for row, name in enumerate(one.found[way]) if name in one.newer), default=TOP) for one in both
        ]
        other = [
            min((row for row, name in enumerate(one.found[way]) if name in one.older), default=TOP) for one in both
        ]
        text += f"   newer first {np.mean([a < b for a, b in zip(first, other, strict=True)]):.0%} of {len(both)}"
    return text


def _recall(asked: Sequence[Asked], way: str) -> float:
    return 100 * float(np.mean([len(one.evidence & set(one.found[way])) / len(one.evidence) for one in asked]))


def _reciprocal_rank(asked: Sequence[Asked], way: str) -> float:
    first = [
        next((rank for rank, name in enumerate(one.found[way], start=1) if name in one.evidence), None) for one in asked
    ]
    return 100 * float(np.mean([1 / rank if rank else 0.0 for rank in first]))


if __name__ == "__main__":
    main()
