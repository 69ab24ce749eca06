"""Deleted, archived and corrected texts are no longer returned by any route: not in windows, summaries or prompts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import redis
from django.utils import timezone

from memory.models import Condensation, Memory, MemoryLink
from memory.services.ingestion.ingest import WINDOW_SKIPPED
from memory.services.memories import edit, lifecycle
from memory.services.retention.exemptions import exempt
from memory.services.retention.sweep import sweep
from memory.services.summaries.condense import condense_session
from memory.stores import redis as redis_store
from memory.stores import window
from memory.types import system_access
from tests.api.mcp.client import post, standalone, work
from tests.api.mem0.test_routes import send
from tests.conftest import Tenant
from tests.job_queue import work_off

WORD = "nightjar"
OLD, NEW = f"My safe code word is {WORD}.", "My safe code word is secret."
COMMAND = f"curl https://{WORD}.example.com/status"
STAFF = system_access("staff:ann")
ASKED = {"namespace": "alice", "session_id": "s1", "query": "What is my safe code word?"}
BANK = "/v1/default/banks/alice"


@pytest.fixture
def said(alice, remember) -> str:
    """Return the id of a turn that is in the window and the summary of its session."""
    for number in range(4):
        remember(alice, f"We talked about topic {number} of the plan.")
    identity = remember(alice, OLD, speaker="Kim")
    remember(alice, "Then we spoke of the quay.")
    condense_session(alice.scope, session="s1", now=timezone.now())
    assert where_told(alice) == ["window", "summary", "pack", "condensed_summary", "get_context", "resource"]
    return identity


def query(tenant: Tenant, **more: Any) -> dict[str, Any]:
    answer = tenant.post("/v1/query", {**ASKED, **more})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def where_told(tenant: Tenant, word: str = WORD, **more: Any) -> list[str]:
    """List the places whose text contains the word."""
    answer = query(tenant, **more)
    memory = answer["context_pack"]["working_memory"]
    address = {"uri": "memos://alice/sessions/s1"}
    places = {
        "window": memory["l1_window"],
        "summary": memory["session_summary"],
        "pack": answer["context_pack"]["text"],
        "condensed_summary": answer["condensed_summary"],
        "get_context": work(tenant.client, "get_context", **ASKED),
        "resource": post(tenant.client, *standalone("resources/read", address)).json(),
    }
    return [place for place, told in places.items() if word in json.dumps(told)]


def delete(tenant: Tenant, identity: str) -> Any:
    return tenant.client.delete(f"/v1/memories/{identity}?reason=gone")


def patch(tenant: Tenant, identity: str, **changes: Any) -> Any:
    body = {"reason": "changed", **(changes or {"text": NEW})}
    return tenant.client.patch(f"/v1/memories/{identity}", body, content_type="application/json")


def delete_by_filter(tenant: Tenant, identity: str) -> Any:
    body = {"namespace": "alice", "reason": "tidy", "filter": {"speaker": "Kim"}}
    answer = tenant.client.delete("/v1/memories", body, content_type="application/json")
    work_off()
    return answer


def send_mem0(method: str, path: str, body: Any = None) -> Callable[[Tenant, str], Any]:
    return lambda tenant, identity: send(
        tenant, method, path.format(identity), json.loads(json.dumps(body).replace("{}", identity)) if body else None
    )


DELETIONS: dict[str, Callable[[Tenant, str], Any]] = {
    "DELETE /v1/memories/{id}": delete,
    "DELETE /v1/memories": delete_by_filter,
    "MCP delete_memory": lambda tenant, identity: work(
        tenant.client, "delete_memory", memory_id=identity, reason="gone"
    ),
    "mem0 DELETE /v1/memories/{id}/": send_mem0("delete", "/v1/memories/{}/"),
    "mem0 DELETE /v1/batch/": send_mem0("delete", "/v1/batch/", {"memories": [{"memory_id": "{}"}]}),
    "mem0 DELETE /memories/{id}": send_mem0("delete", "/memories/{}"),
    "mem0 POST /reset": send_mem0("post", "/reset"),
    "MemTensor delete_memory": lambda tenant, identity: tenant.post(
        "/product/delete_memory", {"writable_cube_ids": ["alice"], "memory_ids": [identity]}
    ),
    "MemTensor delete_memory_by_record_id": lambda tenant, identity: tenant.post(
        "/product/delete_memory_by_record_id", {"mem_cube_id": "alice", "record_id": "winter"}
    ),
    "console: archive": lambda tenant, identity: edit.archive(
        STAFF, memory_ids=[uuid.UUID(identity)], reason="old", now=timezone.now()
    ),
}
CORRECTIONS: dict[str, Callable[[Tenant, str], Any]] = {
    "PATCH /v1/memories/{id}": patch,
    "MCP update_memory": lambda tenant, identity: work(
        tenant.client, "update_memory", memory_id=identity, text=NEW, reason="changed"
    ),
    "mem0 PUT /v1/memories/{id}/": send_mem0("put", "/v1/memories/{}/", {"text": NEW}),
    "mem0 PUT /v1/batch/": send_mem0("put", "/v1/batch/", {"memories": [{"memory_id": "{}", "text": NEW}]}),
    "mem0 PUT /memories/{id}": send_mem0("put", "/memories/{}", {"text": NEW}),
    "console: edit": lambda tenant, identity: edit.edit(
        STAFF, memory_id=uuid.UUID(identity), text=NEW, reason="changed", now=timezone.now()
    ),
}


@pytest.mark.parametrize("way", DELETIONS)
def test_a_deleted_memory_is_told_neither_at_once_nor_later(alice, remember, said, way):
    answer = DELETIONS[way](alice, said)
    assert getattr(answer, "status_code", 200) < 300, answer.content

    assert where_told(alice) == []
    work_off()
    assert where_told(alice) == []
    for number in range(5):
        remember(alice, f"Later we agreed on point {number} for the quay.")
    condense_session(alice.scope, session="s1", now=timezone.now())
    assert where_told(alice) == []


@pytest.mark.parametrize("way", CORRECTIONS)
def test_a_corrected_memory_is_told_with_its_new_text_only(alice, remember, said, way):
    answer = CORRECTIONS[way](alice, said)
    assert getattr(answer, "status_code", 200) < 300, answer.content

    assert where_told(alice) == []
    assert where_told(alice, "word is secret") == ["window", "pack", "get_context", "resource"]
    work_off()
    assert where_told(alice) == []
    assert "summary" in where_told(alice, "word is secret")
    remember(alice, "Later we agreed on the quay.")
    condense_session(alice.scope, session="s1", now=timezone.now())
    assert where_told(alice) == []


def test_what_expired_is_told_no_longer(alice, said):
    now = timezone.now()
    exempt(alice.scope, memory_ids=[uuid.UUID(said)], expires_at=now + timedelta(days=1), reason="a code", now=now)
    sweep(actor="worker", now=now + timedelta(days=2), accept_clock=True)
    assert Memory.objects.across_namespaces().get(pk=said).state == "archived"
    assert where_told(alice) == []
    work_off()
    assert where_told(alice) == []


def test_a_reset_session_is_told_no_longer(alice, said):
    answer = alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})
    assert answer.status_code == 200, answer.json()
    assert WORD not in json.dumps(query(alice))


def test_a_restored_memory_is_told_again(alice, said):
    delete(alice, said)
    work_off()
    lifecycle.restore_one(STAFF, memory_id=uuid.UUID(said), reason="was right", now=timezone.now())
    work_off()
    assert {"window", "summary", "pack", "get_context"} <= set(where_told(alice))


def test_who_spoke_is_told_as_it_was_corrected(alice, said):
    patch(alice, said, speaker="Noor")
    assert where_told(alice, "Kim") == []
    work_off()
    assert where_told(alice, "Kim") == []
    assert {"window", "summary"} <= set(where_told(alice, "Noor"))


def test_tags_and_metadata_make_no_summary_again(alice, said):
    patch(alice, said, metadata={"colour": "red"})
    work_off()
    assert Condensation.objects.across_namespaces().count() == 1
    assert "summary" in where_told(alice)


def test_with_redis_away_it_is_forgotten_all_the_same(alice, said):
    with mock.patch.object(redis.Redis, "execute_command", side_effect=redis.ConnectionError):
        redis_store.resume()
        assert delete(alice, said).status_code == 200
        assert query(alice)["degraded"] == [WINDOW_SKIPPED]
    redis_store.resume()
    assert WORD in str(window.read(alice.scope.namespace_id, "s1"))
    assert where_told(alice) == []


def test_a_question_about_the_past_does_not_tell_what_was_archived_since(alice, said):
    before = timezone.now()
    delete(alice, said)
    work_off()
    assert not {"window", "summary", "pack", "condensed_summary"} & set(where_told(alice, as_of=before.isoformat()))


def test_a_question_about_the_past_tells_the_text_of_that_time(alice, said):
    before = timezone.now()
    patch(alice, said)
    work_off()
    assert {"window", "summary", "pack"} <= set(where_told(alice, as_of=before.isoformat()))
    assert "window" not in where_told(alice, "word is secret", as_of=before.isoformat())


@pytest.mark.parametrize("change", [delete, patch])
def test_commands_and_the_excerpt_of_a_summary_name_no_source_and_are_forgotten(alice, remember, change):
    opening = f"Here is what we ran, and I went on about it for long:\n\n$ {COMMAND}\n\n" + "It was quiet. " * 80
    identity = remember(alice, opening)
    remember(alice, "The harbour was cold today and we decided to mend the oboe.")
    condense_session(alice.scope, session="s1", now=timezone.now())
    [card] = Condensation.objects.across_namespaces().values_list("condensed_text", flat=True)
    assert COMMAND in json.loads(card)["shell_commands"]
    assert "Here is what we ran" in json.loads(card)["raw_excerpt"]

    change(alice, identity)
    for _ in range(2):
        assert where_told(alice) == []
        assert "what we ran" not in json.dumps(query(alice)["context_pack"]["working_memory"])
        work_off()


def test_an_answer_that_quotes_it_is_told_no_longer_either(alice, said):
    body = {"namespace": "alice", "session_id": "s1", "message": "What is my safe code word?"}
    assert WORD in alice.post("/v1/chat", body).json()["answer"]
    assert MemoryLink.objects.across_namespaces().filter(other_id=said).exists()
    delete(alice, said)
    work_off()
    assert where_told(alice) == []
    assert WORD not in json.dumps(alice.post("/v1/answer", {**ASKED, "question": ASKED["query"]}).json())
