"""Documents that are written, replaced and deleted at the same time: every intermediate state is complete."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.models import AuditLog, Document, DocumentChunk, Memory, MemoryVector, Posting
from memory.services.index.embedding_model import active_model
from memory.services.index.recount import differences
from memory.services.ingestion.documents import delete_document, put_document
from memory.services.sessions.reset import reset_session
from memory.types import NewDocument
from tests.threads import together

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = ["\n\n".join(f"Text {text} has paragraph {n}. " * 20 for n in range(3 + text)) for text in range(6)]


@pytest.fixture(autouse=True)
def _model(transactional_db: None) -> None:
    active_model()


def put(tenant: Any, text: str, **fields: Any) -> Any:
    return put_document(tenant.scope, document=NewDocument(text=text, document_id="d", **fields), now=timezone.now())


def assert_one_whole_version_or_none(tenant: Any) -> None:
    row = Document.objects.across_namespaces().filter(document_id="d").first()
    chunks = list(DocumentChunk.objects.across_namespaces().order_by("index").select_related("memory"))
    memories = list(Memory.objects.across_namespaces())
    assert len(memories) == len(chunks)
    assert set(MemoryVector.objects.across_namespaces().values_list("memory_id", flat=True)) == {
        memory.pk for memory in memories
    }
    assert Posting.objects.across_namespaces().count() == sum(len(memory.terms) for memory in memories)
    assert differences([tenant.scope.namespace_id]) == []
    if row is None:
        assert not chunks
        return
    (text,) = [text for text in TEXTS if text[:6] == chunks[0].memory.text[:6]]
    assert row.characters == len(text)
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [chunk.memory.text for chunk in chunks]
    assert {chunk.memory.metadata["document"]["version"] for chunk in chunks} == {row.version}


def test_versions_that_come_at_once_follow_each_other(alice):
    stored = together(6, lambda number: put(alice, TEXTS[number]))

    assert sorted(one.version for one in stored) == [1, 2, 3, 4, 5, 6]
    assert Document.objects.across_namespaces().get().version == 6
    assert_one_whole_version_or_none(alice)
    assert AuditLog.objects.across_namespaces().filter(event_type="DOCUMENT_INGEST").count() == 6


def test_one_key_sent_many_times_at_once_is_one_version_and_one_answer(alice):
    body = {"namespace": "alice", "document_id": "d", "text": TEXTS[0]}
    headers = {"Authorization": f"Bearer {alice.token}", "Idempotency-Key": "k-1"}

    def send(_: int) -> Any:
        return Client().post("/v1/documents", data=body, content_type="application/json", headers=headers)

    answers = together(6, send)

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert Document.objects.across_namespaces().get().version == 1
    assert_one_whole_version_or_none(alice)


def test_writes_deletes_and_resets_at_once_leave_a_whole_document_or_none(alice):
    put(alice, TEXTS[0], session="s1")

    def act(number: int) -> None:
        if number % 3 == 0:
            put(alice, TEXTS[number], session="s1")
        elif number % 3 == 1:
            delete_document(alice.scope, document_id="d", now=timezone.now())
        else:
            reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())

    for _ in range(3):
        together(6, act)
        assert_one_whole_version_or_none(alice)
