"""An upgrade of the analyser renews stored terms."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.models import Memory, Posting, UpkeepMark
from memory.services.index import renew_terms as renewal
from memory.services.memories import edit
from memory.types import system_access
from tests.job_queue import run_task

NOW = timezone.now()


def store_former_terms(**which: object) -> None:
    """Give memories the terms that an earlier analyser made from "Café"."""
    Memory.objects.across_namespaces().filter(**which).update(terms=["café"], length=1)
    Posting.objects.across_namespaces().filter(memory__in=Memory.objects.across_namespaces().filter(**which)).delete()
    for memory in Memory.objects.across_namespaces().filter(state="active", **which):
        Posting.objects.create(
            namespace_id=memory.namespace_id, term="café", memory_id=memory.pk, frequency=1, length=1
        )


def list_found(client, text: str) -> list[str]:
    return [one["text"] for one in client.get("/v1/memories", namespace="alice", text=text).json()["memories"]]


@pytest.mark.django_db
def test_former_terms_are_renewed_once(alice, bob, remember, monkeypatch):
    monkeypatch.setattr(renewal, "BATCH", 2)
    for number in range(3):
        remember(alice, f"Café {number}")
    remember(bob, "Café of Bob")
    archived = remember(alice, "An archived Café")
    edit.archive(system_access("test"), memory_ids=[archived], reason="x", now=NOW)
    store_former_terms()
    assert list_found(alice, "cafe") == []

    assert run_task("renew_terms") == 5

    assert len(list_found(alice, "cafe")) == 3
    assert not Posting.objects.across_namespaces().filter(term="café").exists()
    assert not Memory.objects.across_namespaces().filter(terms__contains=["café"]).exists()
    states = {"namespace": "alice", "text": "cafe", "state": "archived"}
    assert len(alice.get("/v1/memories", **states).json()["memories"]) == 1
    store_former_terms()
    assert run_task("renew_terms") == 0


@pytest.mark.django_db
def test_an_interrupted_run_goes_on(alice, remember, monkeypatch):
    monkeypatch.setattr(renewal, "BATCH", 1)
    for number in range(2):
        remember(alice, f"Café {number}")
    store_former_terms()

    assert renewal.renew_terms(now=NOW, seconds=0) == 0
    assert UpkeepMark.objects.get(name=f"terms {renewal.VERSION}").trusted_at is None
    assert renewal.renew_terms(now=NOW) == 2
