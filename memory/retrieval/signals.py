"""Computes signals, which speak for or against candidates, from plain arrays: one number for each candidate.

The signals stay separate, so that an explanation can name the signals that moved a hit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A memory of k passages has k chances to resemble the question by accident, and the expected best of k grows with log
# k. These factors of log k are subtracted from the cosine, and from the share of the best BM25 score.
LENGTH_COSINE = 0.06
LENGTH_LEXICAL = 0.12
PASSAGE_TOKENS = 75.0
# If the best cosine is below this, nothing was recognised, and cosines are not stretched to 1.
LEAST_COSINE = 0.2
# Prominence cannot be measured with fewer than TENTH candidates; then the usual value is assumed.
TENTH = 10
USUAL_GAP = 0.25
# A neighbour lends the part of its score above this value, and nothing across a pause of more than an hour.
LENDING_FLOOR = 0.4
PAUSE_SECONDS = 3600.0
# Turns lend and borrow in full up to TURN_TOKENS; longer ones do less, because their own text has enough context.
TURN_TOKENS = 40.0
TURN_TOKENS_FADE = 100.0
SESSION_BEST = 3
# Turns up to TURNS_AROUND away lend; those more than one turn away lend only this share.
TURNS_AROUND = 2
FURTHER = 0.7
# A session counts fully as a conversation if all but the most frequent speaker have this share of the turns.
OTHERS_SHARE = 0.25


@dataclass(slots=True)
class Candidates:
    """Holds arrays of equal length, with one element for each candidate, and pairs of neighbours.

    - `cosine`: similarity of the nearest passage (−1..1)
    - `bm25`: BM25 score (≥ 0)
    - `mentions`: weight of the entities that the question names (0..1)
    - `preference`: how well it states the asker's preferences for the request (0..1)
    - `tokens`: length of the text
    - `session`: a number for each session; `voice`: a number for each pair of role and speaker
    - `occurred`: seconds since the epoch
    - `importance`: 0..1
    - booleans: `by_agent` (its role), `spoken` (has a speaker), `named` (the question names its speaker), `asks` (ends
      with a question mark), `in_span` (happened in a time that the question names)
    - `pairs`: integers [pairs, 3] for neighbours in a session, in order of occurrence: a candidate, another one up to
      TURNS_AROUND turns away, and by how many turns the other is later (negative: earlier)
    """

    cosine: np.ndarray
    bm25: np.ndarray
    mentions: np.ndarray
    preference: np.ndarray
    tokens: np.ndarray
    session: np.ndarray
    voice: np.ndarray
    occurred: np.ndarray
    importance: np.ndarray
    by_agent: np.ndarray
    spoken: np.ndarray
    named: np.ndarray
    asks: np.ndarray
    in_span: np.ndarray
    pairs: np.ndarray

    def __len__(self) -> int:
        return len(self.cosine)


def by_meaning(candidates: Candidates) -> np.ndarray:
    """Returns the cosine, corrected for the length of the memory, relative to the best: 0 (unrelated) to 1."""
    return _over_best(candidates.cosine - LENGTH_COSINE * _log_passages(candidates), at_least=LEAST_COSINE)


def by_words(candidates: Candidates) -> np.ndarray:
    """Returns the BM25 score, relative to the best and corrected for the length of the memory: 0 to 1."""
    best = candidates.bm25.max(initial=0.0)
    if best <= 0:
        return np.zeros(len(candidates))
    share = candidates.bm25 / best
    return _over_best(np.where(share > 0, share - LENGTH_LEXICAL * _log_passages(candidates), 0.0))


def prominence(scores: np.ndarray) -> float:
    """Returns how far the best score exceeds the tenth: 0 (equal) to 1."""
    if len(scores) < TENTH:
        return USUAL_GAP
    ordered = np.sort(scores)[::-1]
    return float(ordered[0] - ordered[TENTH - 1])


def conversation(candidates: Candidates) -> np.ndarray:
    """Returns how far each candidate's session is a conversation: 0 (one speaker only) to 1.

    It is 1 if others than the most frequent speaker have OTHERS_SHARE of the session's candidates. Turns of a
    conversation refer to what was said before them, but consecutive notes of one person are independent.
    """
    sessions, voices = candidates.session.max(initial=-1) + 1, candidates.voice.max(initial=-1) + 1
    places = candidates.session * voices + candidates.voice
    turns = np.bincount(places, minlength=sessions * voices).reshape(sessions, voices)
    others = 1 - turns.max(axis=1, initial=0) / np.maximum(turns.sum(axis=1), 1)
    return np.asarray(np.minimum(others / OTHERS_SHARE, 1.0)[candidates.session])


def talk(candidates: Candidates) -> float:
    """Returns how far all candidates together are a conversation, in the same measure as `conversation`."""
    turns = np.bincount(candidates.voice)
    others = turns.sum() - turns.max(initial=0)
    return float(min(others / max(turns.sum(), 1) / OTHERS_SHARE, 1.0))


def neighbours(candidates: Candidates, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns what turns nearby lend to each candidate of their scores `found` (0..1), which all retrievers gave them.

    The first array has what up to TURNS_AROUND turns before and after lend, because a short turn means little without
    them; the second has what the turn before lends if it is a question, which the candidate may answer.
    """
    lent = np.maximum(found - LENDING_FLOOR, 0.0) / (1 - LENDING_FLOOR)
    turnlike = np.exp(-np.maximum(candidates.tokens - TURN_TOKENS, 0.0) / TURN_TOKENS_FADE)
    lent *= turnlike
    givers, takers, distances = candidates.pairs.T
    near = np.abs(candidates.occurred[givers] - candidates.occurred[takers]) <= PAUSE_SECONDS
    givers, takers, distances = givers[near], takers[near], distances[near]
    around = np.zeros(len(candidates))
    np.add.at(around, takers, lent[givers] * np.where(np.abs(distances) == 1, 1.0, FURTHER))
    answered = np.zeros(len(candidates))
    asking = (distances == 1) & candidates.asks[givers]
    np.add.at(answered, takers[asking], lent[givers[asking]])
    spoken_with = conversation(candidates)
    return around * turnlike * spoken_with, answered * spoken_with


def session(candidates: Candidates, found: np.ndarray) -> np.ndarray:
    """Returns the mean of the SESSION_BEST best scores of each candidate's session, less that of the worst session."""
    numbers = candidates.session
    order = np.lexsort((-found, numbers))
    first = np.searchsorted(numbers[order], numbers[order])
    best = order[np.arange(len(order)) - first < SESSION_BEST]
    totals = np.bincount(numbers[best], weights=found[best])
    means = totals[numbers] / SESSION_BEST
    return np.asarray(means - means.min(initial=np.inf))


def recency(candidates: Candidates) -> np.ndarray:
    """Returns the rank by time: 1 for the newest candidate, 0 for the oldest; simultaneous ones are equal."""
    moments, places = np.unique(candidates.occurred, return_inverse=True)
    return places / max(len(moments) - 1, 1)


def _log_passages(candidates: Candidates) -> np.ndarray:
    return np.log(np.maximum(candidates.tokens / PASSAGE_TOKENS, 1.0))


def _over_best(scores: np.ndarray, *, at_least: float = 0.0) -> np.ndarray:
    best = scores.max(initial=at_least)
    return np.maximum(scores, 0.0) / best if best > 0 else np.zeros(len(scores))
