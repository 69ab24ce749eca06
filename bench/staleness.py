#!/usr/bin/env python
"""Measures what governance does to stale memories: rankings without it and with it, side by side.

    .venv/bin/python bench/staleness.py sets/one sets/two

Each set has the form of `manage.py evaluate`; a question of `queries.jsonl` may name `stale` documents, whose content
was taken back or replaced. Every group is asked in two scratch namespaces by the product's own search: one indexed as
it is, one of which only the statements that are still valid are indexed (`memory/governance/supersession.py`), and what
took something back only by the name of its object. Printed are, at 10 results: R (of evidence, %), stale documents in
the results (all, and those that are no evidence too), documents of which a statement was retired (by the decisions, no
labels), and for questions whose evidence has an older and a newer part, how often the newer stands first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.conf import ConfigurationError
from memory.enums import Role
from memory.governance.latest import Found, latest_first
from memory.governance.supersession import Retired, live_text, settle, wanted_terms
from memory.text.analysis import terms
from memory.text.changes import is_prose, own_terms
from memory.text.slots import slots
from memory.text.statements import statements
from memory.types import NewMemory, Scope
from memos_site.embedded import EmbeddedError
from memos_site.servers import with_servers

TOP = 10
# What a change names must share so much with a memory before the memory is looked at.
LEAST_SHARE = 0.5
# A term of more memories than this share names nothing.
COMMON_SHARE = 0.03
WITHOUT, WITH = "without", "with"


@dataclass(slots=True)
class Indexed:
    """What is indexed of a memory: `text`, and besides the terms `names`. `retired`: why the rest is not."""

    text: str
    names: frozenset[str] = frozenset()
    retired: list[Retired[str]] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """A question's evidence, stale documents, older and newer evidence, and the documents found each way."""

    kind: str
    evidence: frozenset[str]
    stale: frozenset[str]
    older: frozenset[str]
    newer: frozenset[str]
    found: dict[str, list[str]] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--show", type=int, default=0, help="decisions of each set to print, evenly spread (0)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memos_site.settings")
    try:
        # The servers that `make run` has up are used; else they are started as for `manage.py evaluate`.
        with with_servers(["manage.py", "evaluate"]):
            import django  # noqa: PLC0415

            django.setup()
            for folder in options.sets:
                _measure(folder, show=options.show)
    except (ConfigurationError, EmbeddedError) as error:
        sys.exit(str(error))


def _measure(folder: Path, *, show: int) -> None:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.retrieval.pipeline import retrieve  # noqa: PLC0415
    from memory.services.search import questions  # noqa: PLC0415

    dataset = read_dataset(folder)
    by_group = _questions(folder)
    asked: list[Asked] = []
    touched: set[str] = set()
    decisions: list[tuple[str, Retired[str]]] = []
    reviews = 0
    for group, memories in dataset.groups.items():
        mine = by_group.get(group, [])
        if not mine:
            continue
        whole = {memory.metadata["doc_id"]: Indexed(memory.text) for memory in memories}
        governed, to_review = govern(memories)
        reviews += to_review
        touched |= {name for name, one in governed.items() if one.retired}
        decisions += [(name, retired) for name, one in governed.items() for retired in one.retired]
        ready = questions([text for text, _ in mine], now=datetime.now(UTC))
        for way, indexed in ((WITHOUT, whole), (WITH, governed)):
            with _namespace(f"stale-{way}-{group}", memories, indexed) as scope:
                for question, (text, one) in zip(ready, mine, strict=True):
                    hits = retrieve(scope, question, top_k=TOP).hits
                    order = latest_first(text, [_found(hit) for hit in hits]) if way == WITH else range(len(hits))
                    one.found[way] = [hits[place].metadata["doc_id"] for place in order]
        asked += [one for _, one in mine]
    print(f"\n{dataset.name}: {len(asked)} questions, statements retired in {len(touched)} documents, review {reviews}")
    for way in (WITHOUT, WITH):
        print(f"  {way:8}" + _figures(asked, way, touched))
    for kind in sorted({one.kind for one in asked if one.evidence}):
        mine = [one for one in asked if one.kind == kind and one.evidence]
        print(f"  R@{TOP} {kind:28}" + " → ".join(f"{_recall(mine, way):6.2f}" for way in (WITHOUT, WITH)))
    for name, one in decisions[:: max(1, len(decisions) // show)] if show else ():
        print(f"    {name} [{one.start}:{one.end}] {one.decision.confidence:.2f} {one.decision.reason}")


def govern(memories: Sequence[NewMemory]) -> tuple[dict[str, Indexed], int]:
    """What stays indexed of each of `memories` (oldest first), by document; and how many pairs are for review."""
    indexed = {memory.metadata["doc_id"]: Indexed(memory.text) for memory in memories}
    said = {}
    holding: dict[str, set[str]] = defaultdict(set)
    reviews = 0
    for memory in memories:
        name = memory.metadata["doc_id"]
        own = statements(memory.text, speaker=memory.speaker, by_agent=memory.role == Role.AGENT)
        wanted = [*wanted_terms(own), *(_attribute_terms(one.text) for one in own if not one.by_agent)]
        candidates = set().union(*(_holding(one, holding) for one in wanted))
        settled = settle(name, own, {other: said[other] for other in said if other in candidates})
        reviews += len(settled.review)
        for one in settled.retired:
            indexed[one.key].retired.append(one)
        said[name] = own
        for one in own:
            if one.by_agent or not is_prose(one.text):
                continue
            for term in own_terms(one.text) | _attribute_terms(one.text):
                holding[term].add(name)
    for one in indexed.values():
        if one.retired:
            named = frozenset().union(*(retired.names for retired in one.retired))
            one.names = frozenset(term for term in named if len(holding[term]) <= COMMON_SHARE * len(memories))
            one.text = live_text(one.text, [(retired.start, retired.end) for retired in one.retired])
    return indexed, reviews


def _attribute_terms(text: str) -> frozenset[str]:
    """Stand-ins for the search by meaning that finds "I live in …" for "I moved to …"."""
    return frozenset(f"/{name}" for name in slots(text).attributes & {"lives", "works"})


def _holding(wanted: frozenset[str], holding: Mapping[str, set[str]]) -> set[str]:
    found = Counter(name for term in wanted for name in holding.get(term, ()))
    return {name for name, count in found.items() if count >= LEAST_SHARE * len(wanted)}


@contextmanager
def _namespace(name: str, memories: Sequence[NewMemory], indexed: Mapping[str, Indexed]) -> Iterator[Scope]:
    """A scratch namespace of `memories`, of each of which only what `indexed` says can be found."""
    from memory.services.embedding import embed_memories, embedded_passages, embedded_text  # noqa: PLC0415
    from memory.services.scratch import BATCH, scratch_namespace  # noqa: PLC0415
    from memory.services.write import prepare, write  # noqa: PLC0415

    now = datetime.now(UTC)
    with scratch_namespace(name, memories=[], embedded=[], actor="bench", keep=False, now=now) as scope:
        for start in range(0, len(memories), BATCH):
            batch = memories[start : start + BATCH]
            mine = [indexed[memory.metadata["doc_id"]] for memory in batch]
            rows = []
            for row, one in zip(prepare([(scope, memory) for memory in batch]), mine, strict=True):
                frequencies = Counter(terms(embedded_text(one.text, row.memory.speaker)) if one.text.strip() else [])
                frequencies |= Counter(one.names)
                rows.append(replace(row, frequencies=frequencies, length=frequencies.total()))
            texts = [
                embedded_passages(one.text, memory.speaker) if one.text.strip() else []
                for memory, one in zip(batch, mine, strict=True)
            ]
            write(rows, embed_memories(texts), now=now)
        yield scope


def _found(hit) -> Found:
    """Memories of one moment are told apart by their turns."""
    said = statements(hit.text, speaker=hit.speaker, by_agent=hit.role == Role.AGENT)
    return Found(said, hit.occurred_at + timedelta(microseconds=hit.turn))


def _questions(folder: Path) -> dict[str, list[tuple[str, Asked]]]:
    """Text and labels of the questions with evidence or stale documents, by group."""
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
    text = f"R@{TOP} {_recall(answerable, way):6.2f}"
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


if __name__ == "__main__":
    main()
