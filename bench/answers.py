#!/usr/bin/env python
"""Measures how much of people's answers is in those of `POST /v1/answer`, and how often these abstain.

    .venv/bin/python bench/answers.py --histories --more
    .venv/bin/python bench/answers.py sets/one sets/two

`--histories` asks the questions of `answer_histories/`. Printed are, by half and type of question, how many answers and
how many first hits contain everything that was asked (%), how many questions are refused, the unrelated lines of an
answer, and how many questions about things that were never said are answered. `--more` asks those of
`questions_dev.jsonl`.

Each set has the form of `manage.py evaluate`; the questions of `queries.jsonl` have an `answer`. Printed are, by type
of question, the mean share (%) of the gold answer's content words (lower case, stemmed, without stop words) in the text
of the first hit, and in an answer of at most 60 tokens without its numbers; and how often (%) own questions (except the
type adversarial, which has no answer), and as many questions of other groups, get no answer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import Stemmer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import answer_histories
from bench.product import product
from memory.text.analysis import STOP_WORDS

TOP = 10
TOKENS = 60
SEED = 17
UNANSWERABLE = "adversarial"

_stemmer = Stemmer.Stemmer("english")
_NUMBER = re.compile(r" \[(\d+)\]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--histories", action="store_true", help="ask the histories of answer_histories/")
    parser.add_argument("--more", action="store_true", help="ask the further questions to the histories of dev")
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"tokens of an answer to a set ({TOKENS})")
    parser.add_argument("--words-only", action="store_true", help="choose excerpts without their vectors")
    options = parser.parse_args()
    with product():
        if options.words_only:
            _take_vectors_away()
        for half in (answer_histories.DEV, answer_histories.UNSEEN) if options.histories else ():
            _report_histories(half, [score for history in answer_histories.histories(half) for score in _ask(history)])
        if options.more:
            more = answer_histories.more_questions()
            asked = (
                {**one, "questions": more[one["name"]]} for one in answer_histories.histories(answer_histories.DEV)
            )
            _report_histories("further questions, dev", [score for history in asked for score in _ask(history)])
        for folder in options.sets:
            _measure(folder, tokens=options.tokens)


def content_words(text: str) -> set[str]:
    """Returns the stems of the words of `text` without stop words."""
    return {_stemmer.stemWord(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP_WORDS}


def measure_share(gold: str, answer: str) -> float:
    """Returns the share (0..1) of the content words of `gold` that `answer` has; 1 if there are none."""
    wanted = content_words(gold)
    return len(wanted & content_words(answer)) / len(wanted) if wanted else 1.0


def _take_vectors_away() -> None:
    from memory.services.answers import extract  # noqa: PLC0415

    extract._likeness = lambda *_: None  # type: ignore[assignment]


def _ask(history: dict) -> Iterator[answer_histories.Score]:
    """Asks the questions of a history, as `POST /v1/answer` does without a budget, and yields their scores."""
    from memory.api.serializers.answer import QUOTED_TOKENS  # noqa: PLC0415
    from memory.services.answers.answer import answer  # noqa: PLC0415
    from memory.services.answers.sources import AnswerTerms  # noqa: PLC0415
    from memory.services.entities.extract import index_namespace  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.services.recall.query import query  # noqa: PLC0415
    from memory.services.recall.search import Ask  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    turns = [
        NewMemory(
            session=turn["session"],
            role=turn["role"],
            speaker=turn["speaker"],
            text=turn["text"],
            occurred_at=datetime.fromisoformat(turn["time"]),
            metadata={"turn": turn["id"]},
        )
        for turn in history["turns"]
    ]
    embedded, now = embed_batches(turns), datetime.now(UTC)
    with scratch_namespace(
        history["name"], memories=turns, embedded=embedded, actor="bench", keep=False, now=now
    ) as scope:
        index_namespace(scope, now=now)
        settle_namespace(scope, now=now)
        for question in history["questions"]:
            ask = Ask(question["question"], TOP, now, dry_run=True)
            hits = query(scope, ask, session="bench").retrieval.hits
            said = answer(scope, ask, session="bench", terms=AnswerTerms(QUOTED_TOKENS))
            turn_of = {hit.id: hit.metadata["turn"] for hit in hits}
            cited = {quote.n: turn_of.get(quote.memory_id, "") for quote in said.quotes}
            lines = [
                answer_histories.Line(line, frozenset(cited[int(n)] for n in _NUMBER.findall(line)))
                for line in (said.text.splitlines() if said.no_answer is None else [])
            ]
            yield answer_histories.score(question, lines, hits[0].text if hits else "")


def _report_histories(half: str, scores: Sequence[answer_histories.Score]) -> None:
    by_type: dict[str, list[answer_histories.Score]] = defaultdict(list)
    for score in scores:
        by_type["all" if score.type != answer_histories.NEVER_SAID else score.type].append(score)
        by_type[score.type] += [] if score.type == answer_histories.NEVER_SAID else [score]
    print(f"\n{half}: questions to histories, %")
    print(f"{'type':12}{'questions':>10}{'contains':>10}{'first hit':>11}{'lost':>6}{'refused':>9}{'unrelated':>11}")
    for kind, ones in sorted(by_type.items()):
        answered = [one for one in ones if not one.refused]
        shares = [
            100 * float(np.mean(values))
            for values in (
                [one.contains for one in ones],
                [one.first for one in ones],
                [one.first and not one.contains for one in ones],
                [one.refused for one in ones],
            )
        ]
        unrelated = sum(one.unrelated for one in answered) / max(1, len(answered))
        if kind == answer_histories.NEVER_SAID:
            print(f"{kind:12}{len(ones):10}{'answered:':>10} {100 - shares[3]:.1f} %")
        else:
            print(
                f"{kind:12}{len(ones):10}{shares[0]:10.1f}{shares[1]:11.1f}{shares[2]:6.1f}{shares[3]:9.1f}{unrelated:11.2f}"
            )


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
