"""Explains the score of a hit, in numbers and in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.enums import ARMS
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import Dropped

METHOD = "weighted_score_fusion"
_ARM_WORDS = {"dense": "by meaning", "lexical": "by its words"}
_NONE = Contribution(0.0, None, 0.0)
# The sentence names parts that gave at least this share of the score.
_LEAST_SHARE = 0.05
_SIGNAL_WORDS = {
    "neighbours": "the turns around it match too",
    "answer": "the turn before asks what it may answer",
    "session": "its conversation matches",
    "people": "the question names its speaker",
    "entities": "it mentions what the question names",
    "preference": "it says what is liked or avoided of what is asked for",
    "role": "it is said by the side that the question is about",
    "dated": "it says when",
    "time": "it happened in the time that the question names",
    "recency": "it is recent",
    "importance": "it is important",
    "rerank": "the reranker prefers it",
}
# The sentence names at most this many signals, the largest first.
_MOST_NAMED = 3


def explain(hit: Hit, weights: Mapping[str, float], *, considered: int) -> dict[str, Any]:
    """Returns the explanation of a hit: id, rank, score, relevance, parts, restatements, and the reason in a sentence.

    `arms` has each retriever with its raw score, rank, weight and share; `signals` has each signal that contributes.
    Their shares sum to `final`. `considered`: the number of candidates that were ranked.
    """
    return {
        "id": hit.id_text,
        "rank": hit.rank,
        "final": hit.score,
        "relevance": round(hit.relevance, 4),
        "method": METHOD,
        **parts(hit.candidate, weights),
        "restated_by": [str(other) for other in hit.restated_by],
        "reason": reason(hit, considered=considered),
    }


def debug_entry(explanation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an entry of a query's `rerank_debug`; its `components`, one a retriever or signal, sum to `final`."""
    shares = {name: part["weighted"] for name, part in explanation["arms"].items()}
    shares |= {name: part["weighted"] for name, part in explanation["signals"].items()}
    return {"method": explanation["method"], "components": shares, "explanation": explanation}


def explain_dropped(dropped: Dropped, weights: Mapping[str, float]) -> dict[str, Any]:
    """Explains why a candidate was rejected, with its place among the candidates, score and parts.

    `needed` is the score of the last hit; `other` is as in `Dropped`.
    """
    candidate = dropped.candidate
    return {
        "id": candidate.id,
        "rank": dropped.rank,
        "final": candidate.score,
        **parts(candidate, weights),
        "verdict": dropped.verdict.value,
        "needed": dropped.needed,
        "other": str(dropped.other) if dropped.other else None,
        "reason": dropped.reason,
    }


def differences(above: Candidate, below: Candidate) -> dict[str, float]:
    """Returns by part how far `above` exceeds `below`, largest first; the sum is the difference of the scores."""
    names = dict.fromkeys((*above.parts, *below.parts))
    found = {name: above.parts.get(name, _NONE).weighted - below.parts.get(name, _NONE).weighted for name in names}
    return {name: found[name] for name in sorted(found, key=found.__getitem__, reverse=True) if found[name]}


def parts(candidate: Candidate, weights: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Returns `{arms, signals}`: by name `raw`, `rank` (arms only), `weight` and `weighted`."""
    arms = {}
    for arm in ARMS:
        raw, rank, weighted = candidate.parts.get(arm, _NONE)
        weight = round(weights.get(arm, 0.0), 6)
        arms[arm] = {"raw": round(raw, 6), "rank": rank, "weight": weight, "weighted": weighted}
    signals = {}
    for name, (raw, _, weighted) in candidate.parts.items():
        if name not in ARMS:
            own = weights.get(name, SIGNALS.get(name))
            signals[name] = {
                "raw": round(raw, 6), "weight": None if own is None else round(own, 6), "weighted": weighted
            }  # fmt: skip
    return {"arms": arms, "signals": signals}


def reason(hit: Hit, *, considered: int) -> str:
    """Returns a sentence that names the retrievers that found the memory, with its rank, and the signals that helped.

    It leaves out parts that gave less than a twentieth of the score.
    """
    least = _LEAST_SHARE * hit.score
    found, helped = [], []
    for name, (_, rank, weighted) in hit.candidate.parts.items():
        if weighted > 0 and weighted >= least:
            if name in _SIGNAL_WORDS:
                helped.append((-weighted, name))
            elif rank and name in _ARM_WORDS:
                found.append(f"{_ARM_WORDS[name]} ({ordinal(rank)} of {considered})")
    helped.sort()
    otherwise = "next to memories that match" if hit.replaces is None else "by the memory that it replaces"
    sentence = f"Found {' and '.join(found) or otherwise}"
    if helped:
        sentence += "; " + ", ".join(_SIGNAL_WORDS[name] for _, name in helped[:_MOST_NAMED])
    if hit.replaces is not None:
        sentence += f"; it stands in the place of {hit.replaces}, which says what held before"
    if hit.restated_by:
        sentence += f"; said again by {len(hit.restated_by)} more"
    return sentence + "."


def ordinal(number: int) -> str:
    """Returns the ordinal: 1st, 2nd, 3rd, 4th, … 11th, … 21st."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
