"""Whether the clock may be believed by work that acts on age: a wrong one would let everything expire at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# Clocks that are set right by network time go back by less.
BACKWARDS = timedelta(minutes=1)
FORWARDS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Clock:
    """What the clock has shown: `trusted_at` the latest time believed, `seen_at` the latest shown at all.

    `doubted_at`: the time that it showed when it was first doubted; None while it is believed.
    """

    trusted_at: datetime | None = None
    doubted_at: datetime | None = None
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClockJudgement:
    """The clock after a look at it; `problem` says why it is not believed and is empty when it is."""

    clock: Clock
    problem: str = ""


def judge(clock: Clock, *, now: datetime) -> ClockJudgement:
    """Believes a clock that went on by at most FORWARDS since it was last believed, and not backwards.

    A longer step may be a wrong clock or a server that was off: it is believed when the clock has then gone on steadily
    for FORWARDS, or when it comes back. A person may say sooner that it is right (`Clock(trusted_at=now)`).
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
