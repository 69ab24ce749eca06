"""Answers a question from the namespace's memories, each citation checked, or says that none answers it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memory import deadline
from memory.enums import NoAnswer
from memory.errors import LLMUnavailable
from memory.providers.chat.model import ChatModel
from memory.services.answers.background import run_beside
from memory.services.answers.cited_answer import CitedAnswer, Quote
from memory.services.answers.extract import extract_answer, without_answer
from memory.services.answers.sources import AnswerSources, AnswerTerms, find_sources
from memory.services.answers.write import write_answer
from memory.services.recall.query import answer_of_no_namespace
from memory.services.recall.search import Ask
from memory.types import Scope

log = logging.getLogger("memos.answers")

# The interval in seconds at which a stream reports that it waits for its model.
WAITING_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class CitableSource:
    """The memory that is cited as `n`. `score`: its cosine similarity; None if it is not among the hits."""

    n: int
    memory_id: uuid.UUID
    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The memories that the following answer may cite. Sent again when quotes replace the answer of an unavailable
    model.

    `whose`: as of `CitedAnswer`.
    """

    pack_id: uuid.UUID | None
    sources: list[CitableSource]
    whose: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StillWaiting:
    """Reports that nothing came for WAITING_SECONDS."""


AnswerEvent = SourcesFound | StillWaiting | str | Quote | CitedAnswer


def answer(scope: Scope, ask: Ask, *, session: str, terms: AnswerTerms) -> CitedAnswer:
    """Answer with a model if the terms name one, else with the most informative excerpts of the best hits.

    Retrieval, pack and audit are those of `query`. If the model does not answer, quotes do, and `degraded` says why.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    return complete(find_sources(scope, ask, session=session, terms=terms))


def complete(sources: AnswerSources) -> CitedAnswer:
    """Return the answer to the result of `find_sources`."""
    model = sources.terms.model
    if model is None or sources.no_answer:
        return extract_answer(sources)
    with deadline.without_limit():
        try:
            *_, written = write_answer(sources, model)
        except LLMUnavailable as error:
            return _fall_back(sources, error)
    assert isinstance(written, CitedAnswer)
    return written


def stream(sources: AnswerSources) -> Generator[AnswerEvent]:
    """Yield the answer as it is made: the sources, pieces of text, then each citation, and finally the whole answer.

    Closing it ends the call of the model. Raises LLMUnavailable when a model breaks off within its answer.
    """
    model = sources.terms.model
    if model is None or sources.no_answer:
        yield from tell(extract_answer(sources), sources)
        return
    yield SourcesFound(
        sources.pack_id,
        [CitableSource(one.n, one.hit.id, one.hit.text, one.hit.similarity) for one in sources.sources],
        sources.found.whose,
    )
    yield from _stream_written(sources, model)


def _stream_written(sources: AnswerSources, model: ChatModel) -> Iterator[AnswerEvent]:
    has_begun = False
    beside = run_beside(write_answer(sources, model), waiting_seconds=WAITING_SECONDS)
    try:
        for piece in beside:
            if isinstance(piece, CitedAnswer):
                yield from piece.quotes
                yield piece
            elif piece is None:
                yield StillWaiting()
            else:
                has_begun = True
                yield piece
    except LLMUnavailable as error:
        if has_begun:
            raise
        yield from tell(_fall_back(sources, error), sources)
    finally:
        beside.close()


def tell(answered: CitedAnswer, sources: AnswerSources | None = None) -> Iterator[AnswerEvent]:
    """Yield the events of a complete answer, line by line."""
    hits = {hit.id: hit for hit in sources.found.retrieval.hits} if sources else {}
    cited = {
        quote.n: CitableSource(
            quote.n, quote.memory_id, hit.text if hit else quote.text, hit.similarity if hit else None
        )
        for quote in answered.quotes
        for hit in [hits.get(quote.memory_id)]
    }
    yield SourcesFound(answered.pack_id, list(cited.values()), answered.whose)
    yield from answered.text.splitlines(keepends=True)
    yield from answered.quotes
    yield answered


def _fall_back(sources: AnswerSources, error: LLMUnavailable) -> CitedAnswer:
    log.warning("answer without its model", extra={"reason": error.message})
    quoted = extract_answer(sources)
    return replace(quoted, degraded=[*quoted.degraded, error.code])


def no_answer_of_no_namespace(namespace: str, ask: Ask, *, session: str) -> CitedAnswer:
    """Return the answer for an unknown namespace. Stores nothing."""
    return without_answer(ask.text, answer_of_no_namespace(namespace, ask, session=session), NoAnswer.NOTHING_FOUND)
