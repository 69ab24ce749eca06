"""Makes candidates for tests of the arithmetic.

They are short turns of one session, a minute apart, of two alternating speakers, and no signal favours any of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memory.retrieval.signals import TURNS_AROUND, Candidates

SECONDS_BETWEEN = 60.0


def candidates(count: int, **given: Any) -> Candidates:
    """Makes `count` candidates a minute apart, with all pairs of neighbours; arrays in `given` replace the defaults."""
    turns = np.arange(1, count + 1)
    usual: dict[str, Any] = {
        "cosine": np.zeros(count),
        "bm25": np.zeros(count),
        "mentions": np.zeros(count),
        "preference": np.zeros(count),
        "tokens": np.full(count, 10.0),
        "session": np.zeros(count, dtype=int),
        "voice": turns % 2,
        "occurred": turns * SECONDS_BETWEEN,
        "importance": np.full(count, 0.5),
        **{name: np.zeros(count, dtype=bool) for name in ("by_agent", "spoken", "named", "asks", "in_span")},
    }
    given = {name: np.asarray(values) for name, values in given.items()}
    sessions = given.get("session", usual["session"])
    usual["pairs"] = np.array(
        [
            (one, other, other - one)
            for one in range(count)
            for other in range(max(0, one - TURNS_AROUND), min(count, one + TURNS_AROUND + 1))
            if one != other and sessions[one] == sessions[other]
        ],
        dtype=int,
    ).reshape(-1, 3)
    return Candidates(**usual | given)
