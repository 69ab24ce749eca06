"""GET /v1/memories/{memory_id}/history: versions, events, links and opinions of one memory."""

from __future__ import annotations

import pytest
from django.db import connection

from memory.services.memories.read import FREQUENT


@pytest.mark.parametrize("limit", ["0", "201", "x"])
def test_a_wrong_limit_is_refused(alice, remember, limit):
    answer = alice.get(f"/v1/memories/{remember(alice, 'Tea.')}/history", limit=limit)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "limit"


def test_all_that_happened_newest_first(alice, remember):
    memory_id = remember(alice, "Tea is at five.", speaker="Ann")
    other = remember(alice, "Tea is at six.")
    change = {"text": "Tea was at five.", "reason": "tense"}
    alice.client.patch(f"/v1/memories/{memory_id}", data=change, content_type="application/json")
    alice.post(f"/v1/memories/{memory_id}/supersede", {"by": other, "reason": "moved"})
    alice.post(f"/v1/memories/{other}/feedback", {"kind": "useful", "note": "yes"})
    alice.client.delete(f"/v1/memories/{memory_id}")
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"})

    body = alice.get(f"/v1/memories/{memory_id}/history").json()

    assert (body["memory"]["text"], body["memory"]["state"]) == ("Tea was at five.", "archived")
    assert [(row["text"], row["speaker"], row["reason"], row["revision"]) for row in body["versions"]] == [
        ("Tea is at five.", "Ann", "tense", 1)
    ]
    assert [event["event_type"] for event in body["events"]] == [
        "MEMORY_ARCHIVE", "MEMORY_SUPERSEDE", "MEMORY_EDIT", "INGEST",
    ]  # fmt: skip
    assert [event["details"].get("revision") for event in body["events"]] == [4, 3, 2, None]
    assert [(row["memory_id"], row["kind"], row["other_id"], row["reason"]) for row in body["links"]] == [
        (other, "supersedes", memory_id, "moved")
    ]
    assert body["feedback"] == []
    of_other = alice.get(f"/v1/memories/{other}/history").json()
    assert of_other["links"] == body["links"]
    assert [(row["kind"], row["note"]) for row in of_other["feedback"]] == [("useful", "yes")]
    assert len(alice.get(f"/v1/memories/{memory_id}/history", limit="1").json()["events"]) == 1


def test_decisions_are_found_by_an_index(db):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        # On a small table the planner may also like another index. Would it use this one if there were no other?
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indrelid = 'memory_auditlog'::regclass "
            "AND indexrelid <> 'audit_of_subject'::regclass"
        )
        cursor.execute(
            "EXPLAIN SELECT id FROM memory_auditlog WHERE namespace_id = 1 AND subject = 's' "
            f"AND NOT (event_type IN {FREQUENT}) ORDER BY id DESC LIMIT 50"
        )
        plan = str(cursor.fetchall())
    assert "Index" in plan
    assert "audit_of_subject" in plan
    assert "Sort" not in plan
