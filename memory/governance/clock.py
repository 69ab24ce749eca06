"""Decides whether the system clock can be trusted: a wrong one would make everything expire at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# Corrections by network time set clocks back by less.
BACKWARDS = timedelta(minutes=1)
FORWARDS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Clock:
    """Readings of the clock: `trusted_at` is the latest that was trusted, and `seen_at` the latest at all.

    `doubted_at` is the reading at which doubts began, None while the clock is trusted.
    """

    trusted_at: datetime | None = None
    doubted_at: datetime | None = None
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClockJudgement:
    """The clock after a reading; `problem` says why it isn't trusted, "" if it is."""

    clock: Clock
    problem: str = ""


def judge(clock: Clock, *, now: datetime) -> ClockJudgement:
    """Trust a reading if the clock advanced by at most `FORWARDS` since the last trusted one and didn't go back.

    A longer step means a wrong clock, or a server that was off. It is trusted once the clock has advanced steadily for
    `FORWARDS`, or has come back. A person may confirm it earlier (`Clock(trusted_at=now)`).
    """
    believed = ClockJudgement(Clock(trusted_at=now, seen_at=now))
    if clock.trusted_at is None:
        return believed
    if now < clock.trusted_at - BACKWARDS:
        problem = f"the clock went back from {clock.trusted_at:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC"
        return ClockJudgement(replace(clock, doubted_at=clock.doubted_at or now, seen_at=now), problem)
    if now <= clock.trusted_at + FORWARDS:
        return believed
    steady = clock.doubted_at is not None and clock.seen_at is not None and _steady(clock.seen_at, now)
    if steady and clock.doubted_at is not None and now - clock.doubted_at >= FORWARDS:
        return believed
    problem = f"the clock went on from {clock.trusted_at:%Y-%m-%d %H:%M} to {now:%Y-%m-%d %H:%M} UTC"
    return ClockJudgement(replace(clock, doubted_at=clock.doubted_at if steady else now, seen_at=now), problem)


def _steady(seen: datetime, now: datetime) -> bool:
    return -BACKWARDS <= now - seen <= FORWARDS
