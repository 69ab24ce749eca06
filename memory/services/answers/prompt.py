"""Writes the prompt of a chat model: instructions that never change, the memories found, then the question."""

from __future__ import annotations

from collections.abc import Mapping

from memory.providers.chat.model import Message
from memory.retrieval.render import QUOTED
from memory.services.answers.extract import nothing_fits
from memory.services.answers.sources import AnswerSource, AnswerSources
from memory.text.answer_instructions import ANSWER_INSTRUCTIONS

_JSON = "Fill the JSON object from the memories only. Where they do not say something, leave it empty or null.\n"


def write_prompt(sources: AnswerSources) -> list[Message]:
    """Return the messages for the model. Lines from memories begin with a dash or are indented, so that none of them
    can pass for an instruction."""
    hidden = [_line(one) for one in sources.sources if not one.shown]
    told = [_indent(f"{one.speaker or one.role}: {one.text}") for one in sources.terms.told]
    parts = [
        sources.found.pack["text"],
        "Of the latest messages, these have numbers:\n" + "".join(hidden) if hidden else "",
        "Said just now:\n" + "".join(told) if told else "",
        f"\nIf none of this answers the question, write only: {nothing_fits(sources.question)}\n",
        _JSON if sources.terms.schema is not None else "",
        f"Question: {sources.question}",
    ]
    return [_message("system", ANSWER_INSTRUCTIONS), _message("user", "".join(parts))]


def _message(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}


def _line(source: AnswerSource) -> str:
    hit = source.hit
    quoted = QUOTED if hit.suspected else ""
    whose = ", ".join(filter(None, (hit.speaker or hit.role, hit.place)))
    return _indent(f"[{source.n}] {hit.occurred_at:%Y-%m-%d}, {whose}{quoted}: {hit.text}")


def _indent(text: str) -> str:
    return "- " + "\n  ".join(text.splitlines()) + "\n"
