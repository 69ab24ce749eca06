#!/usr/bin/env python
"""Measures the configured language model as the judge of pairs: the updates and the look-alikes that it confirms.

    MEMOS_LLM_ENABLED=1 MEMOS_LLM_PROVIDER=… MEMOS_LLM_MODEL=… .venv/bin/python bench/settling/judge.py --pairs 100

Half of the pairs are updates, and half only look like one; pairs that are held out are not used. As in settling, a
verdict only counts if the values that it names occur in the words.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.product import product
from bench.settling.pairs import PAIRS, Line, lines_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100, help="how many are judged (100)")
    parser.add_argument("--at-once", type=int, default=1, help="pairs of one question to the model (1)")
    options = parser.parse_args()
    lines = _sample(options.pairs)
    with product("memos-bench-judge"):
        counts, seconds = _judge(lines, at_once=options.at_once)
    for replaces, name in ((True, "updates"), (False, "look-alikes")):
        shares = ", ".join(f"{verdict} {count}" for verdict, count in sorted(counts[replaces].items()))
        print(f"{name}: {shares} of {counts[replaces].total()}")
    print(f"{seconds / len(lines):.1f} s a pair")


def _sample(size: int) -> list[Line]:
    """Returns the same pairs each time, alternating between both labels."""
    lines = [line for name in PAIRS for line in lines_of(name) if not line.held_out]
    lines.sort(key=lambda line: hashlib.sha256(line.older.encode() + line.newer.encode()).digest())
    updates = [line for line in lines if line.replaces]
    others = [line for line in lines if not line.replaces]
    return [line for pair in zip(updates, others, strict=False) for line in pair][:size]


def _judge(lines: list[Line], *, at_once: int) -> tuple[dict[bool, Counter[str]], float]:
    """Counts by label how often the model confirmed, denied, named a value that is not there, or gave no verdict."""
    from memory.enums import ModelPurpose  # noqa: PLC0415
    from memory.errors import LLMUnavailable  # noqa: PLC0415
    from memory.providers.chat.registry import configured_chat  # noqa: PLC0415
    from memory.providers.llm_settling import LLMJudge, PromptStatement  # noqa: PLC0415

    chat = configured_chat(ModelPurpose.JUDGE)
    if chat is None:
        sys.exit("No language model is configured: set MEMOS_LLM_ENABLED=1, MEMOS_LLM_PROVIDER and MEMOS_LLM_MODEL.")
    judge = LLMJudge(chat)
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    started = time.monotonic()
    for first in range(0, len(lines), at_once):
        batch = lines[first : first + at_once]
        older = [PromptStatement("user", "2026-03-01", "", line.older) for line in batch]
        newer = [PromptStatement("user", "2026-04-01", "", line.newer) for line in batch]
        try:
            opinions = judge.judge(list(zip(older, newer, strict=True)))
        except LLMUnavailable as error:
            print(error.message, file=sys.stderr)
            opinions = [None] * len(batch)
        for line, opinion in zip(batch, opinions, strict=True):
            if opinion is None:
                verdict = "no verdict"
            elif not opinion.replaces:
                verdict = "both hold"
            elif opinion.old_value and opinion.old_value in line.older and opinion.new_value in line.newer:
                verdict = "replaced"
            else:
                verdict = "a value that is not there"
            counts[line.replaces][verdict] += 1
    return counts, time.monotonic() - started


if __name__ == "__main__":
    main()
