"""Every score in the API can be explained: its parts sum to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

QUESTIONS = ("When did Ann move?", "List all about Lisbon", "latest news", "里斯本", "the of and", "What did you say?")


@pytest.fixture
def world(alice, remember) -> Any:
    for number in range(12):
        remember(alice, f"Ann moved to Lisbon {number} days ago.", session=f"s{number % 3}", speaker="Ann")
        remember(alice, "Lisbon is far, said the agent.", session=f"s{number % 3}", role="agent")
        remember(alice, f"我在里斯本住了{number}年", session="zh")
    return alice


def scored(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in body.get("rerank_debug", ()):
        yield entry["explanation"]
    for hit in body.get("hits", ()):
        yield hit["explanation"]
    yield from body["dropped"]


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_parts_sum_to_the_score_of_hits_and_of_what_did_not_come_back(world, path, question):
    asked = {"namespace": "alice", "query": question, "top_k": 4, "explain": True}

    body = world.post(path, asked | ({"session_id": "s1"} if path == "/v1/query" else {})).json()

    entries = list(scored(body))
    assert len(body["dropped"]) == 20
    assert len(entries) == 24
    for entry in entries:
        shares = [part["weighted"] for kind in ("arms", "signals") for part in entry[kind].values()]
        assert sum(shares) == pytest.approx(entry["final"], abs=1e-9)
        assert entry["reason"].endswith(".")
    assert {entry["verdict"] for entry in body["dropped"]} <= {"outranked", "restated", "variety"}


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_what_did_not_come_back_is_listed_for_who_asks(world, path):
    asked = {"namespace": "alice", "query": QUESTIONS[0], "session_id": "s1", "dry_run": True}
    if path == "/v1/search":
        del asked["session_id"]

    plain, explained = world.post(path, asked).json(), world.post(path, asked | {"explain": True}).json()

    assert plain["dropped"] == []
    hits = "raw_chunks" if path == "/v1/query" else "hits"
    assert explained[hits] == plain[hits]
    assert not {hit["id"] for hit in explained[hits]} & {entry["id"] for entry in explained["dropped"]}
