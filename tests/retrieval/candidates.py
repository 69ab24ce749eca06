"""Candidates for tests of the arithmetic: short turns of one session, a minute apart, two who take turns, and nothing
that speaks for any of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory.retrieval.signals import Candidates

SECONDS_BETWEEN = 60.0


def candidates(count: int, **given: Any) -> Candidates:
    """`count` candidates, turns 1, 2, … a minute apart; `given` arrays replace what the others have."""
    turns = np.arange(1, count + 1)
    usual: dict[str, Any] = {
        "cosine": np.zeros(count),
        "bm25": np.zeros(count),
        "mentions": np.zeros(count),
        "tokens": np.full(count, 10.0),
        "session": np.zeros(count, dtype=int),
        "turn": turns,
        "voice": turns % 2,
        "occurred": turns * SECONDS_BETWEEN,
        "importance": np.full(count, 0.5),
        **{name: np.zeros(count, dtype=bool) for name in ("by_agent", "spoken", "named", "asks", "in_span")},
    }
    return Candidates(**usual | {name: np.asarray(values) for name, values in given.items()})
