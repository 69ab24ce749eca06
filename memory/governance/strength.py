"""Defines the current strength of a memory, in Python and as one SQL expression: importance × half-life decay × use.

    strength = min(1, importance × 2^(−age / half-life) × use)
    use      = 1 + log2(1 + uses) / 5, at most 2

Age is counted in days from the latest of: written, last used, restored. Each use thus restarts the decay, as in
MemoryBank (Zhong et al. 2023, after Ebbinghaus 1885), and frequently used memories start higher. The time that a memory
is about (`occurred_at`) doesn't matter: a story of long ago is new if it was written today. A clock that is behind
gives age 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, log2

from memory.enums import MemoryKind
from memory.kinds import KIND_SQL

USE_GROWTH = 5.0
MOST_USE = 2.0
# Halvings after which nothing changes any more; PostgreSQL refuses to compute much smaller numbers.
MOST_HALVINGS = 900.0
LEAST_HALF_LIFE = 0.01

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength `value` and its factors; `half_life_days` 0 means that it doesn't decay."""

    value: float
    importance: float
    decay: float
    use: float
    age_days: float
    half_life_days: float


def strength(*, importance: float, half_life_days: float, uses: int, since: datetime, now: datetime) -> Strength:
    """Return the strength at `now` of a memory that was written, last used or restored at `since`."""
    age = max((now - since) / _DAY, 0.0)
    decay = 2.0 ** -min(age / _divisor(half_life_days), MOST_HALVINGS)
    use = min(1.0 + log2(1 + uses) / USE_GROWTH, MOST_USE)
    return Strength(min(1.0, importance * decay * use), importance, decay, use, age, half_life_days)


# Expressions for a memory `m` with its upkeep `u`, which may be missing, at %(now)s.
HALF_LIFE_SQL = (
    f"(CASE {KIND_SQL} "
    + " ".join(f"WHEN '{kind.value}' THEN %(half_life_{kind.value})s::float8" for kind in MemoryKind)
    + " END)"
)
SINCE_SQL = "greatest(m.created_at, u.last_used_at, u.restored_at)"
AGE_DAYS_SQL = f"greatest(0.0::float8, extract(epoch FROM %(now)s::timestamptz - {SINCE_SQL})::float8 / 86400)"
STRENGTH_SQL = f"""least(1.0::float8, m.importance
    * power(2.0::float8, -least({MOST_HALVINGS}::float8, {AGE_DAYS_SQL} / {HALF_LIFE_SQL}))
    * least(1 + ln(1.0::float8 + coalesce(u.uses, 0)) / ln(2.0::float8) / {USE_GROWTH}::float8, {MOST_USE}::float8))"""


def parameters(half_life_days: Mapping[MemoryKind, float], *, now: datetime) -> dict[str, object]:
    """Return the parameters of `STRENGTH_SQL`."""
    return {"now": now, **{f"half_life_{kind.value}": _divisor(days) for kind, days in half_life_days.items()}}


def _divisor(half_life_days: float) -> float:
    return max(half_life_days, LEAST_HALF_LIFE) if half_life_days else inf
