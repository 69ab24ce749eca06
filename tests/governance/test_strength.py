"""Strength: the definitions in Python and in SQL agree."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memory.enums import MemoryKind
from memory.governance.strength import SINCE_SQL, STRENGTH_SQL, parameters, strength
from memory.kinds import KIND_SQL, kind_of

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
HALF_LIVES = {
    MemoryKind.SAID: 180.0,
    MemoryKind.ANSWERED: 0.1,
    MemoryKind.EPISODE: 30.0,
    MemoryKind.DOCUMENT: 0.0,
    MemoryKind.FACT: 90.0,
    MemoryKind.PREFERENCE: 730.0,
}


def of(**changes):
    values = {"importance": 0.5, "half_life_days": 100.0, "uses": 0, "since": NOW - timedelta(days=100), "now": NOW}
    return strength(**{**values, **changes})


def test_a_half_life_halves_it():
    assert of().value == 0.25
    assert of(since=NOW).value == 0.5
    assert of(since=NOW - timedelta(days=200)).value == 0.125


def test_the_parts_multiply_to_the_value():
    found = of(uses=3)

    assert found.importance * found.decay * found.use == found.value
    assert (found.age_days, found.half_life_days) == (100, 100)


def test_use_helps_up_to_double():
    assert of(uses=1).use == 1.2
    assert of(uses=10**9).use == 2
    assert of(importance=0.9, uses=10**9, since=NOW).value == 1


def test_a_half_life_of_0_never_decays():
    assert of(half_life_days=0, since=NOW - timedelta(days=36_500)).value == 0.5


def test_a_clock_that_is_behind_takes_nothing_away():
    assert of(since=NOW + timedelta(days=400)).value == 0.5


def test_great_age_is_no_error():
    assert 0 < of(half_life_days=1e-300, since=NOW - timedelta(days=700_000)).value < 1e-200


def test_python_and_postgres_agree_on_random_rows(db):
    chance = random.Random(7)
    rows = []
    for _ in range(2_000):
        moments = [NOW - timedelta(days=chance.choice([chance.uniform(-5, 900), chance.uniform(0, 200_000)]))]
        moments += [moments[0] + timedelta(days=chance.uniform(0, 300)) if chance.random() < 0.5 else None] * 2
        rows.append(
            (
                chance.choice([0.0, 1.0, 0.4, chance.random()]),
                chance.choice(["user", "agent", "system", "tool"]),
                chance.choice([-3, 1, 50]),
                chance.choice(["s1", "document:0192"]),
                *moments,
                chance.choice([None, 0, 1, 7, 2**31 - 1]),
                chance.random() < 0.2,
            )
        )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT {STRENGTH_SQL}, {KIND_SQL}, {SINCE_SQL}
            FROM unnest(%(i)s::float8[], %(r)s::text[], %(t)s::int[], %(n)s::text[], %(c)s::timestamptz[],
                        %(p)s::bool[])
                 WITH ORDINALITY AS m (importance, role, turn, session, created_at, is_preference, number)
            JOIN unnest(%(l)s::timestamptz[], %(s)s::timestamptz[], %(u)s::int[])
                 WITH ORDINALITY AS u (last_used_at, restored_at, uses, number) USING (number)
            ORDER BY number
            """,
            {
                **dict(zip("irtnclsup", map(list, zip(*rows, strict=True)), strict=True)),
                **parameters(HALF_LIVES, now=NOW),
            },
        )
        found = cursor.fetchall()

    for row, (value, kind, since) in zip(rows, found, strict=True):
        importance, role, turn, session, created, used, restored, uses, is_preference = row
        assert kind == kind_of(
            role=role, session=session, turn=turn, importance=importance, is_preference=is_preference
        )
        assert since == max(moment for moment in (created, used, restored) if moment)
        own = strength(importance=importance, half_life_days=HALF_LIVES[kind], uses=uses or 0, since=since, now=NOW)
        assert value == pytest.approx(own.value, rel=1e-9, abs=1e-12)
