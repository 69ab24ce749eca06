#!/usr/bin/env python
"""Counts the contradictions that settling finds, and its other flags.

    .venv/bin/python bench/contradictions.py sets/one

The set has the form of `manage.py evaluate`; each question of one type (`--type`, contradiction_resolution) has
evidence that contradicts itself. Each group is written into a scratch namespace and settled. A contradiction is found
if two documents of its evidence are flagged as contradicting each other, or its only document as contradicting another
one. Printed are, by group and in total, the contradictions found, all contradictions, and flags.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product

Flag = frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, metavar="DIR")
    parser.add_argument("--type", default="contradiction_resolution", help="type of the questions that are counted")
    parser.add_argument("--show", action="store_true", help="print each flag with its reason")
    options = parser.parse_args()
    with product():
        _measure(options.set, kind=options.type, show=options.show)


def _measure(folder: Path, *, kind: str, show: bool) -> None:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415

    wanted = _contradictions(folder, kind)
    found = flagged = 0
    for group, memories in read_dataset(folder).groups.items():
        now = datetime.now(UTC)
        vectors = embed_batches(memories)
        with scratch_namespace(
            f"contradictions-{group}", memories=memories, embedded=vectors, actor="bench", keep=False, now=now
        ) as scope:
            settle_namespace(scope, now=now)
            flags = _flags(scope, show=show)
        hit = sum(is_found(evidence, flags) for evidence in wanted[group])
        print(f"{group}: {hit} of {len(wanted[group])} found, {len(flags)} flags", flush=True)
        found, flagged = found + hit, flagged + len(flags)
    print(f"all: {found} of {sum(map(len, wanted.values()))} found, {flagged} flags")


def _contradictions(folder: Path, kind: str) -> dict[str, list[frozenset[str]]]:
    """Reads the evidence of each contradiction, by group."""
    evidence: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        question, document, grade = line.split("\t")[:3]
        if float(grade) > 0:
            evidence[question].add(document)
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    for line in (folder / "queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("type") == kind and evidence[row["_id"]]:
            found[row["group"]].append(frozenset(evidence[row["_id"]]))
    return found


def _flags(scope, *, show: bool) -> list[Flag]:
    """Returns the pairs of documents that wait for a person because one contradicts the other."""
    from memory.enums import LinkKind  # noqa: PLC0415
    from memory.models import MemoryLink  # noqa: PLC0415

    links = MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.CONTRADICTS).select_related("memory", "other")
    flags = []
    for link in links:
        newer, older = link.memory.metadata["doc_id"], link.other.metadata["doc_id"]
        flags.append(frozenset((newer, older)))
        if show:
            print(f"    {newer} {older} {link.reason}")
    return flags


def is_found(evidence: Collection[str], flags: Collection[Flag]) -> bool:
    """Tells whether a flag joins two documents of the evidence, or has its only one."""
    return any(len(flag & frozenset(evidence)) >= min(2, len(evidence)) for flag in flags)


if __name__ == "__main__":
    main()
