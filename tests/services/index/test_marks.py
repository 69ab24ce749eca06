"""The embedding status of memories matches the vectors, however these are stored, changed or switched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from memory import caches
from memory.enums import EmbeddingState
from memory.errors import EmbeddingRefused, EmbeddingUnavailable
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.providers.embedding.hash import HashEmbedding
from memory.providers.embedding.registry import provider_for
from memory.services.index import embedding, embedding_model, marks, missing_vectors
from memory.services.index.missing_vectors import embed_pending, pending_count, reembed
from tests.job_queue import run_task
from tests.vectorless import take_vectors


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    monkeypatch.setattr(missing_vectors.time, "sleep", lambda _: None)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make the provider unavailable until the patch is undone."""

    def refuse(*_: object) -> np.ndarray:
        raise EmbeddingUnavailable("away")

    monkeypatch.setattr(HashEmbedding, "embed", refuse)
    return monkeypatch


_embed = HashEmbedding.embed


def picky(provider: HashEmbedding, texts: Sequence[str]) -> np.ndarray:
    """Refuse texts that contain the word "refused"."""
    if any("refused" in text for text in texts):
        raise EmbeddingRefused("too odd")
    return _embed(provider, texts)


def marked() -> dict[str, bool]:
    return dict(Memory.objects.across_namespaces().values_list("text", "embedded"))


def switch() -> None:
    reembed(provider="hash", name="hash-64", actor="tests", now=timezone.now, progress=lambda done, total: None)


def test_what_ingest_embeds_is_marked_and_what_it_cannot_waits(alice, remember, monkeypatch):
    remember(alice, "before")
    with monkeypatch.context() as outage:
        outage.setattr(embedding, "embed_memories", lambda _, **__: (_ for _ in ()).throw(EmbeddingUnavailable("away")))
        remember(alice, "during")
    assert marked() == {"before": True, "during": False}
    assert not marks.wrong()

    assert embed_pending() == 1

    assert marked() == {"before": True, "during": True}
    assert not marks.wrong()


def test_the_first_memory_of_a_server_whose_provider_is_away_waits(alice, remember, away):
    EmbeddingModel.objects.all().delete()
    caches.forget_all()
    remember(alice, "the very first")
    assert marked() == {"the very first": False}
    assert pending_count() == 1
    assert not marks.wrong()


def test_a_document_is_marked_as_far_as_it_is_embedded(alice, remember, away):
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "late", "text": "A chunk that waits."})
    assert marked() == {"A chunk that waits.": False}
    away.undo()
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "now", "text": "A chunk that is found."})
    assert marked() == {"A chunk that waits.": False, "A chunk that is found.": True}
    assert not marks.wrong()


def test_a_text_that_the_other_model_refuses_waits_after_the_switch(alice, remember, monkeypatch):
    remember(alice, "welcome")
    remember(alice, "refused")
    monkeypatch.setattr(HashEmbedding, "embed", picky)
    switch()

    assert marked() == {"welcome": True, "refused": False}
    assert not marks.wrong()


def test_what_waited_before_a_switch_does_not_wait_after_it(alice, remember):
    take_vectors(remember(alice, "late"))
    assert marked() == {"late": False}
    switch()
    assert marked() == {"late": True}
    assert not marks.wrong()


def test_a_process_that_knows_the_former_model_stores_memories_that_wait(alice, remember, monkeypatch):
    """This also works after the switching command has ended, and so no longer looks for such memories."""
    remember(alice, "early")
    switch()
    former = EmbeddingModel.objects.get(state=EmbeddingState.RETIRED)
    stale = embedding_model.ActiveModel(former.pk, "hash", "hash-256", 256)
    with monkeypatch.context() as patch:
        for module in (embedding, missing_vectors):
            patch.setattr(module, "active_model", lambda **_: stale)
        remember(alice, "late")
        assert embed_pending() == 1
    assert marked() == {"early": True, "late": False}

    assert embed_pending() == 1

    assert marked() == {"early": True, "late": True}
    assert not marks.wrong()


def test_a_switch_that_is_killed_before_it_marks_is_made_good_by_the_clock(alice, remember, monkeypatch):
    remember(alice, "embedded by both")

    def killed() -> int:
        raise KeyboardInterrupt

    remember(alice, "refused by the other")
    with monkeypatch.context() as switching:
        switching.setattr(HashEmbedding, "embed", picky)
        switching.setattr(marks, "correct_marks", killed)
        with pytest.raises(KeyboardInterrupt):
            switch()
    caches.forget_all()
    assert (marks.wrong(), pending_count()) == (1, 0)

    assert run_task("check_embedded_marks") == 1

    assert (marks.wrong(), pending_count()) == (0, 1)
    assert embed_pending() == 1


def test_wrong_marks_are_found_and_set_right_both_ways(alice, remember, monkeypatch):
    monkeypatch.setattr(marks, "BATCH", 2)
    lost = [remember(alice, f"lost {number}") for number in range(3)]
    found = remember(alice, "found")
    MemoryVector.objects.across_namespaces().filter(memory_id__in=lost).delete()
    Memory.objects.across_namespaces().filter(pk=found).update(embedded=False)
    assert marks.wrong() == 4

    assert marks.correct_marks() == 4

    assert (marks.wrong(), marks.correct_marks()) == (0, 0)
    assert marked() == {"lost 0": False, "lost 1": False, "lost 2": False, "found": True}
    assert embed_pending() == 3


def test_a_vector_of_a_speaker_that_changed_meanwhile_is_not_kept(alice, remember, monkeypatch):
    identity = remember(alice, "old words", speaker="Ann")
    take_vectors(identity)
    whole = missing_vectors._insert_vectors

    def renamed_before(*arguments: Any) -> None:
        monkeypatch.setattr(missing_vectors, "_insert_vectors", whole)
        Memory.objects.across_namespaces().filter(pk=identity).update(speaker="Anna")
        whole(*arguments)

    monkeypatch.setattr(missing_vectors, "_insert_vectors", renamed_before)
    embed_pending()
    assert (MemoryVector.objects.across_namespaces().count(), marked()) == (0, {"old words": False})

    assert embed_pending() == 1

    expected = provider_for("hash", "hash-256").embed(["Anna: old words"])[0]
    assert np.allclose(MemoryVector.objects.across_namespaces().get().embedding, expected, atol=1e-3)
