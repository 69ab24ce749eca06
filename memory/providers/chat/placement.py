"""Finds where in a caller's messages a model accepts what MemOS adds.

Many templates accept a single system message, at the beginning, and some accept none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import cachetools
from django.conf import settings

from memory.caches import Cache
from memory.enums import MemoryPlace
from memory.providers.chat.faults import Endpoint
from memory.text.completion_messages import AddedMemory, Message

if TYPE_CHECKING:
    import openai

Answer = TypeVar("Answer")

# The place to try after a message's place or role was refused.
_STRICTER: Final = {MemoryPlace.APART: MemoryPlace.SYSTEM, MemoryPlace.SYSTEM: MemoryPlace.USER}
# A server whose template fails answers 400 or 422, llama.cpp also 500.
_STATUSES: Final = frozenset({400, 422, 500})
_REFUSES = re.compile(
    r"\b(system|developer)\b.{0,80}\b(begin\w*|start|first|support\w*|allow\w*|permit\w*|accept\w*|only|once|one|single)\b"
    r"|\b(only|once|one|single|multiple|first|unsupported|unexpected|invalid|unknown)\b.{0,80}\b(system|developer)\b"
    r"|\broles?\b.{0,80}\b(alternate|user|assistant)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAX_WORDS_READ = 4_000

_learnt: Cache[tuple[str, str], MemoryPlace] = Cache(cachetools.LRUCache(1_000))


def ask_where_taken(
    ask: Callable[[Sequence[Message]], Answer],
    endpoint: Endpoint,
    messages: Sequence[Message],
    added: AddedMemory | None,
) -> Answer:
    """Return the result of `ask` for the messages with `added`, in the first place that the model accepts.

    The process remembers the place. A refusal in every place is raised; MEMOS_LLM_MEMORY_PLACE leaves no choice.
    """
    if added is None or added.add_to(messages) == messages:
        return ask(messages)
    import openai  # noqa: PLC0415 - takes half a second to import

    key = endpoint.label, endpoint.base_url
    places = settings.MEMOS_LLM_MEMORY_PLACE
    chosen = places.get(endpoint.label) or places.get(endpoint.provider)
    place = MemoryPlace(chosen or _learnt.get(key) or MemoryPlace.APART)
    while True:
        try:
            answer = ask(added.add_to(messages, place))
        except openai.APIStatusError as refusal:
            if chosen or place not in _STRICTER or not _is_about_places(refusal):
                raise
            place = _STRICTER[place]
        else:
            if place != MemoryPlace.APART:
                _learnt.put(key, place)
            return answer


def _is_about_places(refusal: openai.APIStatusError) -> bool:
    """Tell whether the model refuses a message because of its role or position."""
    return refusal.status_code in _STATUSES and bool(_REFUSES.search(refusal.response.text[:_MAX_WORDS_READ]))
