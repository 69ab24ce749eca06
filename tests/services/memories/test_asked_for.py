"""Frequently recalled memories stay in working memory, with the reason; doubted or erased ones do not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.enums import MemoryState
from memory.models import AuditLog, Memory
from memory.services.memories import asked_for, usage
from memory.stores import asked, working
from memory.stores import redis as redis_store
from memory.stores.asked import AskedMemory
from tests.job_queue import work_off

pytestmark = pytest.mark.django_db
KILN = "The kiln of the pottery in Lisbon fires at 1,240 degrees."


@pytest.fixture
def kiln(alice, remember) -> str:
    """A memory that working memory has forgotten."""
    memory_id = remember(alice, KILN)
    remember(alice, "Crane four is out of service until June.")
    working.forget(alice.scope.namespace_id)
    return memory_id


def ask(tenant, times: int, *, session: str = "s9") -> None:
    for _ in range(times):
        body = {"namespace": tenant.scope.namespace, "session_id": session, "query": "How hot is the kiln in Lisbon?"}
        assert tenant.post("/v1/query", {**body, "top_k": 1}).status_code == 200
    usage.count_uses(now=timezone.now() + 2 * usage.SETTLED)


def named(tenant) -> list[str]:
    return [str(one) for one in working.everything(tenant.scope.namespace_id)]


def test_what_a_session_asks_for_again_and_again_is_hot_and_says_why(alice, kiln):
    ask(alice, 2)
    assert named(alice) == []
    ask(alice, 1)
    assert named(alice) == [kiln]

    asked_body = {"group_id": "alice", "query": "What is new?"}
    hot = alice.post("/api/v1/memory/query", asked_body).json()["results"][0]
    assert (hot["source"], hot["content"]) == ("hot", KILN)
    assert hot["why"].startswith("asked for 3 times in session s9, last at ")


def test_questions_of_other_sessions_do_not_add_up(alice, kiln):
    for number in range(4):
        ask(alice, 2, session=f"s{number}")
    assert named(alice) == []


def test_only_the_three_tier_protocol_answers_from_it(alice, kiln):
    body = {"namespace": "alice", "query": "Which crane is out of service?", "top_k": 1}

    def answers() -> list[str]:
        queried = alice.post("/v1/query", {**body, "session_id": "s9", "dry_run": True}).json()
        searched = alice.post("/v1/search", body).json()
        found = alice.post("/product/search", {"query": body["query"], "readable_cube_ids": ["alice"], "top_k": 1})
        [listed] = found.json()["data"]["text_mem"][0]["memories"]
        return [queried["raw_chunks"][0]["id"], searched["hits"][0]["id"], listed["id"]]

    before = answers()
    ask(alice, 3)
    assert named(alice) == [kiln]
    assert answers() == before
    assert kiln not in before


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/search", {"namespace": "alice"}),
        ("/product/search", {"readable_cube_ids": ["alice"], "session_id": "s9"}),
        ("/api/v1/memory/query", {"group_id": "alice"}),
    ],
)
def test_asking_where_there_is_no_session_does_not_count(alice, kiln, path, fields):
    for _ in range(4):
        assert alice.post(path, {"query": "How hot is the kiln in Lisbon?", **fields}).status_code == 200
    usage.count_uses(now=timezone.now() + 2 * usage.SETTLED)
    assert kiln not in named(alice)


def test_asking_for_an_answer_counts(alice, kiln):
    for _ in range(3):
        body = {"namespace": "alice", "session_id": "s9", "query": "How hot is the kiln in Lisbon?"}
        assert alice.post("/v1/answer", body).status_code == 200
    usage.count_uses(now=timezone.now() + 2 * usage.SETTLED)
    assert kiln in named(alice)


def test_a_chat_asks_for_its_session(alice, kiln):
    body = {"namespace": "alice", "session_id": "s9", "message": "How hot is the kiln in Lisbon?"}
    assert alice.post("/v1/chat", body).status_code == 200
    [event] = AuditLog.objects.in_scope(alice.scope).filter(event_type="CONTEXT_PACK")
    assert (event.session, event.details["memory_ids"][0]) == ("s9", kiln)


def test_what_is_new_says_so(alice, remember):
    remember(alice, "My sister Inès bought kiln number 4 in Lyon on 12 June.")
    answer = alice.post("/api/v1/memory/query", {"group_id": "alice", "query": "What is new?"}).json()
    assert {(one["source"], one["why"]) for one in answer["results"]} == {("hot", "new")}


@pytest.mark.parametrize("fields", [{"review": "suspected"}, {"state": MemoryState.ARCHIVED}])
def test_what_is_doubted_or_archived_stays_out(alice, kiln, fields):
    Memory.objects.across_namespaces().filter(pk=kiln).update(**fields)
    found = AskedMemory(
        alice.scope.namespace_id, "s9", Memory.objects.across_namespaces().get(pk=kiln).pk, 5, timezone.now()
    )
    assert asked_for.note_asked([found]) == 0
    assert named(alice) == []


def test_a_session_that_asks_about_everything_leaves_room_for_others(alice, remember):
    now = timezone.now()
    ids = [remember(alice, f"Crate {number} stands in hall {number}.") for number in range(12)]
    working.forget(alice.scope.namespace_id)
    rows = {str(row.pk): row.pk for row in Memory.objects.across_namespaces().filter(pk__in=ids)}
    found = [
        AskedMemory(alice.scope.namespace_id, "s9", rows[one], 3 + place, now + timedelta(seconds=place))
        for place, one in enumerate(ids)
    ]
    assert asked_for.note_asked(found) == asked_for.MOST_EACH
    assert named(alice) == ids[-asked_for.MOST_EACH :]


def test_nothing_is_counted_for_it_while_redis_is_away_and_uses_are(alice, kiln, monkeypatch):
    def away(*_):
        raise redis_store.RedisAway("away")

    monkeypatch.setattr(asked, "call", away)
    body = {"namespace": "alice", "session_id": "s9", "query": "How hot is the kiln in Lisbon?", "top_k": 1}
    alice.post("/v1/query", body)
    assert usage.count_uses(now=timezone.now() + 2 * usage.SETTLED) == 1


def test_an_erased_memory_leaves_no_trace_of_what_was_asked(alice, kiln):
    ask(alice, 3)
    pattern = f"memos:asked:1:*:{kiln}"
    keys = lambda: redis_store.call(lambda client: client.keys(pattern))  # noqa: E731
    assert keys()
    body = {"namespace": "alice", "memory_ids": [kiln], "reason": "test", "confirm": "alice"}
    erasure = alice.post("/v1/erasures", body)
    assert erasure.status_code in (200, 201, 202), erasure.json()
    work_off()
    assert named(alice) == []
    assert keys() == []
    assert working.askings(alice.scope.namespace_id) == {}
