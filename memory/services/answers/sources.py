"""Finds the memories that an answer may rest on, numbered as in the context pack."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.enums import CutReason, NoAnswer, PackSection, PromptForm
from memory.providers.chat.model import ChatModel
from memory.retrieval.hits import Hit
from memory.services.activation.prefix import count_pack_tokens
from memory.services.recall.query import QueryAnswer, query
from memory.services.recall.search import Ask
from memory.types import NewMemory, Scope


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """The terms of an answer: at most `max_tokens`; quotes if `model` is None.

    `schema`: the schema of the model's JSON. `question`: the whole question, if the search takes only a part of it.
    `told`: earlier turns that are not memories yet.
    """

    max_tokens: int
    model: ChatModel | None = None
    schema: Mapping[str, Any] | None = None
    question: str = ""
    told: Sequence[NewMemory] = ()


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The hit that is cited as `n`. `shown`: whether its line stands in the pack's text."""

    n: int
    hit: Hit
    shown: bool


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """Everything that a search for the question found. `no_answer`: the reason why the question gets no answer, or
    None."""

    scope: Scope
    session: str
    ask: Ask
    terms: AnswerTerms
    found: QueryAnswer
    sources: list[AnswerSource]
    no_answer: NoAnswer | None

    @property
    def question(self) -> str:
        """Return the whole question."""
        return self.terms.question or self.ask.text

    @property
    def pack_id(self) -> uuid.UUID | None:
        """Return the id of the context pack that holds the hits."""
        return self.found.pack_id


def find_sources(
    scope: Scope, ask: Ask, *, session: str, terms: AnswerTerms, beside: Sequence[Scope] = ()
) -> AnswerSources:
    """Search, and store a pack and audit events as `query` does. The policy's `retrieval.relevance_floor` decides
    whether there is an answer, as it decides `answerable`.

    For a model the pack's text has at most ANSWER_SOURCE_TOKENS. `beside`: other namespaces, as in `query`. Raises
    EmbeddingUnavailable, SearchTimedOut.
    """
    room = count_pack_tokens(PromptForm.ANSWER) if terms.model else None
    found = query(scope, ask, session=session, max_tokens=room, beside=beside)
    hits = found.retrieval.hits
    no_answer = None
    if not found.answerable:
        no_answer = NoAnswer.BELOW_FLOOR if hits else NoAnswer.NOTHING_FOUND
    return AnswerSources(scope, session, ask, terms, found, _number(found), no_answer)


def _number(found: QueryAnswer) -> list[AnswerSource]:
    """Return the numbered hits that the pack's text has room for, or shows as latest messages or durable memories."""
    told = {
        item["id"]: item
        for section in found.pack["manifest"]["sections"]
        if section["section"] == PackSection.HITS
        for item in section["items"]
    }
    numbered = enumerate(found.retrieval.hits, start=1)
    return [
        AnswerSource(number, hit, shown=told[str(hit.id)]["status"] != "cut")
        for number, hit in numbered
        if told[str(hit.id)]["reason"] in (None, CutReason.IN_WINDOW, CutReason.IN_PREFIX)
    ]
