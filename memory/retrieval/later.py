"""Puts what is newer before what it replaced, where the older words could not be cut out of their memory.

Such a memory stays whole and is linked (see `governance/supersession.py`). When the question is about the words that
gave way, the newer memory comes first; in any case the hit says what is told later.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memory.text.analysis import terms

# Of the later memory so much is told with the earlier one.
MAX_TOLD_CHARS = 200

HitLike = TypeVar("HitLike")


@dataclass(slots=True)
class Later:
    """What the memory `memory_id` says (`text`, since `occurred_at`) in the place of the `words` of a hit.

    Not to be changed. It remembers its index terms, for it is kept with the hit's memory, question after question.
    """

    memory_id: uuid.UUID
    words: str
    text: str
    occurred_at: datetime
    _terms: tuple[frozenset[str], frozenset[str]] | None = field(default=None, init=False, repr=False, compare=False)
    _hit_terms: tuple[str, frozenset[str], frozenset[str]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def excerpt(self) -> str:
        """The later text, shortened."""
        return self.text if len(self.text) <= MAX_TOLD_CHARS else self.text[: MAX_TOLD_CHARS - 1] + "…"

    @property
    def terms(self) -> tuple[frozenset[str], frozenset[str]]:
        """The index terms of `words`, and of `text`."""
        if self._terms is None:
            self._terms = frozenset(terms(self.words)), frozenset(terms(self.text))
        return self._terms

    def terms_of_hit(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """The index terms of the hit's `text`, and of what is left of it without `words`."""
        known = self._hit_terms
        if known is None or known[0] != text:
            known = text, frozenset(terms(text)), frozenset(terms(text.replace(self.words, " ")))
            self._hit_terms = known
        return known[1:]


def asks_for_words(asked: frozenset[str], later: Later, text: str) -> bool:
    """Whether a question with the terms `asked` is about the words of the hit's `text` that gave way, rather than about
    the rest of it, and the later memory speaks of what is asked: it holds a quarter of the question's terms that the
    hit holds, or more."""
    of_words, of_text = later.terms
    replaced = asked & of_words
    if not replaced:
        return False
    held, rest = (asked & one for one in later.terms_of_hit(text))
    return len(replaced) > len(rest) and 4 * len(held & of_text) >= len(held)


def newer_first(
    hits: Sequence[HitLike],
    *,
    identity: Callable[[HitLike], uuid.UUID],
    replaced_by: Callable[[HitLike], Sequence[uuid.UUID]],
) -> list[int]:
    """The places of `hits` in the order they should have: those that replace words of a hit come right before it."""
    place_of = {identity(hit): place for place, hit in enumerate(hits)}
    order: list[int] = []
    for place, hit in enumerate(hits):
        for newer in replaced_by(hit):
            if (at := place_of.get(newer)) is not None and at not in order:
                order.append(at)
        if place not in order:
            order.append(place)
    return order
