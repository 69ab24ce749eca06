#!/usr/bin/env python
"""Measures how well memories are found in fifteen languages: the share of right first hits, in percent.

    MEMOS_EMBEDDING_MODEL=all-MiniLM-L6-v2-int8-zh+use-multilingual-v3 .venv/bin/python bench/languages.py

`sixteen_languages/` has the same 24 everyday facts in each language, a line each: the memory and a question that it
answers. A namespace holds the facts of one language. It is asked in that language and in English; and the one in
English is asked in every language.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.product import product

FOLDER = Path(__file__).with_name("sixteen_languages")


def read_facts() -> dict[str, list[tuple[str, str]]]:
    """Returns the memories and their questions, by language."""
    facts = {}
    for file in sorted(FOLDER.glob("*.tsv")):
        lines = (line.split("\t") for line in file.read_text("utf-8").splitlines())
        facts[file.stem] = [(memory, question) for memory, question in lines]
    return facts


def main() -> None:
    facts = read_facts()
    with product():
        shares = {language: _measure(language, facts) for language in facts}
    print(f"{'':9}{'same language':>16}{'asked in English':>18}{'asked of English':>18}")
    for language, (same, asked_in_english) in shares.items():
        print(f"{language:9}{same[language]:16.0f}{asked_in_english:18.0f}{shares['en'][0][language]:18.0f}")
    means = (
        _mean([same[language] for language, (same, _) in shares.items()]),
        _mean([asked_in_english for _, asked_in_english in shares.values()]),
        _mean(list(shares["en"][0].values())),
    )
    print(f"{'mean':9}{means[0]:16.1f}{means[1]:18.1f}{means[2]:18.1f}")


def _measure(language: str, facts: Mapping[str, Sequence[tuple[str, str]]]) -> tuple[dict[str, float], float]:
    """Returns how many of the questions in its own language find the right one of the memories in `language`, those in
    any language if that is English; and how many of the English ones."""
    from memory.enums import Role  # noqa: PLC0415
    from memory.services.evaluation.scratch import embed_batches, scratch_namespace  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    memories = [
        NewMemory(session=f"s{number}", role=Role.USER, text=text, metadata={"doc_id": str(number)})
        for number, (text, _) in enumerate(facts[language])
    ]
    asked = {
        other: [question for _, question in facts[other]]
        for other in (facts if language == "en" else dict.fromkeys((language, "en")))
    }
    with scratch_namespace(
        f"language-{language}", memories=memories, embedded=embed_batches(memories), actor="bench", keep=False,
        now=datetime.now(UTC),
    ) as scope:  # fmt: skip
        shares = {other: _share_found(scope, questions) for other, questions in asked.items()}
    return shares, shares["en"]


def _share_found(scope, questions: Sequence[str]) -> float:
    from memory.models import Memory  # noqa: PLC0415
    from memory.services.recall.search import Ask, find  # noqa: PLC0415

    numbers = dict(Memory.objects.in_scope(scope).values_list("pk", "metadata__doc_id"))
    now = datetime.now(UTC)
    found = [find(scope, Ask(text, 1, now, dry_run=True)).hits for text in questions]
    right = [bool(hits) and numbers[hits[0].id] == str(number) for number, hits in enumerate(found)]
    return 100 * sum(right) / len(right)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
