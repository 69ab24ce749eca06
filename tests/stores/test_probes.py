"""Questions that staff asked: kept for a day by namespace, and forgotten on request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.stores import probes
from memory.stores.redis import call

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def test_a_question_is_read_in_its_namespace_only_and_expires():
    probes.keep(1, "1-a", {"text": "harbour"}, now=NOW)

    assert probes.read(1, "1-a") == {"text": "harbour"}
    assert probes.read(2, "1-a") is None
    for key in ("memos:probe:1:1:1-a", "memos:probes:1:1"):
        left = call(lambda client, key=key: client.ttl(key))
        assert 0 < left <= probes.KEPT_SECONDS


def test_all_of_a_namespace_are_forgotten_and_no_others():
    for namespace_id, name in ((1, "1-a"), (1, "1-b"), (11, "11-a")):
        probes.keep(namespace_id, name, {"text": name}, now=NOW)

    assert probes.count(1, until=NOW) == 2
    assert probes.count(1, until=NOW - timedelta(seconds=1)) == 0
    assert probes.forget(1) == 2
    assert probes.forget(1) == 0
    assert probes.read(1, "1-a") is None
    assert probes.read(11, "11-a") == {"text": "11-a"}


def test_what_has_expired_is_not_counted_any_more():
    probes.keep(1, "1-a", {"text": "old"}, now=NOW - timedelta(hours=25))
    probes.keep(1, "1-b", {"text": "new"}, now=NOW)

    assert probes.count(1, until=NOW) == 1
