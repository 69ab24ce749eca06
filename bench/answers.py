#!/usr/bin/env python
"""Measures how much of what people answered is in the answers of `POST /v1/answer`, and when they abstain.

    .venv/bin/python bench/answers.py sets/one sets/two

Each set has the form of `manage.py evaluate`; the questions of `queries.jsonl` have an `answer`. Printed are, by type
of question, the mean share (%) of the gold answer's content words (lower case, stemmed, without stop words) in the text
of the first hit and in an answer of at most 60 tokens, without its numbers; and how often (%) own questions (but the
type adversarial, which has no answer) and as many of the other groups are answered by nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import Stemmer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product
from memory.text.analysis import STOP_WORDS

TOP = 10
TOKENS = 60
SEED = 17
UNANSWERABLE = "adversarial"

_stemmer = Stemmer.Stemmer("english")
_NUMBER = re.compile(r" \[\d+\]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"tokens of an answer ({TOKENS})")
    parser.add_argument("--words-only", action="store_true", help="choose excerpts without their vectors")
    options = parser.parse_args()
    with product():
        if options.words_only:
            _take_vectors_away()
        for folder in options.sets:
            _measure(folder, tokens=options.tokens)


def content_words(text: str) -> set[str]:
    """The stems of the words of `text` that are no stop words."""
    return {_stemmer.stemWord(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP_WORDS}


def measure_share(gold: str, answer: str) -> float:
    """The share (0..1) of the content words of `gold` that `answer` has; 1 where there are none."""
    wanted = content_words(gold)
    return len(wanted & content_words(answer)) / len(wanted) if wanted else 1.0


def _take_vectors_away() -> None:
    from memory.services.answers import extract  # noqa: PLC0415

    extract._likeness = lambda *_: None  # type: ignore[assignment]


def _measure(folder: Path, *, tokens: int) -> None:
    from memory.evaluation.dataset import read_dataset  # noqa: PLC0415
    from memory.services.answers.answer import answer  # noqa: PLC0415
    from memory.services.answers.sources import AnswerTerms  # noqa: PLC0415
    from memory.services.entities.extract import index_namespace  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.services.recall.query import query  # noqa: PLC0415
    from memory.services.recall.search import Ask  # noqa: PLC0415

    by_group: dict[str, list[dict]] = defaultdict(list)
    for line in (folder / "queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("answer") is not None:
            by_group[row["group"]].append(row)
    shares: dict[str, list[tuple[float, float]]] = defaultdict(list)
    abstained: dict[str, list[bool]] = {"own": [], "other groups": []}
    took: list[tuple[float, float]] = []
    draws = random.Random(SEED)
    for group, memories in read_dataset(folder).groups.items():
        own = by_group.get(group, [])
        texts = {row["text"] for row in own}
        others = [row["text"] for name, rows in by_group.items() if name != group for row in rows]
        foreign = sorted(set(others) - texts)
        embedded, now = embed_batches(memories), datetime.now(UTC)
        with scratch_namespace(
            f"answers-{group}", memories=memories, embedded=embedded, actor="bench", keep=False, now=now
        ) as scope:
            index_namespace(scope, now=now)
            settle_namespace(scope, now=now)
            for row in own:
                ask = Ask(row["text"], TOP, now, dry_run=True)
                began = time.perf_counter()
                hits = query(scope, ask, session="bench").retrieval.hits
                searched = time.perf_counter()
                said = answer(scope, ask, session="bench", terms=AnswerTerms(tokens))
                took.append((searched - began, time.perf_counter() - searched))
                first = hits[0].text if hits else ""
                quoted = "" if said.no_answer else _NUMBER.sub("", said.text)
                gold = str(row["answer"])
                shares[row.get("type") or "all"].append((measure_share(gold, first), measure_share(gold, quoted)))
                if row.get("type") != UNANSWERABLE:
                    abstained["own"].append(said.no_answer is not None)
            for text in draws.sample(foreign, min(len(own), len(foreign))):
                said = answer(scope, Ask(text, TOP, now, dry_run=True), session="bench", terms=AnswerTerms(tokens))
                abstained["other groups"].append(said.no_answer is not None)
        print(f"{folder.name}: {group} asked", file=sys.stderr, flush=True)
    _report(folder.resolve().name, shares, abstained, took)


def _report(
    name: str,
    shares: dict[str, list[tuple[float, float]]],
    abstained: dict[str, list[bool]],
    took: list[tuple[float, float]],
) -> None:
    print(f"\n{name}: content words of the gold answer held, %")
    print(f"{'type':16}{'questions':>10}{'first hit':>11}{'answer':>8}")
    for kind, pairs in sorted(shares.items()):
        first, quoted = 100 * np.mean(pairs, axis=0)
        print(f"{kind:16}{len(pairs):10}{first:11.1f}{quoted:8.1f}")
    for kind, found in abstained.items():
        if found:
            print(f"abstained, {kind}: {100 * np.mean(found):.1f} % of {len(found)}")
    query, answer = 1000 * np.median(took, axis=0)
    print(f"milliseconds (median): query {query:.0f}, answer {answer:.0f}")


if __name__ == "__main__":
    main()
