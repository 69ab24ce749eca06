#!/usr/bin/env python
"""Counts the harm and the gain of settling, on cases whose writer knew neither its rules nor its weights.

    .venv/bin/python bench/settling/harm.py --half dev --show
    .venv/bin/python bench/settling/harm.py --half unseen
    .venv/bin/python bench/settling/harm.py --facts --corpus FOLDER

Each case of `strangers/` is written into a scratch namespace, settled, and queried by the product's own search.
--corpus settles the conversations of a set in the form of `manage.py evaluate`, in which nothing is corrected, and
counts the losses. --show prints the failures of the dev half. Data are stored in MEMOS_DATA_DIR.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.product import product
from bench.settling import facts, strangers

TOP = 10
# A corpus is settled by conversation; longer ones are left out.
MAX_MESSAGES = 200


@dataclass(frozen=True, slots=True)
class Settled:
    """Holds the result of a case: by place, the searchable rest of each message, and the messages that mark it.

    `hits`: for each question the (place, text) of its hits, best first.
    """

    texts: Sequence[str]
    left: Sequence[str]
    later: Sequence[frozenset[int]]
    hits: Sequence[Sequence[tuple[int, str]]]

    def is_out(self, place: int) -> bool:
        """Tells whether a part of the message left search."""
        return self.left[place] != self.texts[place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=(strangers.DEV, strangers.UNSEEN), default=strangers.DEV)
    parser.add_argument("--kind", choices=strangers.KINDS, action="append", help="only this kind (may be given again)")
    parser.add_argument(
        "--corpus", type=Path, action="append", metavar="DIR", help="a set in which nothing is corrected"
    )
    parser.add_argument("--facts", action="store_true", help="the pairs of facts of `facts.py` that were held out")
    parser.add_argument("--show", action="store_true", help="print the failures (dev half only)")
    options = parser.parse_args()
    if options.show and options.half == strangers.UNSEEN:
        sys.exit("The unseen half is only counted: whoever reads its failures has spent it.")
    with product("memos-bench-settling"):
        for folder in options.corpus or ():
            _count_corpus(folder)
        if options.facts:
            _count_facts()
        if not options.corpus and not options.facts:
            for kind in options.kind or strangers.KINDS:
                _count_kind(kind, options.half, show=options.show)


def _count_kind(kind: str, half: str, *, show: bool) -> None:
    counts: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for case in strangers.read_cases(kind, half):
        questions = case.get("questions") or ([case] if "question" in case else [])
        outcome = settle(case["messages"], [one["question"] for one in questions])
        for name, right in judge(kind, case, questions, outcome):
            counts[name, case["lang"]].append(right)
            if show and not right:
                print(f"{name}: {case['id']} {[one['text'] for one in case['messages']]}")
    names = list(dict.fromkeys(name for name, _ in counts))
    for name in names:
        cells = []
        for language in ("en", "zh", "mixed"):
            noted = counts[name, language]
            cells.append(f"{language} {sum(noted)} of {len(noted)}" if noted else "")
        every = [right for (one, _), noted in counts.items() if one == name for right in noted]
        share = f"{100 * sum(every) / len(every):5.1f} % ({sum(every)} of {len(every)})"
        print(f"{kind:11} {name:44} {share:22} {'  '.join(cells)}")


def judge(
    kind: str, case: dict[str, Any], questions: Sequence[dict[str, Any]], outcome: Settled
) -> Iterator[tuple[str, bool]]:
    """Returns the measures of a case, each with whether it is as expected."""
    places = range(len(case["messages"]))
    if kind in ("series", "speakers", "lookalikes"):
        for place in places:
            yield "statements that stay in search", not outcome.is_out(place)
            yield "without a false later", not outcome.later[place]
    if kind == "series":
        for question, hits in zip(questions, outcome.hits, strict=True):
            yield "the element asked for comes first", bool(hits) and question["contains"] in hits[0][1]
    if kind in ("updates", "successors"):
        values = case.get("chain") or [case.get("old", case["messages"][0]["text"]), questions[0]["new"]]
        told = [max(at for at in places if value in case["messages"][at]["text"]) for value in values]
        linked = all(outcome.later[at] or outcome.is_out(at) for at in told[:-1])
        yield "whole updates linked", linked
        for question, hits in zip(questions, outcome.hits, strict=True):
            first = bool(hits) and question["new"] in hits[0][1]
            yield "new value first", first
            if linked:
                yield "new value first, of those linked", first
            if question.get("old_wording"):
                yield "new value first, asked in the old words", first
        yield "others stay in search", not any(outcome.is_out(at) for at in set(places) - {*told})
    if kind == "outright":
        old = case["old_index"]
        name = "told as an event" if case.get("event") else "said outright"
        yield f"{name}: out of search", outcome.is_out(old)
        yield f"{name}: out of search or linked", outcome.is_out(old) or bool(outcome.later[old])
        yield "others stay in search", not any(outcome.is_out(at) for at in set(places) - {old, case["new_index"]})
        for text in case.get("kept_text", ()):
            yield (
                "facts beside it stay",
                any(text in case["messages"][at]["text"] and not outcome.is_out(at) for at in places),
            )


def settle(messages: Sequence[dict[str, Any]], questions: Sequence[str]) -> Settled:
    """Stores messages an hour apart, settles them, asks the questions, and returns the result."""
    from memory.enums import LinkKind  # noqa: PLC0415
    from memory.models import Memory, MemoryLink  # noqa: PLC0415
    from memory.retrieval.pipeline import retrieve  # noqa: PLC0415
    from memory.services.evaluation.scratch import scratch_namespace  # noqa: PLC0415
    from memory.services.index.embedding import embed_memories, passages_to_embed  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.services.recall.search import Ask  # noqa: PLC0415
    from memory.services.recall.search import questions as read_questions  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    now = datetime.now(UTC)
    memories = [
        NewMemory(
            session=one.get("session", "s1"),
            role=one.get("role", "user"),
            text=one["text"],
            speaker=one.get("speaker", ""),
            metadata={"place": place},
            occurred_at=now - timedelta(days=30) + timedelta(hours=place),
        )
        for place, one in enumerate(messages)
    ]
    embedded = embed_memories([passages_to_embed(one.text, one.speaker) for one in memories])
    with scratch_namespace("harm", memories=memories, embedded=[embedded], actor="bench", keep=False, now=now) as scope:
        settle_namespace(scope, now=now)
        hits = [
            [(hit.metadata["place"], hit.text) for hit in retrieve(scope, question, top_k=TOP).hits]
            for question in (read_questions([Ask(text, TOP, now) for text in questions]) if questions else ())
        ]
        rows = {row.pk: row for row in Memory.objects.in_scope(scope)}
        place_of = {pk: row.metadata["place"] for pk, row in rows.items()}
        later: dict[int, set[int]] = defaultdict(set)
        for link in MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.SUPERSEDES):
            later[place_of[link.other_id]].add(place_of[link.memory_id])
    row_at = {place_of[pk]: row for pk, row in rows.items()}
    places = range(len(messages))
    return Settled(
        [row_at[at].text for at in places],
        ["" if row_at[at].superseded_by is not None else row_at[at].live for at in places],
        [frozenset(later[at]) for at in places],
        hits,
    )


def _count_facts() -> None:
    pairs = [texts for _, *texts in facts.pairs(held_out=True)]
    outcomes = [settle([{"text": text} for text in texts], []) for texts in pairs]
    lost = sum(any(map(outcome.is_out, range(2))) for outcome in outcomes)
    marked = sum(any(outcome.later) for outcome in outcomes)
    print(f"facts: of {len(pairs)} pairs {lost} lost, {marked} marked as changed later")


def _count_corpus(folder: Path) -> None:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        groups[row["group"]].append(row)
    lost = marked = total = 0
    for rows in groups.values():
        if len(rows) > MAX_MESSAGES:
            continue
        outcome = settle([{"text": one["text"], "speaker": one.get("speaker", "")} for one in rows], [])
        total += len(rows)
        lost += sum(outcome.is_out(place) for place in range(len(rows)))
        marked += sum(map(bool, outcome.later))
    print(f"{folder.name}: {lost} of {total} memories lost, {marked} marked as changed later")


if __name__ == "__main__":
    main()
