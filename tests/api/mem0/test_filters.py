"""mem0's filter language: matches for each owner, and refusals with the place of the fault."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import Memory

pytestmark = pytest.mark.django_db(transaction=True)

ADDED: dict[str, dict[str, Any]] = {
    "ada": {"user_id": "ada"},
    "ada's trip": {"user_id": "ada", "run_id": "trip"},
    "ada's shop": {"user_id": "ada", "app_id": "shop"},
    "bo": {"user_id": "bo"},
    "bo's trip": {"user_id": "bo", "run_id": "trip"},
    "the bot": {"agent_id": "bot"},
    "the bot's trip": {"agent_id": "bot", "run_id": "trip"},
    "a run": {"run_id": "trip"},
}


def add(tenant: Any, text: str, **fields: Any) -> dict[str, Any]:
    answer = tenant.post("/v3/memories/add/", {"messages": [{"role": "user", "content": text}], **fields})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def listed(tenant: Any, filters: dict[str, Any], **fields: Any) -> set[str]:
    answer = tenant.post("/v3/memories/", {"filters": filters, **fields})
    assert answer.status_code == 200, answer.content
    return {one["memory"] for one in answer.json()["results"]}


@pytest.fixture
def many(alice):
    for text, ids in ADDED.items():
        add(alice, text, **ids)
    return alice


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"user_id": "ada"}, {"ada"}),
        ({"AND": [{"user_id": "ada"}]}, {"ada"}),
        ({"user_id": "ada", "run_id": "trip"}, {"ada's trip"}),
        ({"AND": [{"user_id": "ada"}, {"run_id": "*"}]}, {"ada's trip"}),
        ({"user_id": "ada", "app_id": "*"}, {"ada's shop"}),
        ({"user_id": "*"}, {"ada", "bo"}),
        ({"user_id": {"in": ["ada", "bo"]}}, {"ada", "bo"}),
        ({"user_id": ["ada", "bo"], "run_id": "trip"}, {"ada's trip", "bo's trip"}),
        ({"user_id": {"ne": "ada"}}, {"bo"}),
        ({"AND": [{"user_id": "*"}, {"user_id": {"ne": "ada"}}, {"run_id": "*"}]}, {"bo's trip"}),
        ({"agent_id": "bot"}, {"the bot"}),
        ({"run_id": "trip"}, {"a run"}),
        ({"user_id": "ada", "run_id": None}, {"ada"}),
        ({"AND": [{"user_id": "ada"}, {"agent_id": "bot"}]}, set()),
        ({"OR": [{"user_id": "ada"}, {"agent_id": "bot"}]}, {"ada", "the bot"}),
        ({"OR": [{"user_id": "ada"}, {"user_id": "ada", "run_id": "*"}]}, {"ada", "ada's trip"}),
        ({"AND": [{"run_id": "trip"}, {"OR": [{"user_id": "ada"}, {"agent_id": "bot"}]}]},
         {"ada's trip", "the bot's trip"}),
        ({"AND": [{"OR": [{"user_id": "ada"}, {"user_id": "bo"}]}, {"OR": [{"run_id": "trip"}, {"run_id": "x"}]}]},
         {"ada's trip", "bo's trip"}),
        ({"user_id": "*", "NOT": [{"user_id": "ada"}]}, {"bo"}),
        ({"user_id": "*", "NOT": {"user_id": {"in": ["ada", "bo"]}}}, set()),
        ({"user_id": "nobody"}, set()),
    ],
)  # fmt: skip
def test_owners_are_kept_apart(many, filters, expected):
    assert listed(many, filters) == expected
    answer = many.post("/v3/memories/search/", {"query": "trip", "filters": filters, "top_k": 20})
    assert {one["memory"] for one in answer.json()["results"]} == expected


def test_conditions_on_what_a_memory_is(alice):
    old = add(alice, "The Invoice of May", user_id="ada", timestamp="2026-05-01T00:00:00Z", metadata={"source": "mail"})
    add(alice, "the ferry", user_id="ada", timestamp=1_780_000_000, metadata={"source": "chat", "tags": ["a", "b"]})
    identity = old["results"][0]["id"]
    Memory.objects.across_namespaces().filter(pk=identity).update(
        created_at="2026-05-02T00:00:00Z", metadata={"user_id": "ada", "source": "mail", "categories": ["finance"]}
    )

    def found(**conditions: Any) -> set[str]:
        return {text.split()[1] for text in listed(alice, {"user_id": "ada", **conditions})}

    assert found(metadata={"source": "mail"}) == {"Invoice"}
    assert found(metadata={"source": {"ne": "mail"}}) == {"ferry"}
    assert found(metadata={"tags": {"contains": "b"}}) == {"ferry"}
    assert found(metadata={"source": {"contains": "chat"}}) == {"ferry"}
    assert found(metadata={"nothing": {"ne": 1}}) == {"Invoice", "ferry"}
    assert found(keywords={"contains": "Invoice"}) == {"Invoice"}
    assert found(keywords={"contains": "invoice"}) == set()
    assert found(keywords={"icontains": "invoice"}) == {"Invoice"}
    assert found(categories={"in": ["finance", "health"]}) == {"Invoice"}
    assert found(categories={"contains": "finance"}) == {"Invoice"}
    assert found(NOT={"categories": "finance"}) == {"ferry"}
    assert found(categories="*") == {"Invoice"}
    assert found(created_at={"gte": "2026-05-01", "lt": "2026-05-20"}) == {"Invoice"}
    assert found(timestamp={"gt": "2026-05-08"}) == {"ferry"}
    assert found(timestamp={"lte": 1_777_593_600}) == {"Invoice"}
    assert found(updated_at={"lt": "2026-06-01"}) == {"Invoice"}
    assert found(memory_ids=[identity]) == {"Invoice"}
    assert found(memory_ids={"in": [identity]}) == {"Invoice"}
    assert listed(alice, {"user_id": "ada"}, start_date="2026-05-20T00:00:00Z") == {"the ferry"}
    assert listed(alice, {"user_id": "ada"}, end_date="2026-06-01T00:00:00Z", categories=["finance"]) == {
        "The Invoice of May"
    }


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({}, "filters: must not be empty"),
        ([], "filters: must be an object"),
        ({"metadata": {"a": 1}}, 'filters: must name one of user_id, agent_id, app_id, run_id: an id, or "*" for any.'),
        ({"colour": "red"}, "filters.colour: is no field. There are user_id"),
        ({"OR": [{"user_id": "a"}, {"colour": 1}]}, "filters.OR[1].colour: is no field"),
        ({"AND": {}}, "filters.AND: must be a list"),
        ({"AND": []}, "filters.AND: must hold 1 to 100"),
        ({"user_id": {"gt": "a"}}, "filters.user_id: 'gt' is no operator for it. There are eq, ne, in"),
        ({"user_id": "a", "created_at": {"gte": "soon"}}, "filters.created_at: must be an ISO 8601 date"),
        ({"user_id": "a", "created_at": {">=": "2026-01-01"}}, "filters.created_at: '>=' is no operator for it"),
        ({"user_id": "a", "metadata": {}}, "filters.metadata: must be an object"),
        ({"user_id": "a", "metadata": {"k": {"like": 1}}}, "filters.metadata.k: 'like' is no operator"),
        ({"user_id": "a", "memory_ids": ["x"]}, "filters.memory_ids: must be the id of a memory"),
        ({"user_id": "a", "categories": {"gt": "x"}}, "filters.categories: takes a category"),
        ({"user_id": "a", "keywords": {"like": "x"}}, "filters.keywords: 'like' is no operator for it"),
        ({"user_id": [f"u{number}" for number in range(101)]}, "filters.user_id: must hold 1 to 100"),
        ({"OR": [{"user_id": f"u{number}"} for number in range(51)]}, "is one condition too many"),
        ({"NOT": [{"NOT": [{"NOT": [{"NOT": [{"NOT": [{"NOT": [{"user_id": "a"}]}]}]}]}]}]}, "more than 5 levels deep"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_place(alice, filters, says):
    for route in ("/v3/memories/", "/v3/memories/search/"):
        answer = alice.post(route, {"query": "What?", "filters": filters})
        assert answer.status_code == 400
        assert says in answer.json()["detail"]
        assert answer.json()["detail"] == answer.json()["error"]["message"]


def test_filters_reach_no_other_namespace(alice, bob):
    add(bob, "Bob's secret", user_id="ada")
    assert listed(alice, {"user_id": "ada"}) == set()
