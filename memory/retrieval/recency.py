"""Puts a memory that replaces an older one right above it.

An older memory stays a hit while a newer one is only linked as its likely successor, and while a part of it has not
been retired. If the question is about the words that were replaced, the newer memory takes the older one's place,
whether it would have been a hit itself or not. Each hit depends only on those above it, so the first hits are the same,
however many are requested.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from memory.retrieval.fusion import Candidate, Contribution
from memory.retrieval.hit_memory import Later
from memory.retrieval.hits import Hit
from memory.text.analysis import terms
from memory.text.subjects import is_chinese

# These are the parts of a score that a name alone earns.
_BY_NAME = ("dense", "lexical", "people", "entities")
_CLAUSE_END = re.compile(r"[,;:.!?\n，；：。！？、]")
# Words of at most this many terms, or Chinese characters, are a bare value, which does not name its attribute.
_BARE_TERMS = 2
_BARE_CHARACTERS = 4


class Succession:
    """Puts successors above the memories that they replace.

    `said_by` maps hits that are not shown, because a successor says the same, to that successor's id. `sunk`:
    candidates that lost a part of their score, by id.
    """

    def __init__(self, asked: Sequence[str], *, read: Callable[[uuid.UUID], Hit | None], collapse: bool) -> None:
        """Takes `asked`, the question's terms, and `read`, which returns a memory as a hit, or None if it is gone."""
        self._asked = frozenset(asked)
        self._read = read
        self._collapse = collapse
        self._shown: dict[uuid.UUID, Hit] = {}
        self._brought: list[Hit] = []
        self._waiting: list[Hit] = []
        self.said_by: dict[uuid.UUID, uuid.UUID] = {}
        self.sunk: dict[str, Candidate] = {}

    def order(self, statements: Iterable[Sequence[Hit]]) -> Iterator[Hit]:
        """Yields the hits to show. `statements`: the hits, best first, each with its restatements."""
        for hit, *again in statements:
            yield from self._show_sunk(above=hit.score)
            if hit.id in self._shown:
                continue
            remains = _ranks_by_name(self._asked, hit)
            newer = self._find_successor(hit, again)
            if newer is not None:
                self._brought.append(newer)
                yield self._show(newer)
            if (same := self._find_same(hit, self._brought)) is not None:
                self.said_by |= dict.fromkeys([one.id for one in (hit, *again) if one.id != same.id], same.id)
            elif remains:
                self._sink(hit)
            else:
                yield self._show(hit)
        yield from self._show_sunk()

    def _show(self, hit: Hit) -> Hit:
        self._shown[hit.id] = hit
        return hit

    def _find_successor(self, hit: Hit, again: Sequence[Hit]) -> Hit | None:
        """Returns the newest memory that replaces words the question is about, with the hit's place and score.

        Returns None if there is none, or if it or a restatement of it is shown already.
        """
        found = [later for one in (hit, *again) for later in _list_asked(self._asked, one)]
        if not found:
            return None
        newest = max(found, key=lambda later: (later.occurred_at, later.memory_id)).memory_id
        if newest in self._shown or newest == hit.id:
            return None
        newer = self._read(newest)
        if newer is None or self._find_same(newer, self._shown.values()) is not None:
            return None
        return _take_place(newer, hit)

    def _find_same(self, hit: Hit, others: Iterable[Hit]) -> Hit | None:
        """Returns the first of `others` that makes the same statement as `hit`, or None."""
        if not self._collapse:
            return None
        return next((one for one in others if one.memory.words.statement == hit.memory.words.statement), None)

    def _sink(self, hit: Hit) -> None:
        """Subtracts the parts of the hit's score that a name earned, and holds it back until its new place comes."""
        earned = sum(hit.candidate.parts[name].weighted for name in _BY_NAME if name in hit.candidate.parts)
        candidate = hit.candidate.with_part("retired", Contribution(earned, None, -earned))
        self.sunk[hit.id_text] = candidate
        self._waiting.append(replace(hit, candidate=candidate))
        self._waiting.sort(key=lambda one: one.score, reverse=True)

    def _show_sunk(self, above: float = float("-inf")) -> Iterator[Hit]:
        while self._waiting and self._waiting[0].score >= above:
            hit = self._waiting.pop(0)
            if hit.id not in self._shown:
                yield self._show(hit)


def _take_place(newer: Hit, hit: Hit) -> Hit:
    """Gives the newer hit the score of the older one; the part `successor` is the difference to its own score."""
    gain = hit.score - newer.score
    candidate = newer.candidate.with_part("successor", Contribution(gain, None, gain))
    # A second step corrects the rounding of the sum, so that both scores are equal.
    gain += hit.score - candidate.score
    candidate = newer.candidate.with_part("successor", Contribution(gain, None, gain))
    return replace(newer, candidate=candidate, replaces=hit.id)


def _list_asked(asked: frozenset[str], hit: Hit) -> list[Later]:
    """Lists the newer memories that replace words of the hit, present or retired, that the question is about."""
    return [
        *(later for later in hit.later if is_about_words(asked, later.words, hit.text)),
        *(later for later in hit.memory.retired_by if _is_about_retired(asked, later.words, hit)),
    ]


def is_about_words(asked: frozenset[str], words: str, text: str) -> bool:
    """Tells whether a question with the terms `asked` is about the clause of `text` that holds `words`, not the rest.

    A question that shares no term with either found the text by its meaning, and counts as about the clause.
    """
    clause = _clause_of(words, text) if _is_bare_value(words) else words
    return len(asked & _terms_of(text.replace(clause, " "))) <= len(asked & _terms_of(clause))


def _is_about_retired(asked: frozenset[str], words: str, hit: Hit) -> bool:
    """Tells whether the question is about `words` that were cut out of the hit: they must share a term with it."""
    retired = asked & _terms_of(words)
    return bool(retired) and len(retired) >= len(_find_asked_of_rest(asked, hit))


def _ranks_by_name(asked: frozenset[str], hit: Hit) -> bool:
    """Tells whether the question is about retired words of the hit, and shares only names with what is left of it."""
    by = hit.memory.retired_by
    return any(_is_about_retired(asked, later.words, hit) for later in by) and not _find_asked_of_rest(asked, hit)


def _find_asked_of_rest(asked: frozenset[str], hit: Hit) -> frozenset[str]:
    """Returns the terms that the question shares with what is left of the hit, without names."""
    names = _terms_of(" ".join((hit.speaker, *hit.memory.words.names)))
    return (asked & _terms_of(hit.text)) - names


def _is_bare_value(words: str) -> bool:
    if is_chinese(words):
        return len(words) <= _BARE_CHARACTERS
    return len(_terms_of(words)) <= _BARE_TERMS


def _terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _clause_of(words: str, text: str) -> str:
    """Returns the part of `text` between the punctuation marks around `words`, which names a value's subject."""
    start = text.find(words)
    if start < 0:
        return words
    before = [mark.end() for mark in _CLAUSE_END.finditer(text, 0, start)]
    after = _CLAUSE_END.search(text, start + len(words))
    return text[before[-1] if before else 0 : after.start() if after else len(text)]
