"""Finds the names in texts by rules, and by the language model if MEMOS_LLM_ENTITIES is set."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from memory.errors import LLMUnavailable
from memory.providers.llm_entities import find_entity_reader
from memory.providers.name_lists import lexicon
from memory.text.entities import MAX_ENTITIES, find_entities
from memory.text.names import NameMatch

log = logging.getLogger("memos.entities")


def read_entities(texts: Sequence[tuple[str, str]], *, model: str = "") -> list[list[NameMatch]]:
    """Return the names in each (text, speaker), in reading order without overlaps, preceded by a named speaker.

    `model` replaces the model of the settings. What the language model adds must occur in the text, and not be part of
    a name that a rule is surer of. If it doesn't answer, only the rules' names are returned.
    """
    words = lexicon()
    found = [find_entities(text, words, speaker=speaker) for text, speaker in texts]
    reader = find_entity_reader(model)
    if reader is None or not texts:
        return found
    try:
        added = reader.read([text for text, _ in texts])
    except LLMUnavailable as error:
        log.warning("the language model found no names", extra={"reason": error.message, "model": reader.name})
        return found
    return [_join_names(own, more) for own, more in zip(found, added, strict=True)]


def _join_names(own: Sequence[NameMatch], more: Iterable[NameMatch]) -> list[NameMatch]:
    """Merge the names of the rules and of the model; overlaps go to the rules if they are sure, else to the model."""
    kept = [named for named in own if named.weight >= 2]
    for named in [*more, *own]:
        if all(named.end <= other.start or other.end <= named.start for other in kept if other.end):
            kept.append(named)
    return sorted(set(kept))[:MAX_ENTITIES]
