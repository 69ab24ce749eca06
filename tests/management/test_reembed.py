from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory import caches
from memory.demo.seed import seed_demo_namespace
from memory.models import EmbeddingModel, Memory, MemoryVector
from memory.services.index import embedding_model, missing_vectors
from memory.types import system_access


@pytest.fixture(autouse=True)
def _demo(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    monkeypatch.setattr(missing_vectors.time, "sleep", lambda _: None)
    monkeypatch.setattr(missing_vectors, "BATCH", 20)
    seed_demo_namespace(system_access("tests"), namespace="demo", now=timezone.now())


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("reembed", *arguments, stdout=out)
    return out.getvalue()


def test_the_configured_model_needs_no_switch() -> None:
    assert "hash/hash-256 (256) is the active model already" in run()


def test_interrupted_it_says_how_to_go_on_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, made = missing_vectors._insert_vectors, []

    def interrupted(*arguments):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(True)
        whole(*arguments)

    monkeypatch.setattr(missing_vectors, "_insert_vectors", interrupted)
    with pytest.raises(CommandError, match="reembed --provider hash --model hash-64") as stopped:
        run("--model", "hash-64")
    assert stopped.value.returncode == 130
    assert "search uses hash/hash-256 (256)" in str(stopped.value)
    assert MemoryVector.objects.across_namespaces().filter(model__name="hash-64").count() == 40

    monkeypatch.setattr(missing_vectors, "_insert_vectors", whole)
    out = run("--model", "hash-64")
    assert "Search uses hash/hash-64 (64) now, 77 vectors" in out
    assert "MEMOS_EMBEDDING_MODEL=hash-64" in out
    assert (
        MemoryVector.objects.across_namespaces().filter(model__name="hash-64").count()
        == Memory.objects.across_namespaces().count()
    )
    assert EmbeddingModel.objects.get(state="active").name == "hash-64"


def test_former_vectors_stay_until_they_are_pruned() -> None:
    run("--model", "hash-64")
    assert MemoryVector.objects.across_namespaces().filter(model__name="hash-256").count() == 77
    assert "77 vectors of former models were deleted" in run("--model", "hash-64", "--prune")
    assert not MemoryVector.objects.across_namespaces().exclude(model__name="hash-64").exists()
    assert MemoryVector.objects.across_namespaces().count() == 77


def test_an_unknown_model_is_refused_in_words() -> None:
    with pytest.raises(CommandError, match="unknown MiniLM model"):
        run("--provider", "minilm", "--model", "all-MiniLM-L6-v2-int3")
