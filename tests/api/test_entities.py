"""/v1/entities: the entities in memories, newest first, and a single one with its names and mentions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.services.entities import extract

ANYONE = "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11"


@pytest.fixture
def read():
    return lambda: extract.index_pending(now=timezone.now())


def listed(tenant, **query) -> dict[str, dict]:
    body = tenant.get("/v1/entities", namespace=tenant.scope.namespace, **query).json()
    return {row["name"]: row for row in body["entities"]}


def show(tenant, name, **query) -> dict:
    identity = listed(tenant)[name]["id"]
    return tenant.get(f"/v1/entities/{identity}", namespace=tenant.scope.namespace, **query).json()


def test_looking_needs_the_read_scope(make_tenant, olga):
    writer = make_tenant("shop", scopes=("write",))

    for path in ("/v1/entities", f"/v1/entities/{ANYONE}"):
        assert olga.get(path).status_code == 401
        assert writer.get(path, namespace="shop").status_code == 403


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"namespace": ""}, "namespace"),
        ({"kind": "animal"}, "kind"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"search": "x" * 81}, "search"),
    ],
)
def test_a_wrong_query_of_the_list_is_refused(alice, query, field):
    answer = alice.get("/v1/entities", **{"namespace": "alice", **query})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


@pytest.mark.parametrize("cursor", ["x", "2026-01-01_x", f"2026-01-01T00:00:00_{ANYONE}", f"_{ANYONE}"])
def test_a_wrong_cursor_of_the_timeline_is_refused(alice, cursor):
    answer = alice.get(f"/v1/entities/{ANYONE}", namespace="alice", cursor=cursor)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "cursor"


def test_another_tenants_entities_are_not_there(alice, bob, remember, read):
    remember(bob, "Tom lives in Berlin.")
    read()
    of_bob = listed(bob)["Tom"]["id"]

    assert listed(alice) == {}
    assert alice.get("/v1/entities", namespace="bob").status_code == 404
    assert alice.get(f"/v1/entities/{of_bob}", namespace="alice").status_code == 404
    assert alice.get(f"/v1/entities/{of_bob}", namespace="bob").status_code == 404


def test_entities_are_listed_with_what_mentions_them(alice, remember, read):
    for day in (3, 1, 2):
        remember(alice, "Tom lives in Berlin.", occurred_at=datetime(2026, 5, day, tzinfo=UTC))
    read()

    found = listed(alice)
    assert {name: (row["kind"], row["mentions"]) for name, row in found.items()} == {
        "Tom": ("person", 3),
        "Berlin": ("place", 3),
    }
    assert (found["Tom"]["first_at"], found["Tom"]["last_at"]) == (
        "2026-05-01T00:00:00+00:00",
        "2026-05-03T00:00:00+00:00",
    )


def test_the_list_is_narrowed_by_kind_and_by_a_part_of_any_name(alice, remember, read):
    remember(alice, "Call me Caro. I live in São Paulo.", speaker="Caroline")
    remember(alice, "我住在北京（Beijing）。", speaker="王芳")
    read()

    assert set(listed(alice, kind="place")) == {"São Paulo", "北京"}
    assert set(listed(alice, search="SAO")) == {"São Paulo"}
    assert set(listed(alice, search="beij")) == {"北京"}
    assert set(listed(alice, search="caro")) == {"Caroline"}
    assert listed(alice, search="100%") == {}


def test_pages_of_the_list_follow_each_other(alice, remember, read):
    remember(alice, "Tom and Anna saw Berlin, Paris and Vienna.")
    read()
    body = alice.get("/v1/entities", namespace="alice", limit="2").json()
    seen = [row["name"] for row in body["entities"]]
    while body["next_cursor"]:
        body = alice.get("/v1/entities", namespace="alice", limit="2", cursor=body["next_cursor"]).json()
        seen += [row["name"] for row in body["entities"]]

    assert sorted(seen) == ["Anna", "Berlin", "Paris", "Tom", "Vienna"]


def test_one_entity_comes_with_names_edges_neighbours_and_timeline(alice, remember, read):
    remember(alice, "Call me Caro.", speaker="Caroline", occurred_at=datetime(2026, 5, 1, tzinfo=UTC))
    home = remember(alice, "I live in Berlin.", speaker="Caroline", occurred_at=datetime(2026, 5, 2, tzinfo=UTC))
    asked = remember(alice, "Hi Caro!", speaker="Tom", occurred_at=datetime(2026, 5, 3, tzinfo=UTC))
    read()

    body = show(alice, "Caroline")
    assert {(row["name"], row["link"], row["mentions"]) for row in body["aliases"]} == {
        ("Caroline", "own", 2),
        ("Caro", "stated", 2),
    }
    (edge,) = body["edges"]
    assert (edge["predicate"], edge["evidence"], edge["valid_to"]) == ("lives_in", [home], None)
    assert [row["name"] for row in body["neighbours"]] == ["Berlin"]
    assert [(row["memory_id"], row["spoke"]) for row in body["timeline"]][:2] == [(asked, False), (home, True)]
    newest = body["timeline"][0]
    assert newest["text"][newest["start"] : newest["end"]] == "Caro"


def test_pages_of_a_timeline_follow_each_other_also_at_one_moment(alice, remember, read):
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    said = [remember(alice, f"Tom saw {number} films.", occurred_at=moment) for number in range(5)]
    read()
    body = show(alice, "Tom", limit="2")
    seen = [row["memory_id"] for row in body["timeline"]]
    while body["next_cursor"]:
        body = show(alice, "Tom", limit="2", cursor=body["next_cursor"])
        seen += [row["memory_id"] for row in body["timeline"]]

    assert sorted(seen) == sorted(said)


def test_who_moves_lives_no_more_where_they_lived(alice, remember, read):
    remember(alice, "I live in Paris.", speaker="Tom", occurred_at=datetime(2026, 5, 1, tzinfo=UTC))
    remember(alice, "I moved to Berlin.", speaker="Tom", occurred_at=datetime(2026, 6, 1, tzinfo=UTC))
    remember(alice, "I used to work at Siemens.", speaker="Tom", occurred_at=datetime(2026, 6, 2, tzinfo=UTC))
    read()

    body = show(alice, "Tom")
    names = {row["id"]: row["name"] for row in body["neighbours"]}
    assert {
        (names[edge["target"]], (edge["valid_from"] or "")[:10], (edge["valid_to"] or "")[:10])
        for edge in body["edges"]
    } == {
        ("Paris", "2026-05-01", "2026-06-01"),
        ("Berlin", "2026-06-01", ""),
        ("Siemens", "", "2026-06-02"),
    }
    paris = show(alice, "Paris")["edges"]
    assert [edge["valid_to"][:10] for edge in paris] == ["2026-06-01"]
