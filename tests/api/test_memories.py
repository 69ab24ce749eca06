"""GET /v1/memories: refusals first, then the list and its paging."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.memories import edit
from memory.types import system_access


def listed(tenant, **query) -> list[str]:
    answer = tenant.get("/v1/memories", namespace=tenant.scope.namespace, **query)
    assert answer.status_code == 200, answer.content
    return [memory["text"] for memory in answer.json()["memories"]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"namespace": ""}, "namespace"),
        ({"namespace": "alice", "limit": "0"}, "limit"),
        ({"namespace": "alice", "limit": "201"}, "limit"),
        ({"namespace": "alice", "cursor": "7"}, "cursor"),
        ({"namespace": "alice", "role": "robot"}, "role"),
        ({"namespace": "alice", "tier": "L9"}, "tier"),
        ({"namespace": "alice", "state": "gone"}, "state"),
        ({"namespace": "alice", "since": "May"}, "since"),
        ({"namespace": "alice", "until": "2026-13-01"}, "until"),
        ({"namespace": "alice", "pinned": "perhaps"}, "pinned"),
        ({"namespace": "alice", "text": "x" * 501}, "text"),
    ],
)
def test_a_wrong_parameter_is_named(alice, query, field):
    answer = alice.get("/v1/memories", **query)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_who_may_not_is_refused(alice, bob, olga, make_tenant, remember):
    remember(alice, "Tea is at five.")

    assert olga.get("/v1/memories?namespace=alice").status_code == 401
    assert make_tenant("alice", scopes=("write",)).get("/v1/memories", namespace="alice").status_code == 403
    assert bob.get("/v1/memories", namespace="alice").status_code == 404
    assert listed(bob) == []


def test_a_namespace_that_is_not_there_is_not_made(make_tenant):
    everywhere = make_tenant("any", all_namespaces=True)

    assert everywhere.get("/v1/memories", namespace="nowhere").status_code == 404


@pytest.fixture
def world(alice, bob, remember):
    """Store five memories of Alice, in this order, and one of Bob."""
    remember(alice, "Tea is at five.", speaker="Ann", occurred_at=datetime(2026, 5, 1, tzinfo=UTC))
    remember(alice, "Coffee is at nine.", speaker="Ben", role="agent", occurred_at=datetime(2026, 5, 2, tzinfo=UTC))
    remember(alice, "我们五点喝茶。", session="zh", occurred_at=datetime(2026, 5, 3, tzinfo=UTC))
    remember(alice, "Teas were tasted at nine.", session="s2", occurred_at=datetime(2026, 5, 4, tzinfo=UTC))
    remember(alice, "Milk was bought.", session="s2", role="tool", occurred_at=datetime(2026, 4, 1, tzinfo=UTC))
    remember(bob, "Tea is black.")
    return alice


TEA, COFFEE, CHINESE = "Tea is at five.", "Coffee is at nine.", "我们五点喝茶。"
TASTED, MILK = "Teas were tasted at nine.", "Milk was bought."


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [MILK, TASTED, CHINESE, COFFEE, TEA]),
        ({"session_id": "s2"}, [MILK, TASTED]),
        ({"speaker": "Ann"}, [TEA]),
        ({"role": "agent"}, [COFFEE]),
        ({"tier": "L2", "limit": "2"}, [MILK, TASTED]),
        ({"tier": "L3"}, []),
        ({"since": "2026-05-02T00:00:00Z", "until": "2026-05-04T00:00:00Z"}, [CHINESE, COFFEE]),
        ({"text": "teas"}, [TASTED, TEA]),
        ({"text": "nine taste"}, [TASTED]),
        ({"text": "喝茶"}, [CHINESE]),
        ({"text": "nothing of this"}, []),
        ({"text": "is at"}, [COFFEE, TEA]),
        ({"text": "Will"}, []),
        ({"text": "们"}, [CHINESE]),
        ({"text": "👍"}, []),
        ({"state": "archived"}, []),
        ({"pinned": "false", "review": "false", "current": "true", "text": "milk"}, [MILK]),
        ({"pinned": "true"}, []),
        ({"review": "true"}, []),
        ({"current": "false"}, []),
    ],
)
def test_what_a_filter_leaves(world, query, expected):
    assert listed(world, **query) == expected


def test_names_and_symbols_are_listed_by_their_words(alice, remember):
    texts = ["I met Will in Wels.", "I will learn C++.", "C# is easier.", "Die Straße ist lang.", "Blood group A+."]
    for text in texts:
        remember(alice, text)
    asked = ["Will", "C++", "C#", "strasse", "A+"]

    assert [listed(alice, text=words) for words in asked] == [[text] for text in texts]
    assert listed(alice, text="will", state="any") == [texts[1], texts[0]]


def test_archived_ones_are_listed_when_they_are_asked_for(world):
    milk = Memory.objects.across_namespaces().get(text=MILK)
    edit.archive(system_access("staff:ann"), memory_ids=[milk.pk], reason="drunk", now=timezone.now())

    assert listed(world, session_id="s2") == [TASTED]
    assert listed(world, state="archived") == listed(world, state="archived", text="milk") == [MILK]
    assert listed(world, state="any", session_id="s2") == [MILK, TASTED]


def test_pages_follow_each_other_without_gap_while_others_write(world, remember):
    first = world.get("/v1/memories", namespace="alice", limit="2").json()
    remember(world, "A late one.")
    second = world.get("/v1/memories", namespace="alice", limit="2", cursor=first["next_cursor"]).json()
    last = world.get("/v1/memories", namespace="alice", limit="2", cursor=second["next_cursor"]).json()

    texts = [memory["text"] for page in (first, second, last) for memory in page["memories"]]
    assert texts == [MILK, TASTED, CHINESE, COFFEE, TEA]
    assert last["next_cursor"] is None


def test_a_page_that_ends_with_the_list_has_no_cursor(world):
    assert world.get("/v1/memories", namespace="alice", limit="5").json()["next_cursor"] is None


def test_a_list_that_takes_too_long_says_how_to_narrow_it(world, monkeypatch, settings):
    settings.MEMOS_SEARCH_TIMEOUT_MS = 20

    def slow(rows, *_, **__):
        return rows.extra(where=["pg_sleep(1) IS NOT NULL"])

    monkeypatch.setattr("memory.services.memories.read.narrow_rows", slow)
    answer = world.get("/v1/memories", namespace="alice")

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "search_timeout"
    assert "Name a session" in answer.json()["error"]["message"]


def test_a_page_costs_a_fixed_number_of_statements(world, django_assert_num_queries):
    world.get("/v1/memories", namespace="alice")
    # The statements are: savepoint, timeout, page planning, the frequency of two words, ids and rows.
    with django_assert_num_queries(9):
        world.get("/v1/memories", namespace="alice", text="tea nine")
