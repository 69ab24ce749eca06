"""Working memory: a namespace's newest ids, each kept for its time."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from memory.models.keys import new_id
from memory.stores import working
from memory.stores.redis import call, together

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def note(ids: list[uuid.UUID], *, namespace_id: int = 1, at: datetime = NOW, hours: int = 24) -> None:
    together(working.noting({namespace_id: ids}, hours={namespace_id: hours}, now=at))


def newest(*, namespace_id: int = 1, at: datetime = NOW, limit: int = 50, hours: int = 24) -> list[uuid.UUID]:
    return working.newest(namespace_id, limit=limit, hours=hours, now=at)


@pytest.fixture
def ids() -> list[uuid.UUID]:
    return [new_id() for _ in range(60)]


def test_the_newest_come_first_and_only_so_many_are_kept(ids):
    note(ids[:2], at=NOW - HOUR)
    note(ids[2:])

    assert newest() == ids[:9:-1]
    assert newest(limit=3) == ids[:-4:-1]


def test_each_has_its_own_time(ids):
    note(ids[:1], at=NOW - 25 * HOUR)
    note(ids[1:2], at=NOW - 23 * HOUR)

    assert newest() == ids[1:2]
    assert newest(hours=48) == [ids[1], ids[0]]
    note(ids[2:3])
    assert newest(at=NOW + 2 * HOUR) == ids[2:3]
    assert newest(at=NOW + 25 * HOUR) == []
    assert 0 < call(lambda client: client.ttl("memos:working:1:1")) <= 24 * 3600


def test_what_is_dropped_is_gone_and_other_namespaces_stay(ids):
    note(ids[:3])
    note(ids[3:5], namespace_id=2)

    assert working.drop(1, [ids[0], ids[4]]) == 1
    assert working.drop(1, []) == 0
    assert newest() == [ids[2], ids[1]]
    assert newest(namespace_id=2) == [ids[4], ids[3]]
    assert (working.forget(1), working.forget(1)) == (1, 0)
    assert newest() == []
