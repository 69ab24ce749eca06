"""Scores a ranking against known evidence, with figures from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

RECALL_AT = (1, 5, 10, 20)
# Figures in display order.
NAMES = (*(f"R@{k}" for k in RECALL_AT), "all@10", "Hit@10", "MRR", "nDCG@10")


def score(ranked: Sequence[str], grades: Mapping[str, float]) -> dict[str, float]:
    """Return every figure of NAMES for one question.

    `ranked` are the returned ids, best first and without repeats; `grades` has the judged ids, of which those above 0
    are the evidence. Raise ValueError if there is none.

    R@k: share of the evidence among the first k. all@10: 1 if all of it is among the first ten. Hit@10: 1 if any is.
    MRR: 1 / place of the first (0 if none was returned). nDCG@10: Järvelin & Kekäläinen 2002 with the grade as gain and
    log2(place + 1) as discount.
    """
    evidence = {identity for identity, grade in grades.items() if grade > 0}
    if not evidence:
        raise ValueError("a question without evidence cannot be scored")
    places = [place for place, identity in enumerate(ranked, start=1) if identity in evidence]
    figures = {f"R@{k}": sum(place <= k for place in places) / len(evidence) for k in RECALL_AT}
    figures["all@10"] = float(figures["R@10"] == 1)
    figures["Hit@10"] = float(figures["R@10"] > 0)
    figures["MRR"] = 1 / places[0] if places else 0.0
    figures["nDCG@10"] = _discount_gains([grades.get(identity, 0) for identity in ranked[:10]]) / _discount_gains(
        sorted(grades.values(), reverse=True)[:10]
    )
    return {name: round(figures[name], 6) for name in NAMES}


def mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every figure over questions."""
    return {name: round(float(np.mean([one[name] for one in scores])), 6) for name in NAMES}


def by_type(scores: Sequence[tuple[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the number of `questions` and the mean figures for each type, given with each question's figures."""
    kinds: dict[str, list[Mapping[str, float]]] = {}
    for kind, figures in scores:
        kinds.setdefault(kind, []).append(figures)
    return {kind: {"questions": len(kinds[kind]), **mean(kinds[kind])} for kind in sorted(kinds)}


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return `p50` and `p95`."""
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return {"p50": round(float(p50), 3), "p95": round(float(p95), 3)}


def _discount_gains(gains: Sequence[float]) -> float:
    return sum(max(gain, 0) / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
