"""Answers in the words of the memories: quotes the most informative excerpts of the best hits, word for word."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from django.conf import settings

from memory.enums import AnswerMode, Degradation, NoAnswer
from memory.errors import EmbeddingUnavailable
from memory.retrieval.hits import Hit
from memory.retrieval.render import NOTHING_FITS, QUOTED
from memory.services.answers.cited_answer import CitedAnswer, Quote
from memory.services.answers.sources import AnswerSources
from memory.services.index.embedding_model import active_model
from memory.services.recall.query import QueryAnswer
from memory.text.analysis import cjk_share
from memory.text.answers import Composed, Newer, Quotable, Source, compose, excerpts
from memory.text.tokens import count_tokens

log = logging.getLogger("memos.answers")

# Only this many of the best hits are quoted.
QUOTED_HITS = 10
NOTHING_FITS_ZH = "已存的记忆都回答不了这个问题。"
# Reported when the excerpts were chosen by their words alone.
WORDS_ONLY = Degradation.ANSWER_BY_WORDS_ONLY.value


def extract_answer(sources: AnswerSources) -> CitedAnswer:
    """Return the excerpts that answer best, in at most `max_tokens` of the terms, or the sentence that says there is
    none.

    If the question asks for a time, each line has its dates. A newer memory that contradicts is quoted next to the
    older words. A suspected memory is marked as a quotation. When nothing fits, the sentence is returned whatever
    `max_tokens` is.
    """
    found, question = sources.found, sources.ask.text
    if sources.no_answer:
        return without_answer(question, found, sources.no_answer)
    hits = found.retrieval.hits
    quotable = [_source(hit) for hit in hits[:QUOTED_HITS]]
    candidates = excerpts(question, quotable)
    likeness = _likeness(question, candidates)
    composed = compose(
        question,
        quotable,
        candidates,
        likeness=likeness,
        max_tokens=sources.terms.max_tokens,
        count=partial(count_tokens, tokenizer=settings.MEMOS_TOKENIZER),
    )
    degraded = found.degraded if likeness is not None else [*found.degraded, WORDS_ONLY]
    if composed is None:
        return without_answer(question, found, NoAnswer.NOTHING_QUOTABLE, degraded=degraded)
    return CitedAnswer(
        text=composed.text,
        tokens=composed.tokens,
        quotes=_quotes(composed, hits),
        no_answer=None,
        mode=AnswerMode.EXTRACTIVE,
        pack_id=found.pack_id,
        hits=len(hits),
        degraded=degraded,
        whose=found.whose,
        **found.rendered.describe_prefix(),
    )


def without_answer(
    question: str, found: QueryAnswer, reason: NoAnswer, *, degraded: Sequence[str] | None = None
) -> CitedAnswer:
    """Return an answer that says that no memory answers the question."""
    text = nothing_fits(question)
    return CitedAnswer(
        text=text,
        tokens=count_tokens(text, settings.MEMOS_TOKENIZER),
        quotes=[],
        no_answer=reason,
        mode=AnswerMode.EXTRACTIVE,
        pack_id=found.pack_id,
        hits=len(found.retrieval.hits),
        degraded=found.degraded if degraded is None else degraded,
        **found.rendered.describe_prefix(),
    )


def nothing_fits(question: str) -> str:
    """Return the sentence that says that no memory answers; in Chinese for a Chinese question."""
    return NOTHING_FITS_ZH if cjk_share(question) > 0.5 else NOTHING_FITS


def _source(hit: Hit) -> Source:
    return Source(
        memory_id=hit.id,
        text=hit.text,
        said=hit.occurred_at,
        score=hit.score,
        speaker=hit.speaker,
        label=f"{hit.speaker or hit.role}{QUOTED}: " if hit.suspected else "",
        marked=hit.suspected,
        newer=[Newer(later.memory_id, later.words, later.text, later.occurred_at) for later in hit.later],
    )


def _likeness(question: str, candidates: Sequence[Quotable]) -> list[float] | None:
    """Return the cosine of each excerpt to the question; None when the embedding model is unavailable."""
    try:
        vectors = active_model(choose=False).embed([question, *(one.text for one in candidates)])
    except EmbeddingUnavailable as error:
        log.warning("answer without vectors", extra={"reason": error.message})
        return None
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]]


def _quotes(composed: Composed, hits: Sequence[Hit]) -> list[Quote]:
    """Return the quotes of the answer in order, each with the position of the citation number behind it."""
    whose = {hit.id: (hit.speaker, hit.place) for hit in hits}
    quotes: list[Quote] = []
    done = 0
    for one in composed.citations:
        words = " ".join(one.quote.split())
        done = max(done, composed.text.find(words, done) + len(words))
        at = composed.text.find(f"[{one.n}]", done)
        speaker, place = whose.get(one.memory_id, ("", ""))
        stands = at if at >= 0 else None
        quotes.append(Quote(one.n, one.memory_id, one.quote, speaker, one.said, one.marked, stands, place=place))
    return quotes
