"""POST /v1/memories/{memory_id}/supersede: the older memory stays but is no longer valid, and the two are linked."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from memory.models import AuditLog, Memory, MemoryLink, Session
from memory.services.index.recount import differences
from memory.stores import window

MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def older(alice, remember) -> str:
    return remember(alice, "I live in Paris.", speaker="Ann", occurred_at=MAY)


@pytest.fixture
def newer(alice, remember) -> str:
    return remember(alice, "I moved to Berlin.", speaker="Ann", occurred_at=JUNE)


def supersede(tenant, memory_id, body, **headers):
    return tenant.post(f"/v1/memories/{memory_id}/supersede", {"reason": "moved", **body}, **headers)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"by": str(uuid.uuid4()), "text": "x"}, "body"),
        ({"by": "x"}, "by"),
        ({"text": ""}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": "x", "occurred_at": "May"}, "occurred_at"),
        ({"text": "x", "metadata": []}, "metadata"),
        ({"by": str(uuid.uuid4()), "metadata": {"a": 1}}, "body"),
        ({"text": "x", "reason": ""}, "reason"),
    ],
)
def test_a_wrong_body_is_refused(alice, older, body, field):
    answer = supersede(alice, older, body)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field
    assert Memory.objects.across_namespaces().get().superseded_by is None


def test_what_is_not_there_or_another_tenants_is_a_404(alice, bob, older, remember, make_tenant):
    of_bob = remember(bob, "Berlin.")
    everywhere = make_tenant("any", all_namespaces=True)

    assert supersede(alice, older, {"by": str(uuid.uuid4())}).status_code == 404
    assert supersede(alice, older, {"by": of_bob}).status_code == 404
    assert supersede(bob, older, {"by": of_bob}).status_code == 404
    assert supersede(bob, older, {"text": "Berlin."}).status_code == 404
    assert supersede(everywhere, older, {"by": of_bob}).status_code == 404
    assert not MemoryLink.objects.across_namespaces().exists()
    assert Memory.objects.across_namespaces().count() == 2


def test_itself_cannot_supersede_it(alice, older):
    assert supersede(alice, older, {"by": older}).status_code == 400


def test_what_is_archived_cannot_supersede(alice, older, newer):
    alice.client.delete(f"/v1/memories/{newer}")

    answer = supersede(alice, older, {"by": newer})

    assert answer.status_code == 409
    assert "restore it first" in answer.json()["error"]["message"]


def test_what_was_superseded_by_another_is_a_409(alice, older, newer, remember):
    supersede(alice, older, {"by": newer})

    answer = supersede(alice, older, {"by": remember(alice, "I moved to Rome.")})

    assert answer.status_code == 409
    assert answer.json()["error"]["detail"] == {"superseded_by": newer}
    assert supersede(alice, older, {"by": newer}).json()["changed"] == []


def test_a_ring_is_a_409(alice, older, newer, remember):
    newest = remember(alice, "I moved to Rome.")
    supersede(alice, older, {"by": newer})
    supersede(alice, newer, {"by": newest})

    assert supersede(alice, newest, {"by": older}).status_code == 409
    assert Memory.objects.across_namespaces().get(pk=newest).superseded_by is None


def test_another_etag_is_a_412_and_no_memory_is_made(alice, older):
    assert supersede(alice, older, {"text": "I moved to Berlin."}, If_Match='"5"').status_code == 412

    assert Memory.objects.across_namespaces().count() == Session.objects.across_namespaces().get().message_count == 1
    assert differences([alice.scope.namespace_id]) == []


def test_the_older_one_ends_when_the_newer_begins(alice, older, newer):
    answer = supersede(alice, older, {"by": newer}, If_Match='"1"')

    assert answer.status_code == 200
    body = answer.json()
    assert (body["valid_to"], body["superseded_by"], body["revision"]) == (JUNE.isoformat(), newer, 2)
    old = Memory.objects.across_namespaces().get(pk=older)
    assert (old.text, old.state) == ("I live in Paris.", "active")
    assert old.superseded_at > JUNE
    link = MemoryLink.objects.across_namespaces().get()
    assert (str(link.memory_id), link.kind, str(link.other_id)) == (newer, "supersedes", older)
    assert (link.reason, link.confidence, link.actor) == ("moved", 1.0, alice.scope.actor)
    event = AuditLog.objects.across_namespaces().get(event_type="MEMORY_SUPERSEDE")
    after = {"valid_to": JUNE.isoformat(), "superseded_by": newer, "retired_statements": 0, "review": ""}
    assert event.details["after"] == after
    assert "Paris" not in str(event.details)
    assert Memory.objects.across_namespaces().get(pk=newer).revision == 1


def test_it_is_listed_as_holding_no_longer(alice, older, newer):
    supersede(alice, older, {"by": newer})

    def ids(**query):
        listed = alice.get("/v1/memories", namespace="alice", **query).json()["memories"]
        return [memory["id"] for memory in listed]

    assert ids(current="true") == [newer]
    assert ids(current="false") == [older]
    assert ids() == [newer, older]


def test_what_was_never_right_held_for_no_time(alice, newer, remember):
    later = remember(alice, "I live in Rome.", occurred_at=datetime(2026, 7, 1, tzinfo=UTC))

    assert supersede(alice, later, {"by": newer}).json()["valid_to"] == "2026-07-01T00:00:00+00:00"


def test_a_text_becomes_the_next_turn_of_the_session(alice, older):
    answer = supersede(
        alice, older, {"text": "I moved to Berlin.", "metadata": {"k": 1}, "occurred_at": "2026-06-01T00:00:00Z"}
    )

    assert answer.status_code == 200
    assert answer.json()["degraded"] == []
    new = Memory.objects.across_namespaces().exclude(pk=older).get()
    assert answer.json()["superseded_by"] == str(new.pk)
    assert (new.text, new.session, new.turn, new.role, new.speaker, new.metadata) == (
        "I moved to Berlin.", "s1", 2, "user", "Ann", {"k": 1},
    )  # fmt: skip
    assert (new.occurred_at, Memory.objects.across_namespaces().get(pk=older).valid_to) == (JUNE, JUNE)
    assert [message.text for message in window.read(alice.scope.namespace_id, "s1")][-1] == "I moved to Berlin."
    hits = alice.post("/v1/search", {"namespace": "alice", "query": "Berlin"}).json()["hits"]
    assert hits[0]["id"] == str(new.pk)
    assert AuditLog.objects.across_namespaces().filter(event_type="INGEST", subject=str(new.pk)).exists()
    assert differences([alice.scope.namespace_id]) == []


def test_one_idempotency_key_makes_one_memory(alice, older):
    first = supersede(alice, older, {"text": "I moved to Berlin."}, Idempotency_Key="k1")
    again = supersede(alice, older, {"text": "I moved to Berlin."}, Idempotency_Key="k1")

    assert first.json() == again.json()
    assert Memory.objects.across_namespaces().count() == 2
    assert len(window.read(alice.scope.namespace_id, "s1")) == 2


def test_a_chunk_is_superseded_by_a_memory_not_by_a_text(alice, newer):
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "d", "text": "Ann lives in Paris."})
    chunk = str(Memory.objects.across_namespaces().get(turn__lt=0).pk)

    refused = supersede(alice, chunk, {"text": "x"})

    assert refused.status_code == 400
    assert "document" in refused.json()["error"]["message"]
    assert supersede(alice, chunk, {"by": newer}).status_code == 200


def test_links_go_with_a_memory_and_what_it_superseded_stays_over(alice, older, newer, remember):
    of_other = remember(alice, "I moved to Rome.", session="s2")
    supersede(alice, older, {"by": of_other})

    alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s2", "confirm": True})

    assert not MemoryLink.objects.across_namespaces().exists()
    assert alice.get(f"/v1/memories/{older}").json()["superseded_by"] == of_other
    assert supersede(alice, older, {"by": newer}).status_code == 409
    alice.post(f"/v1/memories/{older}/restore", {"reason": "gone", "undo_supersede": True})
    assert supersede(alice, older, {"by": newer}).status_code == 200
