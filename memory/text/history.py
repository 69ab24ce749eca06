"""A retrieval node for workflows: asks a group's memory about what a node is given, and writes the answer as history.

Nothing but the standard library, so that a workflow can use it wherever it runs; how the question travels is `ask`'s
business (POST /api/v1/memory/query over HTTP, or a call in the same process).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What a node's question is read from: the first of these that says something.
INPUTS = ("topic", "content", "document")
MAX_QUERY_CHARS = 2_000
# A single memory takes no more of the history than this.
MAX_ITEM_CHARS = 600

# Given group and question, gives results of {"content", "source", "score"}.
Ask = Callable[[str, str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class History:
    """`text` for the next node's prompt (empty: nothing is remembered), what was asked, and the results behind it."""

    text: str
    query: str
    results: list[dict[str, Any]]


def history(inputs: Mapping[str, Any], *, group_id: str, ask: Ask) -> History:
    """What the group remembers of the topic of a node's `inputs`, else of its content, else of its document.

    The frame is Chinese when the question is, else English. Without a question nothing is asked. Raises what `ask`
    raises.
    """
    query = question_of(inputs)
    results = [dict(result) for result in ask(group_id, query)] if query else []
    return History(format_results(results, chinese=is_chinese(query)), query, results)


def question_of(inputs: Mapping[str, Any]) -> str:
    """The first of INPUTS that is a text, on one line and cut to what a query may have; empty if none is."""
    for name in INPUTS:
        value = inputs.get(name)
        if isinstance(value, str) and (flat := " ".join(value.split())):
            return flat[:MAX_QUERY_CHARS].rstrip()
    return ""


def format_results(results: Sequence[Mapping[str, Any]], *, chinese: bool) -> str:
    """The results as a list under a heading, in their order; empty without results.

    Each is on one line, so that none can pass for a heading or for another one.
    """
    if not results:
        return ""
    lines = ["相关历史：" if chinese else "Relevant history:"]
    for number, result in enumerate(results, start=1):
        text = " ".join(str(result["content"]).split())
        if len(text) > MAX_ITEM_CHARS:
            text = text[: MAX_ITEM_CHARS - 1].rstrip() + "…"
        if result["source"] == "hot":
            label = "近期" if chinese else "recent"
        else:
            label = f"{'相似度' if chinese else 'similarity'} {float(result['score']):.2f}"
        lines.append(f"{number}.（{label}）{text}" if chinese else f"{number}. ({label}) {text}")
    return "\n".join(lines)


def is_chinese(text: str) -> bool:
    """Whether Chinese characters make up most of it, each counted as two Latin letters."""
    characters = sum("\u4e00" <= letter <= "\u9fff" for letter in text)
    return characters * 2 > sum(letter.isascii() and letter.isalpha() for letter in text)
