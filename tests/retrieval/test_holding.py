"""Superseded memories are not found now, but for times at which they held or were believed to hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Memory

MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
PARIS, BERLIN = "I live in Paris.", "I moved to Berlin."
QUESTION = {"namespace": "alice", "query": "Where do I live, in Paris or Berlin?"}


@pytest.fixture
def moved(alice, remember) -> dict[str, Any]:
    """Stores Paris since May and Berlin since June; Paris was superseded between `before` and `after`."""
    ids = {
        "paris": remember(alice, PARIS, speaker="Ann", occurred_at=MAY),
        "berlin": remember(alice, BERLIN, speaker="Ann", occurred_at=JUNE),
    }
    before = timezone.now()
    answer = alice.post(f"/v1/memories/{ids['paris']}/supersede", {"by": ids["berlin"], "reason": "moved"})
    assert answer.status_code == 200, answer.content
    return {**ids, "before": before.isoformat(), "after": timezone.now().isoformat()}


def found(tenant: Any, **fields: Any) -> set[str]:
    answers = [
        tenant.post("/v1/search", QUESTION | fields),
        tenant.post("/v1/query", QUESTION | {"session_id": "s9"} | fields),
    ]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].content
    searched = {hit["text"] for hit in answers[0].json()["hits"]}
    assert {chunk["text"] for chunk in answers[1].json()["raw_chunks"]} == searched
    return searched


def test_now_only_the_newer_holds(alice, moved):
    assert found(alice) == {BERLIN}


def test_at_a_time_what_held_then_is_found(alice, moved):
    assert found(alice, valid_at="2026-05-15T00:00:00Z") == {PARIS}
    assert found(alice, valid_at="2026-06-15T00:00:00Z") == {BERLIN}
    assert found(alice, valid_at="2026-04-15T00:00:00Z") == set()
    # Paris ends when Berlin begins.
    assert found(alice, valid_at=JUNE.isoformat()) == {BERLIN}


def test_as_of_a_time_what_was_believed_then_is_found(alice, moved):
    assert found(alice, as_of=moved["before"]) == {PARIS, BERLIN}
    assert found(alice, as_of=moved["after"]) == {BERLIN}
    assert found(alice, as_of=moved["before"], valid_at="2026-06-15T00:00:00Z") == {PARIS, BERLIN}
    assert found(alice, as_of=moved["after"], valid_at="2026-05-15T00:00:00Z") == {PARIS}
    assert found(alice, as_of=(timezone.now() - timedelta(days=1)).isoformat()) == set()


def test_as_of_reads_the_text_that_was_there(alice, moved):
    path, body = f"/v1/memories/{moved['berlin']}", {"text": "I moved to Bonn.", "reason": "misheard"}
    changed = alice.client.patch(path, data=body, content_type="application/json")
    assert changed.status_code == 200, changed.content
    assert found(alice, as_of=moved["after"]) == {BERLIN}
    assert found(alice) == {"I moved to Bonn."}


def test_with_a_filter_too(alice, moved):
    assert found(alice, filter={"speaker": "Ann"}) == {BERLIN}
    assert found(alice, filter={"speaker": "Ann"}, valid_at="2026-05-15T00:00:00Z") == {PARIS}


def test_why_says_that_it_is_over(alice, moved):
    ask = QUESTION | {"memory_id": moved["paris"]}
    body = alice.post("/v1/why", ask).json()
    assert body["verdict"] == "not_holding"
    assert moved["berlin"] in body["reason"]
    assert body["details"]["valid_to"] == JUNE.isoformat()
    assert alice.post("/v1/why", ask | {"valid_at": "2026-05-15T00:00:00Z"}).json()["verdict"] == "returned"
    assert alice.post("/v1/why", ask | {"as_of": moved["before"]}).json()["verdict"] == "returned"
    early = alice.post("/v1/why", ask | {"valid_at": "2026-04-15T00:00:00Z"}).json()
    assert (early["verdict"], MAY.isoformat() in early["reason"]) == ("not_holding", True)


def test_a_memory_that_is_to_end_later_holds_still(alice, remember):
    identity = remember(alice, PARIS, occurred_at=MAY)
    Memory.objects.across_namespaces().filter(pk=identity).update(valid_to=timezone.now() + timedelta(hours=1))
    assert found(alice) == {PARIS}
    assert found(alice, valid_at=(timezone.now() + timedelta(hours=2)).isoformat()) == set()
