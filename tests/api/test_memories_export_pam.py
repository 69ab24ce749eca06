"""GET /v1/memories/export?format=pam: the reference package of PAM reads it, and an import restores it."""

from __future__ import annotations

import json

import portable_ai_memory
import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.ingestion.ingest import ingest
from memory.types import NewMemory
from tests.api.test_imports import send_text, show, work

EXPORT = "/v1/memories/export"


@pytest.fixture
def garden(alice, remember):
    remember(alice, "Tulips stand in bed three.", metadata={"colour": "red", "tags": ["garden", "No tag"]})
    remember(alice, "Sie gießt sie am Morgen. 她早上浇水。", session="night shift", speaker="Ada")
    remember(alice, "The well is dry since May.")
    Memory.objects.in_scope(alice.scope).filter(text__startswith="The well").update(state="archived")
    return alice


def export(tenant, **query):
    answer = tenant.get(EXPORT, namespace=tenant.scope.namespace, format="pam", **query)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"].endswith('.pam.json"')
    return b"".join(answer.streaming_content)


def test_the_package_finds_it_valid(garden):
    store = portable_ai_memory.load_dict(json.loads(export(garden, state="any")))
    result = portable_ai_memory.validate(store)

    assert result.is_valid, str(result)
    assert store.owner.id == "alice"
    assert [memory.status for memory in store.memories] == ["active", "active", "archived"]
    assert store.memories[0].tags == ["garden"]
    assert store.integrity.total_memories == 3


def test_nothing_to_export_is_valid_too(alice):
    store = portable_ai_memory.load_dict(json.loads(export(alice)))

    assert portable_ai_memory.validate(store).is_valid
    assert store.memories == []


def test_a_number_without_a_canonical_form_costs_only_the_checksum(alice):
    memory = NewMemory("s1", "user", "The meter says much.", metadata={"meter": 2**60})
    ingest(alice.scope, memory=memory, now=timezone.now())

    store = portable_ai_memory.load_dict(json.loads(export(alice)))
    assert store.integrity is None
    assert portable_ai_memory.validate(store).is_valid


def test_an_import_brings_it_back_once(garden, bob):
    file = export(garden, state="any").decode()
    first = send_text(bob, file)
    work(bob)
    again = send_text(bob, file)
    work(bob)

    assert (show(bob, first)["format"], show(bob, first)["new"], show(bob, first)["left_out"]) == (
        "pam",
        2,
        {"archived": 1},
    )
    assert show(bob, again)["new"] == 0
    columns = ("session", "role", "speaker", "text", "occurred_at")
    there, came = (
        list(Memory.objects.in_scope(tenant.scope).filter(state="active").order_by("pk").values_list(*columns))
        for tenant in (garden, bob)
    )
    assert came == there
    assert Memory.objects.in_scope(bob.scope).earliest("pk").metadata["colour"] == "red"


def test_what_was_changed_on_the_way_is_refused(garden, bob):
    file = export(garden).decode().replace("bed three", "bed four")
    answer = send_text(bob, file)
    work(bob)

    report = show(bob, answer)
    assert (report["new"], report["unreadable"]) == (1, 1)
    assert "content_hash" in report["faults"][0]["reason"]
