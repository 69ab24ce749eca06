"""Says where a hit's score comes from, in numbers and in one sentence."""

from __future__ import annotations

from typing import Any

from memory.retrieval.pipeline import Hit

METHOD = "weighted_score_fusion"
_ARM_WORDS = {"dense": "by meaning", "lexical": "by its words"}


def explain(hit: Hit, weights: dict[str, float]) -> dict[str, Any]:
    """`{method, components}`: each arm's raw score, rank, weight and share. The shares sum to `components.final`."""
    arms = {
        arm: (
            {
                "raw": round(part.raw, 6),
                "rank": part.rank,
                "weight": round(weights[arm], 6),
                "weighted": part.weighted,
            }
            if (part := hit.candidate.parts.get(arm))
            else {"raw": None, "rank": None, "weight": round(weights[arm], 6), "weighted": 0.0}
        )
        for arm in weights
    }
    return {
        "method": METHOD,
        "components": {"id": str(hit.id), "rank": hit.rank, "final": hit.score, "arms": arms, "reason": reason(hit)},
    }


def reason(hit: Hit) -> str:
    """One sentence: which arms found the memory, and how high."""
    found = [f"{_ARM_WORDS[arm]} (place {part.rank})" for arm, part in hit.candidate.parts.items() if part.rank]
    return "Found " + " and ".join(found) + "."
