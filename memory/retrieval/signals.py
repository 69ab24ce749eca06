"""What speaks for a candidate and what against it: each signal is one number a candidate, computed from plain arrays.

The signals are kept apart, so that a hit can say which of them brought it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A memory that is cut into k passages has k chances to resemble the question by accident: the expected best of k grows
# with log k. So much of it is taken back, in cosine and in shares of the best BM25 score.
LENGTH_COSINE = 0.06
LENGTH_LEXICAL = 0.12
PASSAGE_TOKENS = 75.0
# A best cosine below this has recognised nothing: it is not stretched to 1.
LEAST_COSINE = 0.2
# Of fewer than TENTH candidates none can be said to stand out; then this much is taken, which is usual.
TENTH = 10
USUAL_GAP = 0.25
# A neighbour lends of its score what exceeds this; it lends nothing across a pause of more than an hour.
LENDING_FLOOR = 0.4
PAUSE_SECONDS = 3600.0
# Turns lend and borrow in full up to this length; then their own text is context enough.
TURN_TOKENS = 40.0
TURN_TOKENS_FADE = 100.0
SESSION_BEST = 3
# Turns this far away still lend, the further one less.
TURNS_AROUND = 2
FURTHER = 0.7
# A session in which others than the one who speaks most have this share of the turns is a conversation in full.
OTHERS_SHARE = 0.25


@dataclass(slots=True)
class Candidates:
    """Arrays of one length, one place a candidate.

    `cosine`: similarity of the nearest passage (−1..1); `bm25`: ≥ 0; `mentions`: how much it says of the entities that
    the question names, 0..1; `preference`: how much it says of the asker's taste in what is asked for, 0..1;
    `tokens`: length of the text;
    `session`: a number for each session; `voice`: a number for each who speaks (role and speaker);
    `occurred`: seconds since the epoch; booleans:
    `by_agent` (role), `spoken` (has a speaker), `named` (its speaker is named in the question), `asks` (ends with a
    question mark), `in_span` (happened in a time that the question names);
    `importance`: 0..1.

    `pairs`: integers [pairs, 3], of neighbours in a session, in the order in which things happened: a candidate, one
    that stands up to TURNS_AROUND turns from it, and by how many turns that is later (below 0: earlier).
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
    """Cosine less what its length gives a memory by chance, over the best: 0 (no relation) to 1."""
    return _over_best(candidates.cosine - LENGTH_COSINE * _log_passages(candidates), at_least=LEAST_COSINE)


def by_words(candidates: Candidates) -> np.ndarray:
    """BM25 over the best, less what its length gives a memory by chance: 0 to 1."""
    best = candidates.bm25.max(initial=0.0)
    if best <= 0:
        return np.zeros(len(candidates))
    share = candidates.bm25 / best
    return _over_best(np.where(share > 0, share - LENGTH_LEXICAL * _log_passages(candidates), 0.0))


def prominence(scores: np.ndarray) -> float:
    """0 (the tenth is as good as the first) to 1: how far the best of `scores` stand out."""
    if len(scores) < TENTH:
        return USUAL_GAP
    ordered = np.sort(scores)[::-1]
    return float(ordered[0] - ordered[TENTH - 1])


def conversation(candidates: Candidates) -> np.ndarray:
    """How far the candidate's session is a conversation: 0 (one speaks alone) to 1 (others have OTHERS_SHARE).

    Turns of a conversation are about what was said before them. Notes that one person leaves one after the other are
    not: what stands beside a note says nothing of it.
    """
    sessions, voices = candidates.session.max(initial=-1) + 1, candidates.voice.max(initial=-1) + 1
    places = candidates.session * voices + candidates.voice
    turns = np.bincount(places, minlength=sessions * voices).reshape(sessions, voices)
    others = 1 - turns.max(axis=1, initial=0) / np.maximum(turns.sum(axis=1), 1)
    return np.asarray(np.minimum(others / OTHERS_SHARE, 1.0)[candidates.session])


def talk(candidates: Candidates) -> float:
    """How far the candidates are of conversations: 0 (one speaks alone) to 1 (others have OTHERS_SHARE of them)."""
    turns = np.bincount(candidates.voice)
    others = turns.sum() - turns.max(initial=0)
    return float(min(others / max(turns.sum(), 1) / OTHERS_SHARE, 1.0))


def neighbours(candidates: Candidates, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the turns of a conversation around lend, of the arms' joint scores `found` (0..1).

    Two arrays: what up to TURNS_AROUND turns before and after lend, and what the turn before lends if it is a question,
    which this one may answer. A short turn means little without the turns around it.
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
    """The mean of the three best joint scores of the candidate's session, over that of the worst session: 0 to 1."""
    numbers = candidates.session
    order = np.lexsort((-found, numbers))
    first = np.searchsorted(numbers[order], numbers[order])
    best = order[np.arange(len(order)) - first < SESSION_BEST]
    totals = np.bincount(numbers[best], weights=found[best])
    means = totals[numbers] / SESSION_BEST
    return np.asarray(means - means.min(initial=np.inf))


def recency(candidates: Candidates) -> np.ndarray:
    """Place by time: 1 for the newest candidate, 0 for the oldest; alike for those of one moment."""
    moments, places = np.unique(candidates.occurred, return_inverse=True)
    return places / max(len(moments) - 1, 1)


def _log_passages(candidates: Candidates) -> np.ndarray:
    return np.log(np.maximum(candidates.tokens / PASSAGE_TOKENS, 1.0))


def _over_best(scores: np.ndarray, *, at_least: float = 0.0) -> np.ndarray:
    best = scores.max(initial=at_least)
    return np.maximum(scores, 0.0) / best if best > 0 else np.zeros(len(scores))
