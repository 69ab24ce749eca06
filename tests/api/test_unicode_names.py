"""Names are one name in whichever form of Unicode a client sends them."""

from __future__ import annotations

import unicodedata
from importlib import import_module

import pytest
from django.db import connection

from memory.models import Memory, Namespace

NAME = "Zoë Ağaoğlu"
FORMS = [unicodedata.normalize(form, NAME) for form in ("NFC", "NFD")]


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["stored composed", "stored decomposed"])
def forms(request):
    """The form that is stored, and the one that is asked for."""
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
