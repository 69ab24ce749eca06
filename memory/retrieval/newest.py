"""Moves hits that give the newest value, or tell of a change, before those that say what held before.

They change places and scores among themselves; the part `latest` of a hit's score says by how much.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from memory.retrieval.fusion import Contribution
from memory.retrieval.hits import Hit
from memory.retrieval.later import asks_for_words, newer_first
from memory.retrieval.latest import DatedHit, asks_for_value, asks_how_it_is, change_first, latest_first
from memory.retrieval.question import Question

# So many of the hits change places for the sake of the newest value: what stands lower is of another matter.
VALUE_HITS = 10


def put_newest_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits in the order that the newest values, replaced words and told changes ask for."""
    return _put_change_first(question, _put_replacing_first(question, _put_newest_value_first(question, hits)))


def _put_newest_value_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with those of the best that give a value for what is asked in the order of time, newest first."""
    if not asks_for_value(question.text):
        return hits
    return _reorder(hits, latest_first(question.text, _date_hits(hits[:VALUE_HITS])))


def _put_replacing_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with those that replace words that are asked for before the hit that still holds them."""
    if not any(hit.later for hit in hits):
        return hits
    asked, found = frozenset(question.terms), {hit.id for hit in hits}

    def find_replacing(hit: Hit) -> list[uuid.UUID]:
        return [
            later.memory_id
            for later in hit.later
            if later.memory_id in found and asks_for_words(asked, later, hit.text)
        ]

    return _reorder(hits, newer_first(hits, identity=lambda hit: hit.id, replaced_by=find_replacing))


def _put_change_first(question: Question, hits: list[Hit]) -> list[Hit]:
    """The hits, with one of the best that tells of a change since the first was said before it."""
    if not asks_how_it_is(question.text):
        return hits
    return _reorder(hits, change_first(question.text, _date_hits(hits[:VALUE_HITS])))


def _date_hits(hits: Sequence[Hit]) -> list[DatedHit]:
    # Memories of one moment are told apart by their turns.
    return [DatedHit(hit.memory.statements, hit.occurred_at + timedelta(microseconds=hit.turn)) for hit in hits]


def _reorder(hits: list[Hit], order: Sequence[int]) -> list[Hit]:
    """The hits, the first of them in the given `order` of their places; each has the score of its new place."""
    if list(order) == list(range(len(order))):
        return hits
    moved = []
    for place, taken in enumerate(order):
        gain = hits[place].score - hits[taken].score
        moved.append(replace(_gain_score(hits[taken], gain) if gain else hits[taken], rank=place + 1))
    return moved + hits[len(order) :]


def _gain_score(hit: Hit, gain: float) -> Hit:
    gain += hit.candidate.parts["latest"].weighted if "latest" in hit.candidate.parts else 0.0
    return replace(hit, candidate=hit.candidate.with_part("latest", Contribution(gain, None, gain)))
