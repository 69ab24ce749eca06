"""Finds the names in texts: by rules, and by the language model where MEMOS_LLM_ENTITIES asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.signals import setting_changed

from memory.errors import LLMUnavailable
from memory.providers.gazetteer import lexicon
from memory.text.entities import MAX_ENTITIES, find_entities
from memory.text.names import Found

if TYPE_CHECKING:
    from memory.providers.llm_entities import LLMEntityReader

log = logging.getLogger("memos.entities")


def read_entities(texts: Sequence[tuple[str, str]]) -> list[list[Found]]:
    """The names in each (text, speaker), in reading order and not overlapping; a named speaker before them.

    What the language model adds stands in the text and is no part of a name that a rule is surer of. When it does not
    answer, the rules' names are the result.
    """
    words = lexicon()
    found = [find_entities(text, words, speaker=speaker) for text, speaker in texts]
    reader = _configured()
    if reader is None or not texts:
        return found
    try:
        added = reader.read([text for text, _ in texts])
    except LLMUnavailable as error:
        log.warning("the language model found no names", extra={"reason": error.message, "model": reader.name})
        return found
    return [_joined(own, more) for own, more in zip(found, added, strict=True)]


def _joined(own: Sequence[Found], more: Iterable[Found]) -> list[Found]:
    """Names of the rules and of the model: where they overlap, those that a rule is sure of, else the model's."""
    kept = [named for named in own if named.weight >= 2]
    for named in [*more, *own]:
        if all(named.end <= other.start or other.end <= named.start for other in kept if other.end):
            kept.append(named)
    return sorted(set(kept))[:MAX_ENTITIES]


def _configured() -> LLMEntityReader | None:
    if not (settings.MEMOS_LLM_ENABLED and settings.MEMOS_LLM_ENTITIES and settings.MEMOS_LLM_API_KEY):
        return None
    return _reader(
        settings.MEMOS_LLM_MODEL,
        settings.MEMOS_LLM_BASE_URL,
        settings.MEMOS_LLM_API_KEY,
        settings.MEMOS_LLM_TIMEOUT_SECONDS,
    )


@lru_cache(maxsize=1)
def _reader(name: str, base_url: str, api_key: str, timeout: float) -> LLMEntityReader:
    # The client takes half a second to import: only those who use it wait for it.
    from memory.providers.llm_entities import LLMEntityReader  # noqa: PLC0415

    return LLMEntityReader(name=name, base_url=base_url, api_key=api_key, timeout=timeout)


def _forget_reader(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_LLM"):
        _reader.cache_clear()


setting_changed.connect(_forget_reader, dispatch_uid="memory.providers.entity_reader")
