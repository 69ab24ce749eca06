"""Answers a question in the words of the namespace's memories, or says that none answers it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.conf import settings

from memory.enums import AnswerMode, NoAnswer
from memory.errors import EmbeddingUnavailable
from memory.retrieval.pipeline import Hit
from memory.retrieval.render import NOTHING_FITS, QUOTED
from memory.services.index.embedding import active_model
from memory.services.recall.query import QueryAnswer, answer_of_no_namespace, query
from memory.services.recall.search import Ask
from memory.services.tenancy.policy import in_force
from memory.text.analysis import cjk_share
from memory.text.answers import Citation, Excerpt, Newer, Source, compose, excerpts
from memory.text.tokens import count_tokens
from memory.types import Scope

log = logging.getLogger("memos.answers")

# Of so many of the best hits excerpts are quoted.
QUOTED_HITS = 10
# How relevant the best hit must be: where half of the questions belong to the namespace, nine in ten such hits are
# what is looked for. To quote what does not answer is worse than to show it as a hit: it is more than the usual floor.
LEAST_RELEVANCE = 0.9
NOTHING_FITS_ZH = "已存的记忆都回答不了这个问题。"
# The excerpts were chosen by their words alone.
WORDS_ONLY = "answer_by_words_only"


@dataclass(frozen=True, slots=True)
class Quote:
    """`text` as it stands in the memory `memory_id`, which `speaker` ("" when not known) said at `occurred_at`.

    `n`: the number behind it in the answer. `marked`: the answer puts it in quotation marks.
    """

    n: int
    memory_id: uuid.UUID
    text: str
    speaker: str
    occurred_at: datetime
    marked: bool


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """What is answered, of `tokens` tokens, and what it quotes; `no_answer` says why there is none.

    `pack_id`: the context pack that holds all that was found; None where there is no namespace. `hits`: how many came
    back. `degraded` names what did not work fully.
    """

    text: str
    tokens: int
    quotes: list[Quote]
    no_answer: NoAnswer | None
    mode: AnswerMode
    pack_id: uuid.UUID | None
    hits: int
    degraded: list[str]


def answer(scope: Scope, ask: Ask, *, session: str, max_tokens: int) -> CitedAnswer:
    """Answers by the excerpts of the best hits that say most, word for word, in at most `max_tokens`.

    Retrieval, pack and audit are those of `query`. Without a hit of LEAST_RELEVANCE nothing is quoted. Where the
    question asks when, each line has its dates; what a newer memory says otherwise is quoted beside the older words.
    A suspected memory is marked as a quotation. An answer that nothing fits into says so, whatever `max_tokens` is.

    Raises EmbeddingUnavailable, SearchTimedOut.
    """
    found = query(scope, ask, session=session)
    hits = found.retrieval.hits
    if not _is_relevant(scope, hits):
        return _without_answer(ask, found, NoAnswer.BELOW_FLOOR if hits else NoAnswer.NOTHING_FOUND)
    best = hits[:QUOTED_HITS]
    sources = [_source(hit) for hit in best]
    candidates = excerpts(ask.text, sources)
    likeness = _likeness(ask.text, candidates)
    composed = compose(
        ask.text,
        sources,
        candidates,
        likeness=likeness,
        max_tokens=max_tokens,
        count=partial(count_tokens, tokenizer=settings.MEMOS_TOKENIZER),
    )
    degraded = found.degraded if likeness is not None else [*found.degraded, WORDS_ONLY]
    if composed is None:
        return _without_answer(ask, found, NoAnswer.NOTHING_QUOTABLE, degraded=degraded)
    speakers = {hit.id: hit.speaker for hit in hits}
    return CitedAnswer(
        text=composed.text,
        tokens=composed.tokens,
        quotes=[_quote(one, speakers.get(one.memory_id, "")) for one in composed.citations],
        no_answer=None,
        mode=AnswerMode.EXTRACTIVE,
        pack_id=found.pack_id,
        hits=len(hits),
        degraded=degraded,
    )


def _is_relevant(scope: Scope, hits: Sequence[Hit]) -> bool:
    """Whether a hit is relevant enough to be quoted; any is where the policy's floor is 0, which asks for no judgement
    (of an embedding model that relevance was not learned from)."""
    floor = in_force(scope.namespace_id).policy.relevance_floor
    least = max(floor, LEAST_RELEVANCE) if floor else 0.0
    return any(hit.relevance >= least for hit in hits)


def no_answer_of_no_namespace(namespace: str, ask: Ask, *, session: str) -> CitedAnswer:
    """What is answered where there is no namespace of that name. Stores nothing."""
    return _without_answer(ask, answer_of_no_namespace(namespace, ask, session=session), NoAnswer.NOTHING_FOUND)


def _without_answer(
    ask: Ask, found: QueryAnswer, reason: NoAnswer, *, degraded: list[str] | None = None
) -> CitedAnswer:
    text = NOTHING_FITS_ZH if cjk_share(ask.text) > 0.5 else NOTHING_FITS
    return CitedAnswer(
        text=text,
        tokens=count_tokens(text, settings.MEMOS_TOKENIZER),
        quotes=[],
        no_answer=reason,
        mode=AnswerMode.EXTRACTIVE,
        pack_id=found.pack_id,
        hits=len(found.retrieval.hits),
        degraded=found.degraded if degraded is None else degraded,
    )


def _source(hit: Hit) -> Source:
    return Source(
        memory_id=hit.id,
        text=hit.text,
        said=hit.occurred_at,
        score=hit.score,
        label=f"{hit.speaker or hit.role}{QUOTED}: " if hit.suspected else "",
        marked=hit.suspected,
        newer=[Newer(later.memory_id, later.words, later.text, later.occurred_at) for later in hit.later],
    )


def _likeness(question: str, candidates: Sequence[Excerpt]) -> list[float] | None:
    """The cosine of each excerpt to the question; None when the embedding model is away."""
    try:
        vectors = active_model(choose=False).embed([question, *(one.text for one in candidates)])
    except EmbeddingUnavailable as error:
        log.warning("answer without vectors", extra={"reason": error.message})
        return None
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]]


def _quote(one: Citation, speaker: str) -> Quote:
    return Quote(one.n, one.memory_id, one.quote, speaker, one.said, one.marked)
