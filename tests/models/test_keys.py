"""The bounds of ids for a point in time, as ids sort by time."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from memory.models.keys import first_id_of, id_after, new_id


@pytest.mark.parametrize("moment", [datetime.min, datetime(1969, 12, 31), datetime(2026, 5, 8), datetime.max])
def test_every_moment_has_a_first_id(moment):
    found = first_id_of(moment.replace(tzinfo=UTC))

    assert found.version == 7
    assert (found < new_id()) == (moment.year < 9999)


@pytest.mark.parametrize("identity", [uuid.UUID(int=0), new_id(), uuid.UUID(int=2**128 - 1)])
def test_a_time_before_and_after_an_id_bounds_it(identity):
    # The least and the greatest id have nothing before and after them.
    assert id_after(identity, -timedelta(minutes=1)) <= identity
    assert id_after(identity, timedelta(minutes=1)).int >> 80 >= identity.int >> 80
