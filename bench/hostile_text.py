#!/usr/bin/env python
"""Measures how the time of every text function of a write grows with the length of hostile texts.

    .venv/bin/python bench/hostile_text.py [--chars 10000] [--whole] [--only han tabs]

Each kind of text is made at 1, 2, 4 and 8 times `--chars`. Printed are the CPU seconds of each function for the longest
text and, after a colon, the growth from the shortest: 8 is linear, 64 quadratic. Growth from less than 2 ms is not
shown. A function that takes longer than LIMIT seconds gets no longer texts. `--whole` measures one text of 1,000,000
characters (the longest document) instead, and the sum of a request's functions. A request runs `gate` and, for a
document, `chunks`, and `terms` and `tokens` of its chunks; the worker runs the others.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from memory.gate.judge import judge
from memory.governance.importance import importance
from memory.text.analysis import terms
from memory.text.documents import chunks
from memory.text.passages import passages
from memory.text.sentences import split_sentences
from memory.text.tokens import count_tokens
from memory.text.utterances import statements

LONGEST = 1_000_000
LIMIT = 20.0
LEAST_SHOWN = 0.002

KINDS: dict[str, str] = {
    "tabs": "\t\n",
    "form feeds": "\n\n\f",
    "table rows": "| a |\n|---|\n",
    "breaks": "\n",
    "crlf": "\r\n",
    "blank lines": "\n \n",
    "wide spaces": "\u3000\n",
    "han": "好",
    "han lines": "好\n",
    "han commas": "好，",
    "letters": "a",
    "letter words": "a ",
    "mixed": "a好",
    "accents": "e\u0301",
    "joined emoji": "👩\u200d👩\u200d👧\u200d👦",
    "zero width": "\u200b",
    "dots": ".",
    "sentences": "A. ",
    "headings": "# a\n",
    "underlined": "a\n=\n",
    "items": "1. a\n",
    "bullets": "- a\n",
    "quotes": "> ",
    "fences": "```\n",
    "tables": "|a|b|\n",
    "tags": "<a>\n",
    "brackets": "[",
    "stars": "*",
    "digits": "1",
    "base64": "QUJDREVGRw==\n",
    "apostrophes": "a'",
    "names": "Ann Lee said ",
}


def whole_document(text: str) -> None:
    """Processes a document's text as a request does before it asks for vectors."""
    judge(text)
    for start, end, heading in chunks(text, markdown=True):
        part = text[start:end]
        found = terms(f"{heading}\n{part}")
        count_tokens(part)
        importance(part, "system", found)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "gate": judge,
    "chunks": lambda text: chunks(text, markdown=True),
    "plain": lambda text: chunks(text, markdown=False),
    "passages": passages,
    "terms": terms,
    "tokens": count_tokens,
    "sentences": split_sentences,
    "statements": statements,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chars", type=int, default=10_000)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(KINDS), metavar="KIND")
    options = parser.parse_args()

    functions = {"document": whole_document} if options.whole else FUNCTIONS
    if options.whole:
        functions |= {name: FUNCTIONS[name] for name in ("gate", "chunks", "terms", "tokens")}
    print(f"{'':14}" + "".join(f"{name:>14}" for name in functions), flush=True)
    for kind in options.only:
        cells = [
            f"{_seconds(run, kind, LONGEST):.2f}" if options.whole else _growth(run, kind, options.chars)
            for run in functions.values()
        ]
        print(f"{kind:14}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


def make(kind: str, chars: int) -> str:
    """Makes a text of that kind with exactly `chars` characters."""
    piece = KINDS[kind]
    return (piece * (chars // len(piece) + 1))[:chars]


def _seconds(run: Callable[[str], object], kind: str, chars: int) -> float:
    text = make(kind, chars)
    start = time.process_time()
    run(text)
    return time.process_time() - start


def _growth(run: Callable[[str], object], kind: str, chars: int) -> str:
    shortest = seconds = _seconds(run, kind, chars)
    for times in (2, 4, 8):
        if seconds > LIMIT:
            return f">{seconds:.0f} s ({times // 2}x)"
        seconds = _seconds(run, kind, times * chars)
    growth = f":{seconds / shortest:.0f}" if shortest >= LEAST_SHOWN else ":-"
    return f"{seconds:.3f}{growth}"


if __name__ == "__main__":
    main()
