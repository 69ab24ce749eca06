"""/v1/documents: refusals first, then storing, finding, replacing and deleting."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.errors import EmbeddingUnavailable
from memory.models import (
    AuditLog,
    Document,
    DocumentChunk,
    Memory,
    MemoryVector,
    NamespaceStat,
    Posting,
    Session,
)
from memory.services.index.missing_vectors import embed_pending
from memory.services.index.recount import differences
from memory.services.ingestion import documents
from memory.services.memories import edit
from memory.services.summaries import condense
from memory.stores import window
from memory.types import system_access
from tests.job_queue import queued_jobs

FILLER = "Words of this section stand here and there, and they fill a line. " * 14
HANDBOOK = f"""Foreword of the handbook.

# Leave

{FILLER}

## Holidays

Everyone has thirty days of holidays. {FILLER}

# Travel

Trains are booked by the zeppelin desk. {FILLER}
"""
PUT = {"namespace": "alice", "document_id": "handbook", "title": "Staff handbook", "format": "markdown",
       "text": HANDBOOK, "source": "https://example.org/handbook", "metadata": {"team": "people"}}  # fmt: skip

WRONG = [
    ({"text": ""}, "text", "must not be empty."),
    ({"text": 7}, "text", "must be a string."),
    ({"text": "x" * 1_000_001}, "text", "has more than 1000000 characters."),
    ({"text": "a\0b"}, "text", "Null characters are not allowed."),
    ({"namespace": ""}, "namespace", "must not be empty."),
    ({"document_id": ""}, "document_id", "must not be empty."),
    ({"document_id": 5}, "document_id", "must be a string."),
    ({"document_id": "d" * 129}, "document_id", "has more than 128 characters."),
    ({"title": "t" * 301}, "title", "has more than 300 characters."),
    ({"source": "s" * 2001}, "source", "has more than 2000 characters."),
    ({"session_id": "s" * 129}, "session_id", "has more than 128 characters."),
    ({"data": []}, "data", "must be an object."),
    ({"data": {"x": "x" * 524_288}}, "data", "has more than 524288 bytes as JSON."),
    ({"format": "pdf"}, "format", "must be one of text, markdown."),
    ({"metadata": []}, "metadata", "must be an object."),
    ({"metadata": {"k": "x" * 9000}}, "metadata", "has more than 8192 bytes as JSON."),
    (
        {"metadata": {"document": 1}},
        "metadata",
        "must not hold 'document': MemOS itself says something under that name.",
    ),
    ({"occurred_at": "May"}, "occurred_at", "must be an ISO 8601 date and time such as 2026-05-08T13:56:00Z."),
]


@pytest.mark.parametrize(("change", "field", "problem"), WRONG, ids=[f"{f}-{i}" for i, (_, f, _) in enumerate(WRONG)])
def test_a_wrong_field_is_named_and_nothing_is_kept(alice, change, field, problem):
    answer = alice.post("/v1/documents", PUT | change)

    assert answer.status_code == 400
    assert {"field": field, "problem": problem} in answer.json()["error"]["detail"]
    assert not Document.objects.across_namespaces().exists()
    assert not Memory.objects.across_namespaces().exists()


def test_a_text_of_white_space_is_refused(alice):
    answer = alice.post("/v1/documents", PUT | {"text": " \n" * 5000})

    assert answer.status_code == 400
    assert "white space" in answer.json()["error"]["message"]
    assert not Document.objects.across_namespaces().exists()


def test_who_may_not_is_refused(alice, bob, olga, make_tenant):
    alice.post("/v1/documents", PUT)
    reader = make_tenant("alice", scopes=("read",))
    path = "/v1/documents/handbook?namespace=alice"

    assert reader.post("/v1/documents", PUT).status_code == 403
    assert reader.client.delete(path).status_code == 403
    assert bob.post("/v1/documents", PUT).status_code == 404
    assert bob.client.get(path).status_code == bob.client.delete(path).status_code == 404
    assert bob.get("/v1/documents", namespace="alice").status_code == 404
    assert bob.client.get("/v1/documents/handbook?namespace=bob").status_code == 404
    assert bob.client.delete("/v1/documents/handbook?namespace=bob").json()["deleted"] is False
    for method in (olga.get, olga.delete):
        assert method(path).status_code == 401
    assert reader.client.get(path).status_code == 200
    assert Document.objects.across_namespaces().get().version == 1


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/v1/documents", {"namespace": "alice", "limit": "0"}, "limit"),
        ("/v1/documents", {"namespace": "alice", "cursor": "x"}, "cursor"),
        ("/v1/documents/handbook", {"namespace": "alice", "cursor": "-1"}, "cursor"),
        ("/v1/documents/handbook", {"namespace": "alice", "limit": "201"}, "limit"),
        (f"/v1/documents/{'d' * 129}", {"namespace": "alice"}, "document_id"),
    ],
)
def test_a_wrong_parameter_is_named(alice, path, query, field):
    answer = alice.get(path, **query)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == field


def test_a_document_that_is_not_there_is_a_404(alice):
    answer = alice.get("/v1/documents/nothing", namespace="alice")

    assert answer.status_code == 404
    assert "'nothing'" in answer.json()["error"]["message"]


def put(tenant, **changes):
    answer = tenant.post("/v1/documents", {**PUT, "namespace": tenant.scope.namespace, **changes})
    assert answer.status_code == 200, answer.content
    return answer.json()


def whole(tenant, document_id="handbook", **query):
    return tenant.get(f"/v1/documents/{document_id}", namespace=tenant.scope.namespace, limit="200", **query).json()


def ask(tenant, text, *, session="elsewhere", top_k=3):
    body = {"namespace": tenant.scope.namespace, "session_id": session, "query": text, "top_k": top_k}
    return tenant.post("/v1/query", body).json()["raw_chunks"]


def assert_consistent(tenant):
    """Check that counters, postings, vectors and chunk rows agree with the stored memories."""
    mine = {"namespace_id": tenant.scope.namespace_id}
    assert differences([tenant.scope.namespace_id]) == []
    memories = list(Memory.objects.filter(**mine))
    assert Posting.objects.filter(**mine).count() == sum(len(memory.terms) for memory in memories)
    identities = {memory.pk for memory in memories}
    assert set(MemoryVector.objects.filter(**mine).values_list("memory_id", flat=True)) <= identities
    assert set(DocumentChunk.objects.filter(**mine).values_list("memory_id", flat=True)) <= identities


def test_chunks_are_exact_slices_that_know_their_place(alice):
    stored = put(alice)

    assert stored == {
        "document_id": "handbook",
        "version": 1,
        "chunks": Memory.objects.across_namespaces().count(),
        "characters": len(HANDBOOK),
        "accepted": True,
        "verdict": "accept",
        "reasons": [],
        "quarantine_id": None,
        "degraded": [],
    }
    body = whole(alice)
    assert body["document"] | {"created_at": 0, "updated_at": 0, "occurred_at": 0} == {
        "document_id": "handbook",
        "version": 1,
        "title": "Staff handbook",
        "source": "https://example.org/handbook",
        "format": "markdown",
        "session_id": None,
        "metadata": {"team": "people"},
        "data": {},
        "characters": len(HANDBOOK),
        "chunk_count": stored["chunks"],
        "pending_embeddings": 0,
        "file_id": None,
        "created_at": 0,
        "updated_at": 0,
        "occurred_at": 0,
    }
    chunks = body["chunks"]
    assert [chunk["index"] for chunk in chunks] == list(range(stored["chunks"]))
    assert all(HANDBOOK[chunk["start"] : chunk["end"]] == chunk["text"] for chunk in chunks)
    assert (chunks[0]["heading"], chunks[1]["heading"]) == ("", "Leave")
    assert {chunk["heading"] for chunk in chunks} == {"", "Leave", "Leave > Holidays", "Travel"}
    memory = Memory.objects.across_namespaces().get(pk=chunks[1]["memory_id"])
    assert memory.text.startswith("# Leave")
    assert (memory.role, memory.speaker, memory.turn) == ("system", "Staff handbook", 1 - len(chunks))
    assert_consistent(alice)


def test_a_query_names_the_document_and_the_place(alice, remember):
    remember(alice, "The zeppelin is late.")
    put(alice)

    (hit,) = [hit for hit in ask(alice, "Who books trains? The zeppelin desk?") if "desk" in hit["text"]]

    place = hit["metadata"]["document"]
    assert HANDBOOK[place["start"] : place["end"]] == hit["text"]
    assert place | {"index": 0, "start": 0, "end": 0} == {
        "document_id": "handbook",
        "title": "Staff handbook",
        "source": "https://example.org/handbook",
        "version": 1,
        "index": 0,
        "start": 0,
        "end": 0,
        "heading": "Travel",
    }
    assert hit["metadata"]["team"] == "people"
    assert hit["id"] == whole(alice)["chunks"][place["index"]]["memory_id"]


def test_a_search_can_be_narrowed_to_one_document(alice, remember):
    remember(alice, "The zeppelin desk is closed.")
    put(alice)
    put(alice, document_id="other")

    narrowed = {"metadata.document.document_id": "other"}
    question = {"namespace": "alice", "query": "zeppelin desk", "top_k": 50, "filter": narrowed}
    hits = alice.post("/v1/search", question).json()["hits"]

    assert len(hits) > 2
    assert {hit["id"] for hit in hits} <= {chunk["memory_id"] for chunk in whole(alice, "other")["chunks"]}
    assert {hit["metadata"]["document"]["document_id"] for hit in hits} == {"other"}


def test_title_and_headings_are_embedded_and_indexed_with_the_chunk(alice):
    put(alice, title="Quokka manual", text=f"# Walrus\n\n{FILLER}", format="markdown")

    last = whole(alice)["chunks"][-1]
    assert "Walrus" not in last["text"]
    assert ask(alice, "quokka walrus", top_k=5)[0]["score"] > 0.2
    terms = set(Posting.objects.across_namespaces().filter(memory_id=last["memory_id"]).values_list("term", flat=True))
    assert {"quokka", "walrus"} <= terms
    # A correction by staff keeps the heading.
    edit.edit(
        system_access("staff:ann"),
        memory_id=uuid.UUID(last["memory_id"]),
        text="Short.",
        reason="x",
        now=timezone.now(),
    )
    assert {"quokka", "manual", "walrus", "short"} == set(
        Memory.objects.across_namespaces().get(pk=last["memory_id"]).terms
    )


def test_the_same_id_again_replaces_the_former_version(alice, bob):
    put(bob)
    first = put(alice)
    former = whole(alice)

    second = put(alice, title="New handbook", text="# Travel\n\nBikes are allowed.", metadata={}, format="markdown")

    assert (second["version"], second["chunks"]) == (2, 1)
    assert Document.objects.filter(namespace_id=alice.scope.namespace_id).count() == 1
    now = whole(alice)
    assert now["document"]["created_at"] == former["document"]["created_at"]
    assert [chunk["text"] for chunk in now["chunks"]] == ["# Travel\n\nBikes are allowed."]
    assert not [hit for hit in ask(alice, "zeppelin desk") if "zeppelin" in hit["text"]]
    assert_consistent(alice)
    assert Memory.objects.filter(namespace_id=bob.scope.namespace_id).count() == first["chunks"]
    assert [event.details["replaced_chunks"] for event in events("DOCUMENT_INGEST", alice)] == [0, first["chunks"]]


def events(kind, tenant):
    return list(AuditLog.objects.filter(event_type=kind, namespace_id=tenant.scope.namespace_id).order_by("id"))


def test_a_replacement_that_fails_leaves_the_former_version(alice, monkeypatch):
    put(alice)
    before = whole(alice)

    def fail(*arguments, **options):
        raise RuntimeError("no")

    monkeypatch.setattr(documents.index, "change_counts", fail)
    with pytest.raises(RuntimeError):
        put(alice, text="Another text")

    assert whole(alice) == before
    assert_consistent(alice)


def test_data_are_kept_with_the_document_and_carried_by_no_chunk(alice):
    data = {"content": "A line of a file.\n" * 10_000, "n": [1, 2.5, None]}
    assert alice.post("/v1/documents", {**PUT, "data": data}).status_code == 200

    found = alice.get("/v1/documents/handbook?namespace=alice").json()["document"]
    [listed] = alice.get("/v1/documents?namespace=alice").json()["documents"]
    assert found["data"] == data
    assert found["metadata"] == listed["metadata"] == {"team": "people"}
    assert "data" not in listed
    assert all("data" not in chunk.metadata["document"] for chunk in Memory.objects.across_namespaces())

    alice.post("/v1/documents", PUT)
    assert alice.get("/v1/documents/handbook?namespace=alice").json()["document"]["data"] == {}


def test_the_gate_looks_at_data_too(alice):
    stored = alice.post("/v1/documents", {**PUT, "data": {"password": "hunter2-hunter2", "kept": 1}}).json()

    data = alice.get("/v1/documents/handbook?namespace=alice").json()["document"]["data"]
    assert stored["verdict"] == "accept_redacted"
    assert "hunter2" not in str(data)
    assert data["kept"] == 1


def test_a_document_without_id_gets_one_and_ids_may_hold_slashes(alice):
    nameless = {key: value for key, value in PUT.items() if key != "document_id"}
    given, again = (alice.post("/v1/documents", nameless).json() for _ in range(2))
    put(alice, document_id="https://example.org/a?b=c")

    assert given["document_id"] != again["document_id"]
    assert whole(alice, given["document_id"])["document"]["version"] == 1
    assert whole(alice, "https://example.org/a%3Fb=c")["document"]["document_id"] == "https://example.org/a?b=c"


def test_deleting_removes_everything_and_may_be_repeated(alice, remember):
    kept = remember(alice, "The zeppelin is late.")
    chunks = put(alice)["chunks"]
    archived = whole(alice)["chunks"][0]["memory_id"]
    edit.archive(system_access("staff:ann"), memory_ids=[archived], reason="x", now=timezone.now())

    path = "/v1/documents/handbook?namespace=alice"
    assert alice.client.delete(path).json() == {"document_id": "handbook", "deleted": True, "chunks": chunks}
    assert alice.client.delete(path).json() == {"document_id": "handbook", "deleted": False, "chunks": 0}

    assert [str(identity) for identity in Memory.objects.across_namespaces().values_list("pk", flat=True)] == [kept]
    assert not Document.objects.across_namespaces().exists()
    assert not DocumentChunk.objects.across_namespaces().exists()
    assert MemoryVector.objects.across_namespaces().count() == 1
    assert sum(stat.memories for stat in NamespaceStat.objects.all()) == 1
    assert_consistent(alice)
    (event,) = events("DOCUMENT_DELETE", alice)
    assert (event.subject, event.details["chunks"]) == ("handbook", chunks)
    assert put(alice)["version"] == 1


def test_a_deleted_memory_takes_its_chunk_row_with_it(alice):
    put(alice)
    first = whole(alice)["chunks"][0]

    Memory.objects.across_namespaces().filter(pk=first["memory_id"])._raw_delete("default")

    assert whole(alice)["chunks"][0]["index"] == 1


def test_chunks_fill_no_window_and_ask_for_no_summary(alice, remember, settings):
    settings.MEMOS_POLICY = settings.MEMOS_POLICY | {"summary.messages": 2}
    remember(alice, "hello", session="talk")
    put(alice, session_id="talk", document_id="a")
    put(alice, session_id="talk", document_id="b")

    assert Session.objects.across_namespaces().get().message_count == 1
    assert len(window.read(alice.scope.namespace_id, "talk")) == 1
    assert condense.condense_session(alice.scope, session="talk", now=timezone.now())[0].token_original < 10
    assert not queued_jobs().exists()


def test_a_turn_said_in_the_chunks_own_session_stands_beside_them(alice, remember):
    put(alice)
    own = Memory.objects.across_namespaces().first().session

    remember(alice, "an answer", session=own)
    second = put(alice, text="short")

    assert Memory.objects.across_namespaces().get(text="an answer").turn == 1
    assert second["version"] == 2
    assert_consistent(alice)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_reset_of_its_session_deletes_a_document(alice, remember, dry_run):
    remember(alice, "hello", session="talk")
    chunks = put(alice, session_id="talk")["chunks"]
    put(alice, document_id="other")

    body = {"namespace": "alice", "session_id": "talk", "confirm": True, "dry_run": dry_run}
    counts = alice.post("/v1/sessions/reset", body).json()["deleted_counts"]

    assert (counts["memories"], counts["documents"]) == (chunks + 1, 1)
    left = list(Document.objects.across_namespaces().order_by("document_id").values_list("document_id", flat=True))
    assert left == (["handbook", "other"] if dry_run else ["other"])
    assert Memory.objects.across_namespaces().count() == (2 * chunks + 1 if dry_run else chunks)
    assert_consistent(alice)


def test_a_reset_of_the_chunks_own_session_deletes_the_document(alice):
    chunks = put(alice)["chunks"]
    body = {"namespace": "alice", "session_id": Memory.objects.across_namespaces().first().session, "confirm": True}

    planned = alice.post("/v1/sessions/reset", body | {"dry_run": True}).json()["deleted_counts"]
    done = alice.post("/v1/sessions/reset", body).json()["deleted_counts"]

    assert planned["memories"] == done["memories"] == chunks
    assert not Document.objects.across_namespaces().exists()
    assert_consistent(alice)


def test_a_repeated_request_is_answered_as_the_first_and_stores_nothing(alice):
    first = alice.post("/v1/documents", PUT, Idempotency_Key="k1").json()
    put(alice, text="newer")
    again = alice.post("/v1/documents", PUT, Idempotency_Key="k1").json()
    other = alice.post("/v1/documents", PUT | {"title": "other"}, Idempotency_Key="k1")

    assert first == again
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert Document.objects.across_namespaces().get().version == 2
    assert [chunk["text"] for chunk in whole(alice)["chunks"]] == ["newer"]


def test_a_large_document_is_stored_at_once_and_embedded_by_the_worker(alice, monkeypatch):
    monkeypatch.setattr(documents, "INLINE_CHUNKS", 2)

    stored = put(alice)

    assert stored["degraded"] == ["embedding_delayed"]
    assert not MemoryVector.objects.across_namespaces().exists()
    assert queued_jobs().count() == 1
    assert whole(alice)["document"]["pending_embeddings"] == stored["chunks"]
    assert [hit for hit in ask(alice, "zeppelin desk") if "zeppelin" in hit["text"]]
    assert embed_pending() == stored["chunks"]
    assert whole(alice)["document"]["pending_embeddings"] == 0
    inline = (
        MemoryVector.objects.across_namespaces()
        .get(memory_id=whole(alice)["chunks"][1]["memory_id"], passage=0)
        .embedding
    )
    monkeypatch.undo()
    put(alice)
    assert (
        MemoryVector.objects.across_namespaces()
        .get(memory_id=whole(alice)["chunks"][1]["memory_id"], passage=0)
        .embedding
        == inline
    )


def test_with_the_provider_away_it_is_stored(alice, monkeypatch):
    def away(self, texts):
        raise EmbeddingUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr("memory.providers.embedding.hash.HashEmbedding.embed", away)
        assert put(alice)["degraded"] == ["embedding_delayed"]

    assert embed_pending() == Memory.objects.across_namespaces().count()


def test_pages_of_documents_and_of_chunks_join_without_gaps(alice):
    for number in range(5):
        put(alice, document_id=f"d{number}", text=f"text {number}", session_id="even" if number % 2 == 0 else "")
    put(alice)

    seen, cursor = [], {}
    while True:
        page = alice.get("/v1/documents", namespace="alice", limit="2", **cursor).json()
        seen += [row["document_id"] for row in page["documents"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == ["handbook", "d4", "d3", "d2", "d1", "d0"]
    even = alice.get("/v1/documents", namespace="alice", session_id="even").json()["documents"]
    assert [row["document_id"] for row in even] == ["d4", "d2", "d0"]
    assert {row["chunk_count"] for row in even} == {1}

    indexes, cursor = [], {}
    while True:
        page = alice.get("/v1/documents/handbook", namespace="alice", limit="3", **cursor).json()
        indexes += [chunk["index"] for chunk in page["chunks"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": str(page["next_cursor"])}
    assert indexes == list(range(page["document"]["chunk_count"]))
    assert len(indexes) > 3


def test_when_it_speaks_of_is_kept(alice):
    put(alice, occurred_at="2024-05-01T10:00:00+02:00")

    moment = datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert Document.objects.across_namespaces().get().occurred_at == moment
    assert set(Memory.objects.across_namespaces().values_list("occurred_at", flat=True)) == {moment}
