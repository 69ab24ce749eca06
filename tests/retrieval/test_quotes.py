"""Echoes of a memory rank behind it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from memory.models import Memory
from memory.retrieval.near_duplicates import Words
from memory.retrieval.quotes import bring_sources, put_echoes_last


@dataclass(frozen=True)
class Found:
    text: str
    sources: tuple[uuid.UUID, ...] = ()
    id: uuid.UUID = field(default_factory=uuid.uuid4)

    @property
    def words(self) -> Words:
        return Words("", self.text)


ASKED = "Where does the ferry leave from?"


def test_what_only_asks_the_same_stands_behind_all_others():
    echo, other, fact = Found(ASKED), Found("When does the ferry leave on Sundays?"), Found("It leaves from pier nine.")

    assert put_echoes_last(ASKED, [echo, other, fact]) == [other, fact, echo]
    assert put_echoes_last("Who asked about the ferry?", [echo, fact]) == [echo, fact]


def test_the_source_of_a_quote_is_brought_in_behind_it():
    fact = Found("It leaves from pier nine.")
    quote, other = Found("It leaves from pier nine.", (fact.id, uuid.uuid4())), Found("The harbour is old.")

    asked_for: list[list[uuid.UUID]] = []

    def read(ids: list[uuid.UUID]) -> list[Found]:
        asked_for.append(ids)
        return [fact]

    assert bring_sources([quote, other], read) == [quote, fact, other]
    assert asked_for == [list(quote.sources)]
    assert bring_sources([fact, quote, other], lambda _: []) == [fact, quote, other]
    assert bring_sources([other], read) == [other]
    assert len(asked_for) == 1


def test_a_remembered_question_and_answer_never_stand_before_what_they_quote(alice, remember):
    source = remember(alice, "The ferry to the islands leaves from pier nine.", session="s0", speaker="Ann")
    for number in range(5):
        remember(alice, f"We talked of boat number {number} in the harbour.", session="s0")
    asked = {"namespace": "alice", "session_id": "s1", "query": "Where does the ferry to the islands leave from?"}
    for _ in range(3):
        answer = alice.post("/v1/answer", {**asked, "remember": True}).json()
        assert {one["memory_id"] for one in answer["citations"]} == {source}

    body = {"namespace": "alice", "query": asked["query"]}

    def search(top_k: int) -> list[str]:
        return [hit["id"] for hit in alice.post("/v1/search", {**body, "top_k": top_k}).json()["hits"]]

    ranked = search(20)

    assert ranked[0] == source
    assert Memory.objects.in_scope(alice.scope).get(pk=ranked[-1]).text == asked["query"]
    for top_k in range(1, 12):
        assert [hit["id"] for hit in alice.post("/v1/search", {**body, "top_k": top_k}).json()["hits"]] == ranked[
            :top_k
        ]
