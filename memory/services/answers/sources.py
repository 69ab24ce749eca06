"""What an answer may rest on: the memories that were found, numbered as the context pack numbers them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.enums import CutReason, NoAnswer, PackSection, PromptForm
from memory.providers.chat.model import ChatModel
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import Retrieval
from memory.services.activation.prefix import count_pack_tokens
from memory.services.recall.query import QueryAnswer, query
from memory.services.recall.search import Ask
from memory.services.tenancy.policy import in_force
from memory.types import NewMemory, Scope

# How relevant the best hit must be: where half of the questions belong to the namespace, nine in ten such hits are
# what is looked for. To quote what does not answer is worse than to show it as a hit: it is more than the usual floor.
LEAST_RELEVANCE = 0.9


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """How a question is to be answered: in at most `max_tokens`; by quotes where `model` is None.

    `schema`: what the model's JSON follows. `question`: all that is asked, where the search takes only a part of it.
    `told`: what was said before it and is no memory yet.
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
    """All that a question brought back. `no_answer` says why it is not to be answered; None where it is."""

    scope: Scope
    session: str
    ask: Ask
    terms: AnswerTerms
    found: QueryAnswer
    sources: list[AnswerSource]
    no_answer: NoAnswer | None

    @property
    def question(self) -> str:
        """All that is asked."""
        return self.terms.question or self.ask.text

    @property
    def pack_id(self) -> uuid.UUID | None:
        """The context pack that holds what was found."""
        return self.found.pack_id


def find_sources(
    scope: Scope, ask: Ask, *, session: str, terms: AnswerTerms, beside: Sequence[Scope] = ()
) -> AnswerSources:
    """Searches, and keeps a pack and audit events as `query` does. Nothing is quoted without a hit of LEAST_RELEVANCE;
    a model, which can say that nothing answers, is asked from the policy's floor on.

    For a model the pack's text has at most MEMOS_ANSWER_SOURCE_TOKENS. `beside`: as `query` takes
    it. Raises EmbeddingUnavailable, SearchTimedOut.
    """
    room = count_pack_tokens(PromptForm.ANSWER) if terms.model else None
    found = query(scope, ask, session=session, max_tokens=room, beside=beside)
    hits = found.retrieval.hits
    no_answer = None
    if not (found.answerable if terms.model else _is_quotable(scope, found.retrieval)):
        no_answer = NoAnswer.BELOW_FLOOR if hits else NoAnswer.NOTHING_FOUND
    return AnswerSources(scope, session, ask, terms, found, _number(found), no_answer)


def _is_quotable(scope: Scope, retrieval: Retrieval) -> bool:
    """Whether the question is answered surely enough to quote a hit; any may be quoted where the policy's floor is 0,
    which asks for no judgement (of an embedding model that relevance was not learned from)."""
    floor = in_force(scope.namespace_id).policy.relevance_floor
    least = max(floor, LEAST_RELEVANCE) if floor else 0.0
    return bool(retrieval.hits) and retrieval.answerability >= least


def _number(found: QueryAnswer) -> list[AnswerSource]:
    """The hits that the pack's text has room for, or shows among the latest messages or the durable memories."""
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
