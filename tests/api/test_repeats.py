"""Repeated texts are found once; texts that differ by one character, or have another owner, are found separately."""

from __future__ import annotations

import pytest

from memory.text.statement_form import statement_form
from tests.text.test_statement_form import DIFFERENT


def search(tenant, query: str, **more) -> list[dict]:
    return tenant.post("/v1/search", {"namespace": "alice", "query": query, "top_k": 50, **more}).json()["hits"]


def test_no_opposite_is_folded(alice):
    """Store all pairs in one conversation by one speaker: every text is a separate hit."""
    texts = list({statement_form(text): text for pair in DIFFERENT for text in pair}.values())
    turns = [{"namespace": "alice", "session_id": "s", "text": text, "speaker": "Ann"} for text in texts]
    for first in range(0, len(turns), 40):
        assert alice.post("/v1/ingest/batch", {"items": turns[first : first + 40]}).status_code == 200

    for pair in DIFFERENT:
        hits = search(alice, pair[0])
        assert not any(hit["explanation"]["restated_by"] for hit in hits), pair
        assert len(hits) == len({hit["text"] for hit in hits})


@pytest.mark.parametrize("key", ["message_id", "messageId", "msg-id", "timestamp", "sent_at"])
def test_what_each_message_has_of_its_own_keeps_no_repeat(alice, key):
    for number in range(3):
        turn = {"namespace": "alice", "text": "The kettle is blue.", "metadata": {key: f"m{number}", "user_id": "ann"}}
        assert alice.post("/v1/ingest", turn).status_code == 200

    [hit] = search(alice, "kettle")
    assert len(hit["explanation"]["restated_by"]) == 2
    # A filter by a message's own id finds that message.
    for number in range(3):
        [hit] = search(alice, "kettle", filter={f"metadata.{key}": f"m{number}"})
        assert hit["metadata"][key] == f"m{number}"


@pytest.mark.parametrize("key", ["user_id", "agent_id", "scope", "store_key", "id", "key", "customer"])
def test_records_of_other_users_and_keys_are_not_folded(alice, key):
    for owner in ("ann", "bob"):
        turn = {"namespace": "alice", "text": "The kettle is blue.", "metadata": {key: owner, "import": {"of": owner}}}
        assert alice.post("/v1/ingest", turn).status_code == 200
        assert alice.post("/v1/ingest", turn).status_code == 200

    hits = search(alice, "kettle")
    assert sorted(hit["metadata"][key] for hit in hits) == ["ann", "bob"]
    assert [len(hit["explanation"]["restated_by"]) for hit in hits] == [1, 1]


def test_documents_of_the_same_text_are_not_folded(alice):
    for name in ("first", "second"):
        body = {"namespace": "alice", "document_id": name, "text": "The kettle is blue."}
        assert alice.post("/v1/documents", body).status_code in (200, 201)

    assert {hit["metadata"]["document"]["document_id"] for hit in search(alice, "kettle")} == {"first", "second"}
