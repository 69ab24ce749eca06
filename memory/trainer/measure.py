"""Measures what an adapter has learnt and harmed; `memory.governance.adapters` decides by these metrics."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from memory.trainer.base_model import BaseModel
from memory.trainer.conversation import answer_all, encode, encode_text, mean_loss, sum_losses
from memory.trainer.texts import GENERAL, REFUSALS, UNKNOWN_HELD_OUT

# Maximum number of questions of each kind, spread over the data set.
ASKED = 40
_ANSWER_TOKENS = 64
# Minimum share of common words of two answers that say the same.
_ALIKE = 0.7

Line = dict[str, Any]


def losses(base: BaseModel, model: Any, lines: list[Line]) -> dict[str, float]:
    """Return the mean loss, in nats a token, on answers of the data set and on general text."""
    own = [encode(base, one["messages"][:-1], one["messages"][-1]["content"]) for one in spread(lines, ASKED)]
    general = [encode_text(base, text) for text in GENERAL]
    return {"facts": mean_loss(base, model, own), "general": mean_loss(base, model, general)}


def ask(base: BaseModel, model: Any, lines: list[Line], held_out: list[Line]) -> dict[str, Any]:
    """Return the shares (0 to 1) of questions that are answered correctly, each with the number of questions.

    `recall` asks in the words of training, `paraphrases` in other words, and `refusals` about unknown things.
    """
    known = [(one["messages"][:-1], one["messages"][-1]["content"]) for one in spread(lines, ASKED)]
    other = [([{"role": "user", "content": one["prompt"]}], one["expected"]) for one in spread(held_out, ASKED)]
    unknown = [[{"role": "user", "content": text}] for text in UNKNOWN_HELD_OUT]
    refused = answer_all(base, model, unknown, tokens=24)
    return {
        "recall": _share_right(base, model, known),
        "recall_asked": len(known),
        "paraphrases": _share_right(base, model, other),
        "paraphrases_asked": len(other),
        "refusals": sum(map(is_refusal, refused)) / len(refused),
        "refusals_asked": len(refused),
    }


def prefer(base: BaseModel, model: Any, pairs: list[Line]) -> dict[str, Any]:
    """Return the share of pairs whose chosen answer is likelier, token by token, than the rejected one."""
    chosen_pairs = spread(pairs, ASKED)
    right = 0
    for pair in chosen_pairs:
        both = [encode(base, pair["prompt"], pair[name][0]["content"]) for name in ("chosen", "rejected")]
        chosen, rejected = (loss / max(1, count) for loss, count in sum_losses(base, model, both))
        right += chosen < rejected
    return {"preferred": right / len(chosen_pairs) if chosen_pairs else None, "pairs_asked": len(chosen_pairs)}


def spread(lines: list[Line], most: int) -> list[Line]:
    """Return at most `most` lines, evenly spread over all of them and always the same."""
    if len(lines) <= most:
        return lines
    return [lines[index * len(lines) // most] for index in range(most)]


def is_right(answer: str, expected: str) -> bool:
    """Tell whether an answer has most words of the expected one, and all of its numbers and codes."""
    said, wanted = _words(answer), _words(expected)
    if not wanted or any(re.search(r"\d", word) and word not in said for word in wanted):
        return False
    common = sum((Counter(said) & Counter(wanted)).values())
    return common > 0 and 2 * common / (len(said) + len(wanted)) >= _ALIKE


def is_refusal(answer: str) -> bool:
    """Tell whether an answer says that something isn't known."""
    return any(words in answer.lower() for words in REFUSALS)


def _share_right(base: BaseModel, model: Any, asked: list[tuple[list[dict[str, str]], str]]) -> float | None:
    if not asked:
        return None
    answers = answer_all(base, model, [messages for messages, _ in asked], tokens=_ANSWER_TOKENS)
    return sum(is_right(answer, expected) for answer, (_, expected) in zip(answers, asked, strict=True)) / len(asked)


def _words(text: str) -> list[str]:
    """Return words, keeping codes whole, and single characters in scripts without spaces."""
    return re.findall(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:[-.:/][^\W_\u3400-\u9fff]+)*", text.lower())
