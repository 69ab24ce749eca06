"""Suggests questions that memories may answer, about the newest entities in them."""

from __future__ import annotations

from collections.abc import Sequence

from memory.services.entities.listing import entities
from memory.types import Scope

SUGGESTED = 3
_QUESTIONS = {"en": "What is there about {name}?", "zh": "关于{name}，有哪些记录？"}


def suggest(scopes: Sequence[Scope], *, language: str) -> list[str]:
    """Return up to SUGGESTED questions. There are none if no entities have been found yet."""
    names = [
        entity["name"]
        for scope in scopes
        for entity in entities(scope, search="", kind=None, cursor=None, limit=SUGGESTED)[0]
    ]
    return [_QUESTIONS[language].format(name=name) for name in dict.fromkeys(names)][:SUGGESTED]
