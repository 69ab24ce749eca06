"""A retrieval node for workflows: queries a group's memory with a node's inputs and formats the results as history.

It needs only the standard library, so that it runs inside any workflow. The given `ask` carries out the query, either
over HTTP (POST /api/v1/memory/query) or within the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Inputs that the question is read from; the first with text wins.
INPUTS = ("topic", "content", "document")
MAX_QUERY_CHARS = 2_000
# Maximum length of a single memory in the history.
MAX_ITEM_CHARS = 600

# Takes a group and a question, and returns results as {"content", "source", "score"}.
Ask = Callable[[str, str], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class History:
    """`text` for the next node's prompt (empty if nothing is remembered), the query, and the results in the text."""

    text: str
    query: str
    results: list[dict[str, Any]]


def history(inputs: Mapping[str, Any], *, group_id: str, ask: Ask) -> History:
    """Return what the group remembers about the topic of a node's `inputs`, or else its content, or else its document.

    The labels are Chinese if the question is, else English. Nothing is asked without a question. Errors of `ask` pass
    through.
    """
    query = question_of(inputs)
    results = [dict(result) for result in ask(group_id, query)] if query else []
    return History(format_results(results, chinese=is_chinese(query)), query, results)


def question_of(inputs: Mapping[str, Any]) -> str:
    """Return the first of `INPUTS` that contains text, on one line and cut to `MAX_QUERY_CHARS`; else ""."""
    for name in INPUTS:
        value = inputs.get(name)
        if isinstance(value, str) and (flat := " ".join(value.split())):
            return flat[:MAX_QUERY_CHARS].rstrip()
    return ""


def format_results(results: Sequence[Mapping[str, Any]], *, chinese: bool) -> str:
    """Return the results as a numbered list under a heading, in their order; "" if there are none.

    Each result is on one line, so that its text can't pass for a heading or for another result.
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
    """Tell whether most of `text` is Chinese, counting a Chinese character as two Latin letters."""
    characters = sum("\u4e00" <= letter <= "\u9fff" for letter in text)
    return characters * 2 > sum(letter.isascii() and letter.isalpha() for letter in text)
