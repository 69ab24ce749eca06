"""Finds the candidates of a question in the columns: the same memories with the same values as the SQL retrievers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from memory.retrieval import entity_matches
from memory.retrieval.arms import WordHits
from memory.retrieval.candidate_features import DENSE_POOL, LEXICAL_POOL, STRONG, TIME_POOL, CandidateFeatures, Found
from memory.retrieval.columns.columns import Columns, TermStatistics
from memory.retrieval.question import Question
from memory.retrieval.signals import TURNS_AROUND, Candidates


def find(
    columns: Columns,
    statistics: TermStatistics,
    question: Question,
    *,
    taking_part: Collection[str],
    pool: int,
    preferences: Mapping[str, float],
) -> Found:
    """Finds the candidates of a question without a predicate.

    `pool`: the least number of memories from each retriever. `preferences`: how well the preferences to be shown fit
    the request, by memory id.
    """
    question = question.naming(columns.speakers_named(question.name_keys))
    size = len(columns)
    ranks: dict[str, dict[str, int]] = {}
    bm25, cosine, mentions = np.zeros(size), np.zeros(size), np.zeros(size)
    by_words = WordHits([], 0.0, {})
    found = np.zeros(0, np.int64)
    if "lexical" in taking_part and question.terms:
        rows, scores, by_words = columns.by_words(
            question.terms, statistics, limit=max(LEXICAL_POOL, pool), preferences=question.searches_preferences
        )
        bm25[rows] = scores
        ranks["lexical"] = _ranks(columns, rows)
        found = rows
    worded = found
    if "entities" in taking_part:
        matches = columns.names.match(question.name_keys, columns.alive)
        for row, worth in entity_matches.weigh(matches).items():
            mentions[row] = worth
        found = np.concatenate([found, np.flatnonzero(mentions)])
    near = np.zeros(0, np.int64)
    # This waits for the question's vector, if it is still being computed.
    measured = columns.cosines(question.vector)
    searched = np.ones(size, bool) if question.searches_preferences else ~columns.is_preference
    if "dense" in taking_part:
        near = columns.nearest(measured, limit=max(DENSE_POOL, pool), among=searched)
        ranks["dense"] = _ranks(columns, near)
    told = columns.rows_of(preferences)
    found = np.concatenate([found, told])
    in_span = _in_span(columns.occurred, question)
    if "time" in taking_part and question.spans:
        near = np.concatenate([near, columns.nearest(measured, limit=TIME_POOL, among=in_span & searched)])
    cosine[near] = measured[near]
    found = np.concatenate([found, near])
    pairs = np.zeros((0, 3), np.int64)
    if "neighbours" in taking_part:
        likely = _distinct(np.concatenate([near, worded]), size)
        pairs = columns.around(_strongest(question, likely, cosine, bm25), turns=TURNS_AROUND)
        found = np.concatenate([found, pairs[:, 1]])
    rows = _distinct(found, size)
    rows = rows[columns.alive[rows]]
    if not question.searches_preferences:
        rows = rows[~columns.is_preference[rows]]
    if question.holding_at is not None:
        rows = rows[columns.valid_to[rows] > question.holding_at.timestamp()]
    rows = columns.in_order_of_ids(rows)
    # Every candidate gets its cosine, whichever retriever found it.
    found_here = _Measured(
        measured[rows],
        bm25[rows],
        mentions[rows],
        _values_of(columns, rows, preferences),
        in_span[rows],
        _renumber_pairs(pairs, rows, size),
    )
    candidates = _candidates(columns, question, rows, found_here)
    return Found(question, CandidateFeatures([columns.ids[row] for row in rows.tolist()], candidates), by_words, ranks)


def _distinct(rows: np.ndarray, size: int) -> np.ndarray:
    """Returns each of `rows` once, in ascending order; there are `size` rows in all."""
    is_among = np.zeros(size, bool)
    is_among[rows] = True
    return np.flatnonzero(is_among)


def _ranks(columns: Columns, rows: np.ndarray) -> dict[str, int]:
    return {columns.ids[row]: rank for rank, row in enumerate(rows.tolist(), start=1)}


def _values_of(columns: Columns, rows: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
    """Looks up the value of each row by its id, 0 if there is none; most questions have no values at all."""
    if not values:
        return np.zeros(len(rows))
    return np.array([values.get(columns.ids[row], 0.0) for row in rows.tolist()], dtype=float)


def _in_span(occurred: np.ndarray, question: Question) -> np.ndarray:
    inside = np.zeros(len(occurred), dtype=bool)
    for span in question.spans:
        inside |= (occurred >= span.start.timestamp()) & (occurred < span.end.timestamp())
    return inside


def _strongest(question: Question, rows: np.ndarray, cosine: np.ndarray, bm25: np.ndarray) -> np.ndarray:
    """Returns the STRONG best rows by a first estimate of their score, which is that of the SQL statement."""
    if not len(rows):
        return rows
    best_cosine, best_bm25 = cosine[rows].max(), bm25[rows].max()
    guess = np.zeros(len(rows))
    if best_cosine > 0:
        guess += question.familiarity / 2 / best_cosine * cosine[rows]
    if best_bm25 > 0:
        guess += (1 - question.familiarity / 2) / best_bm25 * bm25[rows]
    if len(rows) <= STRONG:
        return rows
    best: np.ndarray = rows[np.argsort(-guess.astype(np.float32), kind="stable")[:STRONG]]
    return best


class _Measured(NamedTuple):
    """Holds the measured values of each candidate, as in `Candidates`."""

    cosine: np.ndarray
    bm25: np.ndarray
    mentions: np.ndarray
    preference: np.ndarray
    in_span: np.ndarray
    pairs: np.ndarray


def _candidates(columns: Columns, question: Question, rows: np.ndarray, measured: _Measured) -> Candidates:
    speakers, agents = columns.speaker[rows], columns.by_agent[rows]
    names, keys = columns.speakers, columns.speaker_keys
    present = _distinct(speakers, len(names)).tolist()
    is_spoken, is_named = np.zeros((2, len(names)), bool)
    is_spoken[[number for number in present if names[number]]] = True
    is_named[[number for number in present if keys[number] in question.named]] = True
    return Candidates(
        cosine=measured.cosine,
        bm25=measured.bm25,
        mentions=measured.mentions,
        preference=measured.preference,
        tokens=columns.tokens[rows].astype(float),
        session=_renumber(columns.session[rows]),
        voice=_renumber(speakers.astype(np.int64) * 2 + agents),
        occurred=columns.occurred[rows],
        importance=columns.importance[rows],
        by_agent=agents,
        spoken=is_spoken[speakers],
        named=is_named[speakers],
        asks=columns.asks[rows],
        in_span=measured.in_span,
        pairs=measured.pairs,
    )


def _renumber_pairs(pairs: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Renumbers `pairs` by their places among `rows` (of `size` in all), and drops pairs with other rows."""
    places = np.full(size, -1, np.int64)
    places[rows] = np.arange(len(rows))
    renumbered = np.column_stack([places[pairs[:, 0]], places[pairs[:, 1]], pairs[:, 2]])
    among: np.ndarray = renumbered[(renumbered[:, :2] >= 0).all(axis=1)]
    return among


def _renumber(values: np.ndarray) -> np.ndarray:
    """Renumbers the values from 0 on, without gaps."""
    return np.unique(values, return_inverse=True)[1].astype(int)
