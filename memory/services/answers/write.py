"""Has a chat model write an answer from numbered memories, and checks each citation."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson
from django.conf import settings

from memory.enums import AnswerMode, Degradation, NoAnswer, PromptForm
from memory.errors import LLMUnavailable
from memory.providers.calls import TokenUsage
from memory.providers.chat.model import ChatModel, ChatStream
from memory.retrieval.hits import Hit
from memory.services.activation.use import CachedPrefix, find_prefix_cache
from memory.services.answers.cited_answer import CitedAnswer, Quote
from memory.services.answers.extract import nothing_fits, without_answer
from memory.services.answers.prompt import write_prompt
from memory.services.answers.sources import AnswerSources
from memory.services.usage.prices import cost_of
from memory.text.citations import MarkerFilter, check_citations, is_said, nearest_sentence, remove_markers
from memory.text.statements import Turn
from memory.text.tokens import count_tokens

# Reported when the model reached `max_tokens` before the end of its answer.
CUT_OFF = Degradation.ANSWER_CUT_OFF.value


def write_answer(sources: AnswerSources, model: ChatModel) -> Generator[str | CitedAnswer]:
    """Yield the pieces of the model's answer as they come, without numbers of unknown sources; finally the checked
    answer.

    With a schema there are no pieces. Closing it ends the call. Raises LLMUnavailable; then there is no answer.
    """
    if sources.terms.schema is not None:
        yield _fill_schema(sources, model, sources.terms.schema)
        return
    marker_filter = MarkerFilter({one.n for one in sources.sources})
    pieces: list[str] = []
    slot_plan = _find_cache(sources, model)
    with model.stream(write_prompt(sources), max_tokens=sources.terms.max_tokens, slot_plan=slot_plan) as stream:
        for said in stream:
            if piece := marker_filter.feed(said):
                pieces.append(piece)
                yield piece
    text = "".join(pieces)
    if not text:
        raise LLMUnavailable(f"{model.name} answered nothing")
    yield _check_answer(sources, model, text, stream)


def _find_cache(sources: AnswerSources, model: ChatModel) -> CachedPrefix | None:
    """Find the activation cache of the pack's prefix for the model, if there is one."""
    if not sources.found.rendered.prefix:
        return None
    return find_prefix_cache(
        sources.scope,
        model,
        form=PromptForm.ANSWER,
        prefix_sha256=sources.found.rendered.prefix_sha256,
        session=sources.session,
    )


def _check_answer(sources: AnswerSources, model: ChatModel, text: str, ended: ChatStream) -> CitedAnswer:
    named = f"{model.provider}/{model.name}"
    if remove_markers(text).strip(' .。"“”') == nothing_fits(sources.question).strip(".。"):
        nothing = without_answer(sources.question, sources.found, NoAnswer.NOT_IN_SOURCES)
        return replace(
            nothing,
            mode=AnswerMode.MODEL,
            model=named,
            usage=ended.usage,
            ttft_ms=ended.ttft_ms,
            cost=_cost(model, ended.usage),
        )
    hits = {one.n: one.hit for one in sources.sources}
    checked = check_citations(text, {number: _turn(hit) for number, hit in hits.items()})
    return CitedAnswer(
        text=text,
        tokens=count_tokens(text, settings.MEMOS_TOKENIZER),
        quotes=[_quote(hits[one.n], one.n, one.quote, one.at, one.supported) for one in checked.citations],
        no_answer=None,
        mode=AnswerMode.MODEL,
        pack_id=sources.pack_id,
        hits=len(sources.found.retrieval.hits),
        degraded=[*sources.found.degraded, *([CUT_OFF] if ended.finish == "length" else [])],
        uncited=checked.uncited,
        model=named,
        usage=ended.usage,
        ttft_ms=ended.ttft_ms,
        cost=_cost(model, ended.usage),
        whose=sources.found.whose,
        **sources.found.rendered.describe_prefix(),
    )


def _cost(model: ChatModel, usage: TokenUsage) -> float | None:
    """Return the cost in dollars; None if the provider counted nothing, or no price is known."""
    if usage.prompt is None or usage.completion is None:
        return None
    cost = cost_of(
        model.provider, model.name, prompt=usage.prompt, cached=usage.cached or 0, completion=usage.completion
    )
    return float(cost.usd) if cost else None


def _fill_schema(sources: AnswerSources, model: ChatModel, schema: Mapping[str, Any]) -> CitedAnswer:
    """Return the model's JSON object, with the memories that say its values."""
    filled = model.complete_json(
        write_prompt(sources),
        schema=schema,
        max_tokens=sources.terms.max_tokens,
        slot_plan=_find_cache(sources, model),
    )
    quotes: dict[uuid.UUID, Quote] = {}
    uncited: list[str] = []
    for value in _values(filled.value):
        saying = [one for one in sources.sources if is_said(value, [_turn(one.hit)])]
        for one in saying[:1]:
            quote = nearest_sentence(value, one.hit.text)
            quotes.setdefault(one.hit.id, _quote(one.hit, one.n, quote, None, supported=True))
        uncited += [] if saying else [value]
    text = orjson.dumps(filled.value).decode()
    return CitedAnswer(
        text=text,
        tokens=count_tokens(text, settings.MEMOS_TOKENIZER),
        quotes=list(quotes.values()),
        no_answer=None,
        mode=AnswerMode.MODEL,
        pack_id=sources.pack_id,
        hits=len(sources.found.retrieval.hits),
        degraded=list(sources.found.degraded),
        uncited=uncited,
        model=f"{model.provider}/{model.name}",
        structured=filled.value,
        usage=filled.usage,
        cost=_cost(model, filled.usage),
        whose=sources.found.whose,
        **sources.found.rendered.describe_prefix(),
    )


def _values(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value, as texts."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _values(inner)
    elif value and not isinstance(value, bool):
        yield str(value)


def _turn(hit: Hit) -> Turn:
    later = "".join(f"\n{one.excerpt}" for one in hit.later)
    return Turn(str(hit.id), hit.text + later, hit.role, hit.speaker, hit.occurred_at)


def _quote(hit: Hit, number: int, text: str, at: int | None, supported: bool) -> Quote:
    return Quote(number, hit.id, text, hit.speaker, hit.occurred_at, hit.suspected, at, supported, hit.place)
