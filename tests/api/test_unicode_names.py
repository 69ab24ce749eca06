"""Names in different Unicode forms are the same name."""

from __future__ import annotations

import logging
import unicodedata
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from memory.models import AuditLog, Document, Erasure, Job, Memory, Namespace, Session, User
from memory.models.keys import new_id
from memory.services.erasure.erased_before import BroughtMemory, ErasedBefore
from memory.services.jobs import queue

NAME = "Zoë Ağaoğlu"
FORMS = [unicodedata.normalize(form, NAME) for form in ("NFC", "NFD")]


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["stored composed", "stored decomposed"])
def forms(request):
    """The stored form, and the form in the request."""
    return FORMS[request.param[0]], FORMS[request.param[1]]


def test_sessions_speakers_and_filters_are_found_in_either_form(alice, forms):
    stored, asked = forms
    turn = {"namespace": "alice", "text": f"Tea for {stored}.", "session_id": stored, "speaker": stored}
    assert alice.post("/v1/ingest", {**turn, "metadata": {"city": stored}}).status_code == 200

    for query in ({"session_id": asked}, {"speaker": asked}, {"text": asked}):
        assert len(alice.get("/v1/memories", namespace="alice", **query).json()["memories"]) == 1, query
    conditions = (
        {"speaker": asked},
        {"session_id": {"in": [asked]}},
        {"metadata.city": asked},
        {"metadata.city": {"in": ["Wels", asked]}},
        {"text": {"contains": asked}},
    )
    for condition in conditions:
        found = alice.post("/v1/search", {"namespace": "alice", "query": "tea", "filter": condition}).json()
        assert len(found["hits"]) == 1, condition
    other = {"metadata.city": {"ne": asked}}
    assert alice.post("/v1/search", {"namespace": "alice", "query": "tea", "filter": other}).json()["hits"] == []


def test_a_namespace_is_one_in_either_form(make_tenant, forms):
    everywhere = make_tenant("any", all_namespaces=True)
    stored, asked = forms
    batch = {"items": [{"namespace": stored, "text": "Tea is at five."}]}
    assert everywhere.post("/v1/ingest/batch", batch).status_code == 200

    assert len(everywhere.get("/v1/memories", namespace=asked).json()["memories"]) == 1


def test_texts_and_metadata_stay_as_they_were_sent(alice):
    sent = {"namespace": "alice", "text": f"Tea for {FORMS[1]}.", "metadata": {"name": FORMS[1]}}
    memory_id = alice.post("/v1/ingest", sent).json()["memory_id"]

    memory = alice.get(f"/v1/memories/{memory_id}").json()
    assert (memory["text"], memory["metadata"]["name"]) == (sent["text"], FORMS[1])


def test_names_of_earlier_versions_are_composed(alice, bob, remember):
    migration = import_module("memory.migrations.0069_compose_names")
    composed, decomposed = FORMS
    remember(alice, "Tea is at five.", speaker=composed)
    Memory.objects.across_namespaces().update(speaker=decomposed)
    Namespace.objects.filter(name="alice").update(name=decomposed)
    with connection.cursor() as cursor:
        cursor.execute(migration.COMPOSE_NAMESPACES)
        cursor.execute(migration.COMPOSE_SPEAKERS)

    assert Memory.objects.across_namespaces().get().speaker == composed
    assert set(Namespace.objects.values_list("name", flat=True)) >= {composed, "bob"}


SESSIONS = import_module("memory.migrations.0074_compose_sessions")


def decompose(*, only: str = FORMS[0]) -> None:
    """Change all names of sessions, documents and users to the form of earlier versions."""
    names = [*SESSIONS.SESSIONS.items(), *SESSIONS.UNIQUE.items(), ("memory_documentfile", "document_id")]
    with connection.cursor() as cursor:
        for table, name in names:
            cursor.execute(f"UPDATE {table} SET {name} = %s WHERE {name} = %s", [FORMS[1], only])
        cursor.execute("UPDATE memory_job SET arguments = jsonb_set(arguments, '{1}', to_jsonb(%s::text))", [FORMS[1]])


@pytest.fixture
def tables_of_then(db) -> None:
    """Provide a table that the migration reads and a later one deletes."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE memory_topicnode (namespace_id bigint, session text)")


def migrate() -> None:
    with connection.schema_editor() as editor:
        SESSIONS.compose_names(apps, editor)


def test_sessions_documents_and_users_of_earlier_versions_are_found_after_the_upgrade(alice, tables_of_then):
    composed, decomposed = FORMS
    alice.post("/v1/ingest", {"namespace": "alice", "session_id": composed, "text": "Tea is at five."})
    alice.post("/v1/query", {"namespace": "alice", "session_id": composed, "query": "When is tea?"})
    document = {"namespace": "alice", "session_id": composed, "document_id": composed, "text": "Cake is at six."}
    assert alice.post("/v1/documents", document).status_code == 200
    now = timezone.now()
    User.objects.create(
        namespace_id=alice.scope.namespace_id, name=composed, created_by="tests", created_at=now, updated_at=now
    )
    queue.enqueue(queue.CONDENSE, alice.scope.namespace_id, composed)
    decompose()
    assert alice.get("/v1/memories", namespace="alice", session_id=composed).json()["memories"] == []

    migrate()

    for asked in FORMS:
        found = alice.get("/v1/memories", namespace="alice", session_id=asked).json()["memories"]
        assert [one["text"] for one in found] == ["Tea is at five."]
        packs = alice.get("/v1/ops/context_packs", namespace="alice", session_id=asked).json()["context_packs"]
        assert [one["query_text"] for one in packs] == ["When is tea?"]
    turn = {"namespace": "alice", "session_id": decomposed, "text": "No, at six."}
    assert alice.post("/v1/ingest", turn).status_code == 200
    turns = Memory.objects.in_scope(alice.scope).in_session(composed).values_list("turn", flat=True)
    assert set(turns) == {1, 2}
    assert alice.post("/v1/documents", {**document, "document_id": decomposed}).status_code == 200
    assert Document.objects.in_scope(alice.scope).get().session == composed
    assert User.objects.across_namespaces().get().name == composed
    assert Job.objects.across_namespaces().get().arguments == [alice.scope.namespace_id, composed]


def test_a_session_whose_composed_name_is_taken_stays_and_is_reported(alice, remember, caplog, tables_of_then):
    composed, decomposed = FORMS
    remember(alice, "Tea is at five.", session="other")
    decompose(only="other")
    remember(alice, "Tea is at six.", session=composed)
    with caplog.at_level(logging.WARNING, "memos.migrations"):
        migrate()

    stored = Memory.objects.in_scope(alice.scope).values_list("session", "text")
    assert set(stored) == {(decomposed, "Tea is at five."), (composed, "Tea is at six.")}
    assert set(Session.objects.in_scope(alice.scope).values_list("name", flat=True)) == set(FORMS)
    assert [one.getMessage().split(",")[0] for one in caplog.records] == ["1 sessions keep a decomposed name (Unicode)"]


def test_every_column_of_a_session_is_composed():
    models = apps.get_app_config("memory").get_models()
    columns = {model._meta.db_table for model in models if any(one.name == "session" for one in model._meta.fields)}
    # The log is sealed.
    # A later migration deletes the nodes of topics.
    assert columns | {"memory_session", "memory_topicnode"} == SESSIONS.SESSIONS.keys() | {"memory_auditlog"}


def test_events_of_before_are_listed_under_either_form(alice):
    alice.post("/v1/ingest", {"namespace": "alice", "session_id": FORMS[1], "text": "Tea is at five."})
    [event] = AuditLog.objects.in_scope(alice.scope).filter(event_type="INGEST")
    event.pk, event.session = new_id(), FORMS[1]
    event.save(force_insert=True)

    for asked in FORMS:
        assert len(alice.get("/v1/ops/audit", namespace="alice", session_id=asked).json()["events"]) == 2


def test_an_erasure_of_a_session_holds_for_a_file_of_before(alice):
    now = timezone.now()
    Erasure.objects.create(
        namespace_id=alice.scope.namespace_id, namespace="alice", target="session", session=FORMS[0], named=1,
        missing=0, found=1, documents=0, reason="A test.", actor="tests", created_at=now,
    )  # fmt: skip
    brought = BroughtMemory(new_id(), FORMS[1], "", now - timedelta(days=1))
    other = BroughtMemory(new_id(), "other", "", now - timedelta(days=1))

    assert ErasedBefore(alice.scope).list_erased([brought, other]) == {brought.origin}
