"""`/v1/cubes/{id}/activation`: refusals first; then a prefix is kept in a file, and a real model answers with it."""

from __future__ import annotations

import json
import urllib.request
import uuid
from typing import Any

import pytest
from django.utils import timezone

from memory.models import ActivationCache, AuditLog, ModelCall
from memory.services.activation.upkeep import keep_up
from memory.stores.activation_folder import has_tokens
from tests.api.activation_cube import QUERY, build, files_in, make_cube, path, pinned
from tests.job_queue import work_off

__all__ = ["path", "pinned"]


@pytest.fixture
def folder(llama, settings):
    """Return the folder that the model's server and MemOS share, without files of other tests."""
    llama.serve(settings)
    settings.MEMOS_ACTIVATION_DIR = str(llama.folder)
    settings.MEMOS_TOKENIZER = "cl100k_base"
    yield llama.folder
    for file in llama.folder.iterdir():
        file.unlink()


def ask_server(llama: Any, path: str, body: Any) -> Any:
    request = urllib.request.Request(
        llama.url.removesuffix("/v1") + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def last_call(tenant: Any) -> ModelCall:
    return ModelCall.objects.in_scope(tenant.scope).filter(completion_tokens__gt=0).order_by("-id")[0]


class TestRefusals:
    def test_nobody_without_a_key_and_no_key_without_the_scope(self, olga, make_tenant, path):
        assert olga.get(path).status_code == 401
        reader = make_tenant("alice", scopes=("read",))
        assert reader.get(path).status_code == 200
        for method, address in (
            ("post", path),
            ("delete", f"{path}/{uuid.uuid4()}"),
            ("post", f"{path}/{uuid.uuid4()}/use"),
        ):
            assert getattr(reader.client, method)(address, content_type="application/json").status_code == 403

    def test_another_tenants_cube_is_none(self, bob, path):
        assert bob.get(path).status_code == 404
        assert bob.post(path, {}).status_code == 404
        assert bob.get(f"{path}/{uuid.uuid4()}/file").status_code == 404

    def test_another_cubes_cache_is_none(self, alice, bob, path):
        row = ActivationCache.objects.create(
            namespace_id=alice.scope.namespace_id, engine="llamacpp", model="m", model_sha256="0" * 64, form="answer",
            prefix_sha256="1" * 64, folder_id=uuid.uuid4(), file="x", created_at=timezone.now(),
        )  # fmt: skip
        own = make_cube(bob)
        assert alice.get(f"{path}/{row.pk}").status_code == 200
        assert bob.get(f"{own}/{row.pk}").status_code == 404
        assert bob.client.delete(f"{own}/{row.pk}").status_code == 404
        assert bob.get(own).json()["caches"] == []

    def test_what_is_not_set_up_is_named(self, alice, path, pinned, settings, llama, tmp_path):
        assert "MEMOS_ACTIVATION_DIR" in refuse(alice, path, 409)
        settings.MEMOS_ACTIVATION_DIR = str(tmp_path / "caches")
        assert "MEMOS_LLM_ENABLED" in refuse(alice, path, 409)
        settings.MEMOS_LLM_ENABLED, settings.MEMOS_LLM_PROVIDER, settings.MEMOS_LLM_MODEL = True, "vllm", "m"
        assert "llamacpp/NAME" in refuse(alice, path, 400)
        assert "MEMOS_ACTIVATION_MODEL" in refuse(alice, path, 409, engine="transformers")
        settings.SECRET_KEY = "of another MemOS"
        assert "belongs to another MemOS" in refuse(alice, path, 409)

    def test_a_cube_without_activation_memory_or_prefix(self, alice, bob, folder, path):
        assert "has no prefix" in refuse(alice, path, 409)
        assert "activation" in refuse(bob, make_cube(bob, kinds=("textual",)), 409)

    def test_a_server_that_writes_elsewhere_keeps_nothing_of_a_memory(
        self, alice, path, pinned, folder, settings, tmp_path
    ):
        settings.MEMOS_ACTIVATION_DIR = str(tmp_path)
        alice.post(path, {})
        work_off()
        assert alice.get(path).json()["caches"] == []
        (job,) = alice.get("/v1/ops/jobs", kind="build_activation").json()["jobs"]
        assert "--slot-save-path" in job["error"]["message"]
        (left,) = folder.iterdir()
        assert left.stat().st_size < 100


def refuse(tenant: Any, path: str, status: int, **fields: Any) -> str:
    answer = tenant.post(path, fields)
    assert answer.status_code == status, answer.content
    return str(answer.json()["error"]["message"])


def test_a_prefix_is_kept_and_given_to_the_model_that_answers(alice, bob, path, pinned, folder, llama):
    cache = build(alice, path)

    assert cache["memory_ids"] == [pinned]
    assert files_in(folder) == [cache["file"]]
    assert (folder / cache["file"]).stat().st_size == cache["bytes"]
    assert f"-{cache['prefix_sha256'][:12]}-" in cache["file"]
    assert AuditLog.objects.in_scope(alice.scope).filter(event_type="ACTIVATION_BUILD", subject=cache["id"]).exists()
    # Repeating the request changes nothing.
    alice.post(path, {})
    work_off()
    assert files_in(folder) == [cache["file"]]

    ask_server(llama, "/slots/0?action=erase", {})
    answered = alice.post("/v1/answer", {"namespace": "alice", "query": QUERY, "max_tokens": 16}).json()
    assert answered["mode"] == "model"
    assert answered["prefix_sha256"] == cache["prefix_sha256"]
    assert last_call(alice).activation_tokens == cache["tokens"]
    assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]
    # The slot still has these tokens, so they are not computed again.
    alice.post("/v1/answer", {"namespace": "alice", "query": "When is the release?", "max_tokens": 16})
    assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]
    listed = alice.get(path).json()
    assert listed["caches"][0]["uses"] == 1
    assert (listed["figures"]["calls"], listed["figures"]["hits"]) == (2, 2)
    assert listed["figures"]["ttft_ms"]["hit"] > 0
    # A request for JSON by a schema begins with the same prefix, so it uses the cache as well.
    schema = {"type": "object", "properties": {"known": {"type": "boolean"}}, "required": ["known"]}
    asked = {"namespace": "alice", "query": QUERY, "max_tokens": 16, "response_schema": schema}
    assert alice.post("/v1/answer", asked).json()["structured_output"].keys() == {"known"}
    assert last_call(alice).activation_tokens == cache["tokens"]
    assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]
    # When another tenant's call has taken the slot, the file is read again.
    bob.post("/v1/answer", {"namespace": "bob", "query": QUERY, "max_tokens": 16})
    ask_server(llama, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
    alice.post("/v1/answer", {"namespace": "alice", "query": QUERY, "max_tokens": 16})
    assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]
    assert alice.get(path).json()["caches"][0]["uses"] == 2

    # The server would silently accept a cache of another model with the same form.
    ActivationCache.objects.in_scope(alice.scope).update(model_sha256="0" * 64)
    ask_server(llama, "/slots/0?action=erase", {})
    assert alice.post(f"{path}/{cache['id']}/use", {}).status_code == 409
    assert alice.post("/v1/answer", {"namespace": "alice", "query": QUERY, "max_tokens": 16}).json()["mode"] == "model"
    assert last_call(alice).activation_tokens is None


def test_the_answer_is_the_same_as_from_an_empty_slot(alice, path, pinned, folder, llama):
    """At temperature 0, a restored slot and a slot that still has the prefix give the same answer.

    The pieces in which a model reads a prompt change its rounding. With a model as small as this one, so small a
    difference can decide, so one answer of four may differ.
    """
    queries = (
        QUERY,
        "What does Priya do before the release?",
        "What does Priya review?",
        "When is the migration reviewed?",
    )

    def answer(query: str) -> str:
        told = alice.post("/v1/answer", {"namespace": "alice", "query": query, "max_tokens": 24}).json()
        assert told["mode"] == "model"
        assert last_call(alice).completion_tokens > 1
        return str(told["answer"])

    empty = []
    for query in queries:
        ask_server(llama, "/slots/0?action=erase", {})
        empty.append(answer(query))
        assert (last_call(alice).activation_tokens, last_call(alice).cached_tokens or 0) == (None, 0)
    cache = build(alice, path)
    ask_server(llama, "/slots/0?action=erase", {})
    restored = []
    for query in queries:
        restored.append(answer(query))
        assert last_call(alice).activation_tokens == cache["tokens"]
        assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]

    assert all(empty)
    assert sum(one == other for one, other in zip(restored, empty, strict=True)) >= len(queries) - 1


def test_a_completion_has_a_cache_of_its_own(alice, path, pinned, folder, llama):
    cache = build(alice, path, form="completion")
    ask_server(llama, "/slots/0?action=erase", {})
    loaded = alice.post(f"{path}/{cache['id']}/use", {}).json()
    assert (loaded["id_slot"], loaded["tokens"]) == (0, cache["tokens"])

    ask_server(llama, "/slots/0?action=erase", {})
    body = {
        "model": "default",
        "messages": [{"role": "user", "content": QUERY}],
        "max_tokens": 4,
        "metadata": {"memos_namespace": "alice", "memos_session": "s2"},
    }
    assert alice.post("/v1/chat/completions", body).status_code == 200
    assert last_call(alice).cached_tokens >= 0.9 * cache["tokens"]

    tokens = ask_server(llama, "/tokenize", {"content": "<|im_start|>system", "parse_special": True})["tokens"]
    assert not has_tokens(folder / cache["file"], [*tokens, 1, 2, 3])
    answer = alice.get(f"{path}/{cache['id']}/file")
    assert b"".join(answer.streaming_content) == (folder / cache["file"]).read_bytes()
    assert AuditLog.objects.in_scope(alice.scope).filter(event_type="ACTIVATION_EXPORT").exists()

    # A dropped cache stays away.
    assert alice.client.delete(f"{path}/{cache['id']}").json()["reason"] == "asked"
    keep_up(now=timezone.now())
    work_off()
    assert files_in(folder) == []
    assert alice.get(path).json()["caches"] == []
    assert alice.client.delete(f"{path}/{cache['id']}").status_code == 404
