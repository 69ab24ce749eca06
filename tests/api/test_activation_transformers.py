"""The engine `transformers`: a cube's prefix becomes a file from which a program can continue, and is removed again."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memory.enums import PromptForm
from memory.models import ActivationCache, AuditLog
from memory.providers.dynamic_cache import CausalModel, read_header
from memory.services.activation.prefix import begin_messages, cut_prompt, render_prefix
from memory.services.activation.upkeep import keep_up
from tests.api.activation_cube import FACT, QUERY, build, files_in, path, pinned
from tests.job_queue import work_off
from tests.providers.small_weights import find_weights

__all__ = ["path", "pinned"]

FORMS = ("answer", "completion")


@pytest.fixture(scope="module")
def model() -> CausalModel:
    """Return the model as another program would load it."""
    return CausalModel(str(find_weights()))


@pytest.fixture
def folder(model, settings, tmp_path) -> Path:
    settings.MEMOS_ACTIVATION_DIR = str(tmp_path / "caches")
    settings.MEMOS_ACTIVATION_MODEL = str(model.path)
    settings.MEMOS_TOKENIZER = "cl100k_base"
    return tmp_path / "caches"


def download(tenant: Any, path: str, cache: dict[str, Any], to: Path) -> Path:
    answer = tenant.get(f"{path}/{cache['id']}/file")
    assert answer.status_code == 200
    file = to / cache["file"]
    file.write_bytes(b"".join(answer.streaming_content))
    assert file.stat().st_size == cache["bytes"] == int(answer["Content-Length"])
    return file


@pytest.mark.parametrize("form", FORMS)
def test_a_prefix_is_computed_listed_used_and_dropped(alice, bob, path, pinned, folder, model, form, tmp_path):
    import torch

    cache = build(alice, path, engine="transformers", form=form)
    assert (cache["engine"], cache["model"], cache["memory_ids"]) == (
        "transformers", f"transformers/{model.name}", [pinned],
    )  # fmt: skip
    assert (cache["tokens"] > 0, cache["build_ms"] > 0) == (True, True)
    assert files_in(folder) == [cache["file"]]
    assert cache["file"].endswith(".safetensors")
    assert alice.get(f"{path}/{cache['id']}").json()["state"] == "ready"
    # Repeating the request changes nothing.
    alice.post(path, {"engine": "transformers", "form": form})
    work_off()
    assert files_in(folder) == [cache["file"]]
    assert len(alice.get(path).json()["caches"]) == 1

    # No server has a slot for this engine: the model's operator fetches the file and continues from it as from the
    # whole prompt.
    refused = alice.post(f"{path}/{cache['id']}/use", {})
    assert (refused.status_code, "GET its file" in refused.content.decode()) == (409, True)
    assert bob.get(f"{path}/{cache['id']}/file").status_code == 404
    file = download(alice, path, cache, tmp_path)
    assert AuditLog.objects.in_scope(alice.scope).filter(event_type="ACTIVATION_EXPORT", subject=cache["id"]).exists()
    assert read_header(file) == {"model": model.name, "model_sha256": model.sha256}
    told = render_prefix(alice.scope, PromptForm(form), now=timezone.now())
    assert (told.sha256, FACT in told.text) == (cache["prefix_sha256"], True)
    begun = cut_prompt(model.write_prompt(begin_messages(PromptForm(form), told.text)))
    whole = f"{begun}Question: {QUERY}<|im_end|>\n<|im_start|>assistant\n"
    behind = model.read_on(file, whole)
    with torch.no_grad():
        full = model.model(torch.tensor([model.count_tokens(whole)])).logits[0][cache["tokens"] :]
    assert behind.shape == full.shape
    assert float((behind - full).abs().max()) < 1e-4
    assert bool((behind.argmax(-1) == full.argmax(-1)).all())

    dropped = alice.client.delete(f"{path}/{cache['id']}")
    assert (dropped.status_code, dropped.json()["reason"]) == (200, "asked")
    for _ in range(2):
        keep_up(now=timezone.now())
        work_off()
        # The file is not built again.
        assert files_in(folder) == []
    assert alice.get(path).json()["caches"] == []
    assert alice.get(f"{path}/{cache['id']}/file").status_code == 404


def test_a_memory_that_is_erased_takes_the_file_with_it(alice, path, pinned, folder):
    cache = build(alice, path, engine="transformers")
    asked = {"namespace": "alice", "memory_ids": [pinned], "reason": "asked"}
    assert alice.post("/v1/erasures", asked).status_code == 200
    work_off()

    assert files_in(folder) == []
    assert not ActivationCache.objects.in_scope(alice.scope).filter(pk=uuid.UUID(cache["id"])).exists()


def test_another_model_is_refused_by_name(alice, path, pinned, folder, model):
    answer = alice.post(path, {"engine": "transformers", "model": "transformers/another"})

    assert answer.status_code == 400
    assert f"choose transformers/{model.name}" in answer.json()["error"]["message"]
