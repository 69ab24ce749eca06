"""The clocks that the sweep trusts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.governance.clock import Clock, judge

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def run(*moments: datetime) -> list[bool]:
    """Return for each of the moments, in order, whether the clock is trusted."""
    clock = Clock()
    believed = []
    for moment in moments:
        judged = judge(clock, now=moment)
        clock = judged.clock
        believed.append(not judged.problem)
    return believed


def test_the_first_look_and_steady_steps_are_believed():
    assert run(NOON, NOON + HOUR, NOON + HOUR, NOON + HOUR + DAY) == [True] * 4


def test_a_correction_of_seconds_is_no_step_back():
    assert run(NOON, NOON - timedelta(seconds=30)) == [True, True]


def test_a_clock_that_went_back_is_not_believed_until_it_has_caught_up():
    assert run(NOON, NOON - HOUR, NOON - HOUR / 2, NOON + HOUR) == [True, False, False, True]
    assert "went back from 2026-05-08 12:00 to 2026-05-08 11:00" in judge(Clock(NOON), now=NOON - HOUR).problem


def test_a_jump_of_years_that_is_set_right_again_leaves_nothing_behind():
    assert run(NOON, NOON + 900 * DAY, NOON + 900 * DAY + HOUR, NOON + HOUR) == [True, False, False, True]


def test_after_a_weekend_the_clock_is_believed_when_it_has_gone_on_for_a_day():
    monday = NOON + 3 * DAY
    hours = [monday + number * HOUR for number in range(26)]

    assert run(NOON, *hours) == [True, *[False] * 24, True, True]


def test_a_clock_that_jumps_again_is_doubted_anew():
    assert run(NOON, NOON + 3 * DAY, NOON + 6 * DAY, NOON + 6.5 * DAY, NOON + 6.9 * DAY) == [True, *[False] * 4]


def test_what_a_person_says_is_believed():
    doubted = judge(Clock(NOON), now=NOON + 3 * DAY).clock

    assert doubted.doubted_at == NOON + 3 * DAY
    assert not judge(Clock(trusted_at=NOON + 3 * DAY), now=NOON + 3 * DAY).problem
