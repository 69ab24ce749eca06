"""Budgets for models: limits per day or month, when each period starts, and which limits a call would exceed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

from memory.enums import BudgetPeriod

Unit = Literal["usd", "tokens"]


@dataclass(frozen=True, slots=True)
class Amount:
    """US dollars, as far as prices are known, and tokens of all kinds together."""

    usd: Decimal = Decimal(0)
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def of(self, unit: Unit) -> Decimal:
        return self.usd if unit == "usd" else Decimal(self.tokens)


@dataclass(frozen=True, slots=True)
class Limit:
    """A maximum of one unit. A soft limit only warns."""

    unit: Unit
    most: Decimal
    hard: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a period; 0 means no limit. A soft limit warns, a hard one refuses."""

    period: BudgetPeriod = BudgetPeriod.MONTH
    soft_usd: Decimal = Decimal(0)
    hard_usd: Decimal = Decimal(0)
    soft_tokens: int = 0
    hard_tokens: int = 0

    def limits(self) -> Iterator[Limit]:
        """Yield the limits that are set, hard ones first."""
        for limit in (
            Limit("usd", self.hard_usd, True),
            Limit("tokens", Decimal(self.hard_tokens), True),
            Limit("usd", self.soft_usd, False),
            Limit("tokens", Decimal(self.soft_tokens), False),
        ):
            if limit.most:
                yield limit

    def __bool__(self) -> bool:
        return any(self.limits())

    def begins(self, now: datetime) -> datetime:
        """Return the midnight (UTC) at which the current period started."""
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return today if self.period == BudgetPeriod.DAY else today.replace(day=1)

    def resets(self, now: datetime) -> datetime:
        """Return the midnight (UTC) at which the next period starts."""
        if self.period == BudgetPeriod.DAY:
            return self.begins(now) + timedelta(days=1)
        return (self.begins(now) + timedelta(days=31)).replace(day=1)

    def problems(self) -> dict[str, str]:
        """Return the soft limits that never warn because they are above the hard ones, by name."""
        return {
            f"soft_{unit}": f"is above hard_{unit}, so it never warns: lower it."
            for unit, soft, hard in (
                ("usd", self.soft_usd, self.hard_usd),
                ("tokens", self.soft_tokens, self.hard_tokens),
            )
            if hard and soft > hard
        }


def refusing(budget: Budget, *, used: Amount, asked: Amount) -> Limit | None:
    """Return the hard limit that the call would exceed if it used all that it asks for, or None."""
    total = used + asked
    return next((limit for limit in budget.limits() if limit.hard and total.of(limit.unit) > limit.most), None)


def list_reached(budget: Budget, *, used: Amount, asked: Amount) -> list[Limit]:
    """Return the soft limits that the call reaches."""
    total = used + asked
    return [limit for limit in budget.limits() if not limit.hard and total.of(limit.unit) >= limit.most]
