"""Writes a session's card from turns: with the language model if one is configured, else with the extractor."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memory.errors import LLMUnavailable
from memory.models import Condensation, Memory
from memory.providers.llm_cards import find_card_writer
from memory.services.tenancy.zones import zone_of
from memory.stores import model_calls
from memory.text.card import build_card
from memory.text.statements import Turn
from memory.types import in_zone

log = logging.getLogger("memos.condense")

EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True)
class Written:
    """A card, its writer, and details; after a failed model: which one, and why it failed."""

    card: dict[str, Any]
    method: str
    details: dict[str, Any]


def write_card(
    turns: Sequence[Turn], *, previous: Mapping[str, Any] | None, model: str = "", max_tokens: int | None = None
) -> Written:
    """Write the card of `turns` after the `previous` one.

    `model` overrides that of the settings; `max_tokens` is for the extractor.
    """
    llm = find_card_writer(model)
    details: dict[str, Any] = {}
    if llm is not None:
        try:
            card = llm.write_card(turns, previous=previous)
        except LLMUnavailable as error:
            log.warning("the language model wrote no card", extra={"reason": error.message, "model": llm.name})
            details = {"no_card_from": {"model": llm.name, "reason": error.message, **(error.detail or {})}}
        else:
            model_calls.note_answer(model_calls.LANGUAGE)
            return Written(card, llm.name, {})
    return Written(build_card(turns, previous=previous, max_tokens=max_tokens), EXTRACTIVE, details)


def turn_of(memory: Memory) -> Turn:
    """Return the part of a memory that holds, as a turn to be condensed, with the time in the namespace's zone."""
    said = in_zone(memory.occurred_at, zone_of(memory.namespace_id))
    return Turn(str(memory.pk), memory.live, memory.role, memory.speaker, said)


def card_with_sources(summary: Condensation) -> dict[str, Any]:
    """Return a stored card, with the memories behind each of its items under `sources`."""
    card: dict[str, Any] = orjson.loads(summary.condensed_text)
    return {**card, "sources": summary.item_sources}
