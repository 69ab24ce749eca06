"""POST /v1/why: what happened to a memory, one test for each verdict; the question leaves no trace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import override_settings
from django.utils import timezone

from memory import caches
from memory.models import EmbeddingModel, Memory, Namespace
from memory.models.keys import new_id
from memory.retrieval import candidates
from memory.retrieval.arms import WordHits
from memory.retrieval.candidate_features import DENSE_POOL, LEXICAL_POOL, Found, read_features
from memory.retrieval.question import Question
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.types import NewMemory, Scope, system_access
from tests.vectorless import take_vectors

UNKNOWN = "01a1f915-2054-75a1-9f3a-d010f79b72ce"
QUESTION = {"namespace": "alice", "query": "Where did Ann move?", "memory_id": UNKNOWN}
# The number of memories that fills the pool of the nearest memories.
CROWD = DENSE_POOL + 5
KEYS = {"memory_id", "verdict", "reason", "rank", "score", "parts", "details", "notes", "degraded"}


def why(tenant: Any, memory_id: str, query: str = "Where did Ann move?", **fields: Any) -> dict[str, Any]:
    answer = tenant.post("/v1/why", {"namespace": "alice", "query": query, "memory_id": memory_id, **fields})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert set(body) == KEYS
    assert body["memory_id"] == memory_id
    assert body["reason"].endswith(".")
    if body["score"] is not None:
        shares = [part["weighted"] for kind in body["parts"].values() for part in kind.values()]
        assert sum(shares) == pytest.approx(body["score"])
    return body


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"memory_id": None}, "memory_id"),
        ({"memory_id": "one"}, "memory_id"),
        ({"memory_id": 1}, "memory_id"),
        ({"query": ""}, "query"),
        ({"query": "q" * 2001}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"namespace": 3}, "namespace"),
        ({"filter": {"role": "boss"}}, "filter.role"),
        ({"as_of": "yesterday"}, "as_of"),
    ],
)
def test_a_wrong_field_is_named(alice, change, field):
    answer = alice.post("/v1/why", QUESTION | change)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_without_a_key_or_with_one_that_may_only_write_it_is_refused(olga, make_tenant):
    assert olga.post("/v1/why", QUESTION, content_type="application/json").status_code == 401
    assert make_tenant("alice", scopes=("write",)).post("/v1/why", QUESTION).status_code == 403


@pytest.mark.parametrize("namespace", ["bob", "nobody"])
def test_another_tenants_namespace_looks_like_none(alice, bob, remember, namespace):
    other = remember(bob, "Ann moved to Lisbon.")

    answer = alice.post("/v1/why", QUESTION | {"namespace": namespace, "memory_id": other})

    assert answer.status_code == 404
    assert namespace in answer.json()["error"]["message"]


def test_another_tenants_memory_looks_like_none(alice, bob, remember):
    other = remember(bob, "Ann moved to Lisbon.")

    theirs = alice.post("/v1/why", QUESTION | {"memory_id": other})
    none = alice.post("/v1/why", QUESTION)

    assert theirs.status_code == none.status_code == 404
    errors = [answer.json()["error"] for answer in (theirs, none)]
    assert errors[0]["message"].replace(other, UNKNOWN) == errors[1]["message"]
    assert errors[0]["detail"] == errors[1]["detail"] == {"field": "memory_id"}


def test_no_namespace_is_made(make_tenant):
    anyone = make_tenant("any", all_namespaces=True)

    assert anyone.post("/v1/why", QUESTION | {"namespace": "new"}).status_code == 404
    assert not Namespace.objects.filter(name="new").exists()


def test_with_the_embedding_provider_away_it_says_so(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.")
    EmbeddingModel.objects.update(provider="openai", name="away")
    with override_settings(
        MEMOS_EMBEDDING_PROVIDER="openai",
        MEMOS_EMBEDDING_BASE_URL="http://127.0.0.1:9/v1",
        MEMOS_EMBEDDING_DIMENSIONS=256,
        MEMOS_EMBEDDING_TIMEOUT_SECONDS=0.5,
    ):
        caches.forget_all()
        answer = alice.post("/v1/why", QUESTION | {"memory_id": memory})

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "embedding_unavailable"
    assert answer["Retry-After"] == "1"


def test_what_an_approximate_search_overlooked_is_said_to_be_overlooked(alice, remember, monkeypatch):
    memory = remember(alice, "Ann moved to Lisbon.")

    def find_nothing(scope: Scope, question: Question, *_: Any, **__: Any) -> Found:
        ranks: dict[str, dict[str, int]] = {"dense": {}, "lexical": {}}
        return Found(question, read_features(scope, question, []), WordHits([], 1.0, {}), ranks)

    # The index of a large namespace may miss it; the exact rank is correct anyway.
    monkeypatch.setattr(candidates, "_find_by_sql", find_nothing)

    reason = why(alice, memory)["reason"]

    assert "number 1 of 1 " in reason
    assert reason.count("overlooked it") == 2


def test_returned(alice, remember):
    remember(alice, "The weather is nice today.")
    wanted = remember(alice, "Ann moved to Lisbon.")

    found = why(alice, wanted)

    assert (found["verdict"], found["rank"]) == ("returned", 1)
    assert found["reason"].startswith("It came back as hit 1 of 2. Found by meaning (1st of 2)")
    (hit, _) = alice.post("/v1/search", {"namespace": "alice", "query": QUESTION["query"], "top_k": 2}).json()["hits"]
    assert hit["explanation"]["final"] == pytest.approx(found["score"])
    assert (found["notes"], found["degraded"]) == ([], [])


def test_restated(alice, remember):
    older = remember(alice, "Ann moved to Lisbon in March.", speaker="Ann")
    newer = remember(alice, "Ann moved to Lisbon in March!", speaker="Ann")
    verdicts = {identity: why(alice, identity) for identity in (older, newer)}

    (hit,) = [identity for identity, found in verdicts.items() if found["verdict"] == "returned"]
    (other,) = {older, newer} - {hit}

    assert verdicts[hit]["details"]["restated_by"] == [other]
    assert verdicts[other]["verdict"] == "restated"
    assert verdicts[other]["details"]["other"] == hit
    assert hit in verdicts[other]["reason"]


def test_outranked_says_which_parts_made_the_difference(alice, remember):
    hit = remember(alice, "Where did Ann move? Ann moved to Lisbon.", session="s1")
    memory = remember(alice, "Ann likes tea and the garden behind the house.", session="s2")

    found = why(alice, memory, top_k=1)

    assert (found["verdict"], found["rank"]) == ("outranked", 2)
    details = found["details"]
    assert details["last_hit"]["id"] == hit
    assert details["considered"] == 2
    assert details["missing"] == pytest.approx(details["last_hit"]["score"] - found["score"])
    assert sum(details["differences"].values()) == pytest.approx(details["missing"])
    first = next(iter(details["differences"]))
    assert f"What the last hit has more: {first} +" in found["reason"]
    assert f"the last hit has {details['last_hit']['score']:.4f}" in found["reason"]


def test_variety(alice, remember):
    first = remember(alice, "kiln glaze bowl, workshop alpha door 1", session="a")
    second = remember(alice, "kiln glaze bowl, workshop alpha door 2", session="b")
    remember(alice, "kiln glaze bowl, Ann paid bricks, sand", session="c")

    asked = {"query": "all of kiln and glaze", "top_k": 2}
    verdicts = {identity: why(alice, identity, **asked) for identity in (first, second)}

    (hit,) = [identity for identity, found in verdicts.items() if found["verdict"] == "returned"]
    (found,) = [found for found in verdicts.values() if found["verdict"] != "returned"]
    assert found["verdict"] == "variety"
    assert found["details"]["other"] == hit
    assert found["parts"]["signals"]["variety"]["weighted"] < 0
    assert found["score"] <= found["details"]["last_hit"]["score"]
    assert found["score"] - found["parts"]["signals"]["variety"]["weighted"] > found["details"]["last_hit"]["score"]


def test_not_a_candidate_says_its_exact_place_in_each_arm(alice, remember):
    memory = remember(alice, "The ship has docked.", session="s2")
    crowd = [(alice.scope, NewMemory("s1", "user", f"Ann did move number {number}")) for number in range(CROWD)]
    ingest_batch(items=crowd, now=timezone.now())

    found = why(alice, memory)

    assert (found["verdict"], found["rank"], found["score"], found["parts"]) == ("not_a_candidate", None, None, {})
    place = found["details"]["dense"]
    assert (place["rank"], place["of"], place["pool"]) == (CROWD + 1, CROWD + 1, DENSE_POOL)
    assert found["details"]["lexical"] == {"raw": None, "rank": None, "of": None, "pool": LEXICAL_POOL}
    assert f"number {CROWD + 1} of {CROWD + 1}" in found["reason"]
    assert "shares no word" in found["reason"]


def test_filtered_names_the_entries_that_do_not_hold(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.", metadata={"price": 5})
    where = {"role": "agent", "metadata.price": {"gte": 3, "lt": 4}, "session_id": "s1"}

    found = why(alice, memory, filter=where)

    assert found["verdict"] == "filtered"
    assert found["details"]["failed"] == [{"role": {"eq": "agent"}}, {"metadata.price": {"lt": 4}}]
    assert '{"role":{"eq":"agent"}}, {"metadata.price":{"lt":4}}' in found["reason"]
    assert why(alice, memory, filter={"role": "user"})["verdict"] == "returned"
    assert why(alice, memory, filter={"not": {"role": "user"}})["details"]["failed"] == [
        {"not": {"role": {"eq": "user"}}}
    ]


def test_recorded_later(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.")
    before = (timezone.now() - timedelta(days=1)).isoformat()

    found = why(alice, memory, as_of=before)

    assert found["verdict"] == "recorded_later"
    assert found["details"]["created_at"] > found["details"]["as_of"]
    assert why(alice, memory, as_of=timezone.now().isoformat())["verdict"] == "returned"


def test_archived(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.")
    edit.archive(
        system_access("tests"), memory_ids=[Memory.objects.across_namespaces().get().pk], reason="x", now=timezone.now()
    )

    assert why(alice, memory)["verdict"] == "archived"


def test_a_memory_without_a_vector_says_so(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.")
    remember(alice, "The weather is nice today.")
    take_vectors(memory)

    found = why(alice, memory)

    assert (found["verdict"], found["notes"]) == ("returned", ["no_vector"])
    assert found["parts"]["arms"]["dense"]["rank"] is None
    Memory.objects.across_namespaces().filter(pk=memory).update(session="far")
    apart = why(alice, memory, "weather")
    assert (apart["verdict"], apart["notes"]) == ("not_a_candidate", ["no_vector"])
    assert "no vector yet" in apart["reason"]


def test_nothing_is_kept(alice, remember):
    memory = remember(alice, "Ann moved to Lisbon.")

    def counts() -> dict[str, int]:
        return {model._meta.label: model._base_manager.count() for model in apps.get_models()}

    before = counts()
    why(alice, memory)
    why(alice, memory, filter={"role": "agent"})

    assert counts() == before
    assert alice.post("/v1/why", QUESTION | {"memory_id": str(new_id())}).status_code == 404
