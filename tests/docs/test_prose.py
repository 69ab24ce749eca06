"""Docstrings and comments open with a verb or a subject, and rare phrases stay rare."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory", "memos_site", "ops", "sdk/python", "tools", "bench", "deploy")
# A sentence that opens with one of these has its subject late, or none.
OPENINGS = frozenset(
    "what whatever who whoever whom whose which where wherever why how whether that those than as of for at on with "
    "without by in to from until so".split()
)
MAX_SHARE = 0.04
# Phrases that few maintainers use, and how often all the text may have them, per 100,000 words.
MAX_PHRASES = {"what is": 17, "those that": 10, "so many": 10, "beside": 15, "nobody": 7, "anew": 8, "whoever": 6,
               "somebody": 4, "is held": 2, "outright": 2}  # fmt: skip
_NO_PROSE = re.compile(r"# ?(noqa|type:|fmt:|pragma|!)")


@cache
def read_prose() -> dict[str, list[str]]:
    """Return the docstrings and comments of each folder, which are at least three words long."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if not {"migrations", "node_modules"} & set(path.parts):
                found[str(path.parent.relative_to(ROOT))] += [*docstrings(path), *comments(path)]
    return {folder: [text for text in texts if len(text.split()) > 2] for folder, texts in found.items()}


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def comments(path: Path) -> Iterator[str]:
    """Yield comments that have lines of their own; neighbouring lines are one comment."""
    last, lines = -1, []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type != tokenize.COMMENT or token.line.strip() != token.string or _NO_PROSE.match(token.string):
            continue
        if token.start[0] != last + 1:
            yield " ".join(lines)
            lines = []
        lines.append(token.string.lstrip("# "))
        last = token.start[0]
    yield " ".join(lines)


def opens_late(text: str) -> bool:
    return text.split(maxsplit=1)[0].strip("`*.,:;()\"'").lower() in OPENINGS


@pytest.mark.parametrize(
    "text", ["What the worker reads.", "Of two memories, the newer one.", "Whose rows it may touch."]
)
def test_a_late_subject_is_seen(text):
    assert opens_late(text)


def test_sentences_open_with_a_verb_or_a_subject():
    late = {folder: [text[:70] for text in texts if opens_late(text)] for folder, texts in read_prose().items()}
    assert {folder: found for folder, found in late.items() if len(found) > MAX_SHARE * len(read_prose()[folder])} == {}


def test_rare_phrases_stay_rare():
    text = " ".join(part for texts in read_prose().values() for part in texts).lower()
    words = len(re.findall(r"[a-z']+", text))
    counted = Counter({phrase: len(re.findall(rf"\b{phrase}\b", text)) for phrase in MAX_PHRASES})
    assert words > 100_000
    assert {phrase: n for phrase, n in counted.items() if n * 100_000 > MAX_PHRASES[phrase] * words} == {}
