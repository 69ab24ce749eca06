"""A long turn is returned as the part of it that answers, on every route; its id leads to all of it."""

from __future__ import annotations

import pytest

from memory.text.excerpts import MAX_HIT_CHARS

LONG = " ".join(f"Shelf {number} holds {number * 7} jars of glaze." for number in range(300))
ASKED = "How many jars are on shelf 211?"
ANSWER = "Shelf 211 holds 1477 jars of glaze."


@pytest.fixture
def long_turn(alice, remember) -> str:
    remember(alice, "The kiln is in the yard.", session="other")
    return remember(alice, LONG, metadata={"excerpt": "the client's own", "project": "studio"})


@pytest.mark.parametrize("route", ["/v1/query", "/v1/search"])
def test_a_hit_is_the_part_that_answers(alice, long_turn, route):
    session = {"session_id": "s2"} if route == "/v1/query" else {}
    answer = alice.post(route, {"namespace": "alice", "query": ASKED, "top_k": 2, **session}).json()

    hit = next(one for one in answer.get("hits") or answer["raw_chunks"] if one["id"] == long_turn)
    place = hit["metadata"]["excerpt"]
    assert ANSWER in hit["text"]
    assert len(hit["text"]) <= MAX_HIT_CHARS
    assert hit["text"].strip("… ") == LONG[place["start"] : place["end"]].strip()
    assert place["characters"] == len(LONG)
    assert hit["metadata"]["project"] == "studio"
    if route == "/v1/query":
        assert ANSWER in answer["context_pack"]["text"]
        assert len(answer["context_pack"]["text"]) < 2 * MAX_HIT_CHARS


def test_the_whole_turn_stays_under_its_id(alice, long_turn):
    assert alice.get(f"/v1/memories/{long_turn}").json()["text"] == LONG


def test_a_short_hit_has_no_excerpt(alice, remember):
    remember(alice, "The kiln is in the yard.", metadata={"excerpt": "the client's own"})

    [hit] = alice.post("/v1/search", {"namespace": "alice", "query": "Where is the kiln?"}).json()["hits"]

    assert hit["text"] == "The kiln is in the yard."
    assert "excerpt" not in hit["metadata"]


def test_other_shapes_have_it_too(alice, long_turn):
    asked = {"knowledge_id": "alice", "query": ASKED, "retrieval_setting": {"top_k": 2, "score_threshold": 0}}
    [record] = [
        one for one in alice.post("/v1/retrieval", asked).json()["records"] if one["metadata"]["memory_id"] == long_turn
    ]

    assert ANSWER in record["content"]
    assert len(record["content"]) <= MAX_HIT_CHARS


def test_an_answer_quotes_the_part(alice, long_turn):
    answer = alice.post("/v1/answer", {"namespace": "alice", "session_id": "s2", "query": ASKED}).json()

    assert "1477" in answer["answer"]
