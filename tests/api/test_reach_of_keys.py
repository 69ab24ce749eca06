"""Answers for keys that may only write, or only read shares; and the default namespace of a key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.errors import InvalidInput
from memory.services.tenancy.keys import issue_key
from tests.api.test_cubes import ben, boss, cube, find, share  # noqa: F401 - fixtures
from tests.conftest import Tenant

SECRET = "Camille keeps the spare key under the blue pot."


def ask(tenant: Any, method: str, path: str, body: Any = None, **query: str) -> Any:
    address = path + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")
    return tenant.client.generic(
        method, address, data=json.dumps(body) if body is not None else "", content_type="application/json"
    )


@pytest.fixture
def archived(alice, remember) -> str:
    """Archive a memory of Alice's for a reason, and return its id."""
    memory_id = remember(alice, SECRET)
    answer = ask(alice, "DELETE", f"/v1/memories/{memory_id}", reason="it-is-private")
    assert answer.status_code == 200, answer.content
    return memory_id


@pytest.fixture
def reader(bob, boss, ben, cube):  # noqa: F811
    """Share Alice's cube with Bob's key for reading."""
    share(boss, cube, ben)
    return bob


@pytest.fixture
def writer(bob, boss, ben, cube):  # noqa: F811
    """Share Alice's cube with Bob's key for writing."""
    share(boss, cube, ben, level="write")
    return bob


def test_a_read_share_shows_no_archived_text(alice, reader, archived):
    for answer in (
        reader.get(f"/v1/memories/{archived}"),
        reader.get("/v1/memories", namespace="alice", state="any"),
        reader.get("/v1/memories", namespace="alice", state="archived"),
        reader.get("/v1/memories", namespace="alice"),
        reader.post("/v1/why", {"namespace": "alice", "query": "the spare key", "memory_id": archived}),
        reader.post("/v1/search", {"namespace": "alice", "query": "the spare key", "explain": True}),
        reader.post("/v1/query", {"namespace": "alice", "query": "the spare key", "explain": True}),
        reader.post("/product/get_memory_by_ids", [archived]),
        reader.get(f"/product/get_memory/{archived}"),
        reader.get(f"/memories/alice/{archived}"),
    ):
        assert b"blue pot" not in answer.content
        assert b"private" not in answer.content
    assert reader.get(f"/v1/memories/{archived}").status_code == 404
    assert reader.get("/v1/memories", namespace="alice", state="any").status_code == 403
    assert alice.get(f"/v1/memories/{archived}").json()["text"] == SECRET


def test_a_read_share_shows_no_reasons_and_no_keys_of_others(alice, reader, remember):
    memory_id = remember(alice, "The ferry leaves from the north quay.")
    changed = ask(
        alice, "PATCH", f"/v1/memories/{memory_id}", {"importance": 0.9, "reason": "as agreed with the lawyers"}
    )
    assert changed.status_code == 200
    prefix = alice.scope.actor.removeprefix("key:").encode()
    cubes = reader.get("/v1/cubes").json()["cubes"]

    history = reader.get(f"/v1/memories/{memory_id}/history").json()
    assert [history[name] for name in ("versions", "events", "feedback")] == [[], [], []]
    for answer in (
        reader.get(f"/v1/memories/{memory_id}"),
        reader.get(f"/v1/memories/{memory_id}/history"),
        reader.get("/v1/memories", namespace="alice"),
        reader.get("/v1/ops/audit"),
        reader.get("/v1/ops/audit", namespace="alice"),
        reader.get("/v1/cubes"),
        reader.get(f"/v1/cubes/{cubes[0]['id']}"),
        find(reader, namespace="alice"),
    ):
        assert b"lawyers" not in answer.content
        assert prefix not in answer.content


def test_a_read_share_shows_no_archived_chunks(alice, reader):
    text = "# One\n\nThe north quay is closed on Monday.\n\n# Two\n\nCamille hides the spare key.\n"
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "d", "text": text, "format": "markdown"})
    chunks = alice.get("/v1/documents/d", namespace="alice").json()["chunks"]
    for chunk in chunks:
        ask(alice, "DELETE", f"/v1/memories/{chunk['memory_id']}")

    assert chunks
    assert reader.get("/v1/documents/d", namespace="alice").json()["chunks"] == []
    assert len(alice.get("/v1/documents/d", namespace="alice").json()["chunks"]) == len(chunks)


def test_a_write_share_sees_what_it_may_restore(alice, writer, archived):
    assert writer.get(f"/v1/memories/{archived}").json()["state"] == "archived"
    assert writer.get(f"/v1/memories/{archived}/history").status_code == 200


WRITES = {
    "ingest": ("POST", "/v1/ingest", {"namespace": "alice", "text": SECRET}),
    "ingest nearly the same": ("POST", "/v1/ingest", {"namespace": "alice", "text": SECRET.lower()}),
    "batch": ("POST", "/v1/ingest/batch", {"items": [{"namespace": "alice", "text": SECRET}]}),
    "document": ("POST", "/v1/documents", {"namespace": "alice", "document_id": "d", "text": "Another version."}),
    "chat": ("POST", "/v1/chat", {"namespace": "alice", "message": "Where is the spare key?"}),
    "answer": ("POST", "/v1/answer", {"namespace": "alice", "query": "Where is the spare key?", "remember": True}),
    "completion": ("POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "W?"}]}),
    "archive by filter": (
        "DELETE",
        "/v1/memories",
        {"namespace": "alice", "all": True, "reason": "r", "dry_run": True},
    ),
    "edit by filter": (
        "PATCH",
        "/v1/memories",
        {"namespace": "alice", "all": True, "reason": "r", "importance": 0.1, "dry_run": True},
    ),
    "change": ("PATCH", "/v1/memories/{id}", {"importance": 0.2, "reason": "r"}),
    "pin": ("POST", "/v1/memories/{id}/pin", {}),
    "feedback": ("POST", "/v1/memories/{id}/feedback", {"kind": "useful"}),
    "supersede": ("POST", "/v1/memories/{id}/supersede", {"text": "It is in the shed.", "reason": "r"}),
    "restore": ("POST", "/v1/memories/{id}/restore", {"reason": "r"}),
    "archive": ("DELETE", "/v1/memories/{id}", None),
    "history": ("GET", "/v1/memories/{id}/history", None),
    "quarantine": ("GET", "/v1/quarantine?namespace=alice", None),
    "protocol": ("POST", "/api/v1/memory/ingest", {"group_id": "alice", "content": SECRET}),
    "mem0 update": ("PUT", "/v1/memories/{id}/", {"metadata": {"a": 1}}),
    "mem0 server update": ("PUT", "/memories/{id}", {"metadata": {"a": 1}}),
    "memtensor update": ("PUT", "/memories/alice/{id}", {"memory": "Another text."}),
    "memtensor feedback": (
        "POST",
        "/product/feedback",
        {"user_id": "u", "session_id": "s", "feedback_content": "wrong", "history": [], "writable_cube_ids": ["alice"]},
    ),
    "hindsight": ("POST", "/v1/default/banks/alice/memories", {"items": [{"content": "Another text."}]}),
    "mcp get": (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_memory", "arguments": {"memory_id": "{id}"}},
        },
    ),
    "mcp update": (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "update_memory", "arguments": {"memory_id": "{id}", "importance": 0.3}},
        },
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_key_that_may_only_write_reads_nothing(alice, make_tenant, remember, name):
    memory_id = remember(alice, SECRET)
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "d", "text": SECRET})
    only_writes = make_tenant("alice", scopes=("write",))
    method, path, body = WRITES[name]
    body = json.loads(json.dumps(body).replace("{id}", memory_id))
    # Its own request may be repeated in the answer.
    answer = ask(only_writes, method, path.replace("{id}", memory_id), body)

    assert answer.status_code < 500
    assert b"Camille" not in answer.content


def test_whoever_may_only_write_hears_what_it_said_itself(alice, make_tenant):
    only_writes = make_tenant("alice", scopes=("write",))
    sent = {"messages": [{"role": "user", "content": "My tea is green."}], "user_id": "ann"}
    key = {"Idempotency_Key": "once"}
    first = only_writes.post("/v3/memories/add/", sent, **key).json()["results"]
    corrected = ask(alice, "PATCH", f"/v1/memories/{first[0]['id']}", {"text": "My tea is secret.", "reason": "r"})
    again = only_writes.post("/v3/memories/add/", sent, **key).json()["results"]

    assert corrected.status_code == 200, corrected.content
    assert [one["memory"] for one in (*first, *again)] == ["My tea is green."] * 2


def names_its_own(tenant: Any) -> set[str]:
    """Return the namespaces that a key writes to on each route if it names none."""
    tenant.post("/v1/ingest", {"text": "The parcel has arrived at the depot."})
    tenant.post("/v1/ingest/batch", {"items": [{"text": "The second parcel waits at the border."}]})
    tenant.post(
        "/v3/memories/add/", {"messages": [{"role": "user", "content": "The third one is lost."}], "user_id": "a"}
    )
    call = {"name": "add_memory", "arguments": {"text": "The fourth parcel is on its way to Oslo."}}
    tenant.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    rows = tenant.get("/v1/memories").json()["memories"]
    assert len(rows) == 4, rows
    asked = {"query": "Where are the parcels?"}
    for path, body in (
        ("/v1/search", asked),
        ("/v1/query", asked),
        ("/v1/answer", asked),
        ("/v1/search/batch", {"questions": [asked]}),
    ):
        assert tenant.post(path, body).status_code == 200
    assert tenant.post("/v1/query", asked).json()["raw_chunks"]
    assert tenant.get("/v1/policy").status_code == 200
    return {row["namespace"] for row in rows}


def test_a_request_that_names_no_namespace_gets_the_keys(alice):
    assert names_its_own(alice) == {"alice"}


def test_a_key_for_everything_works_in_default(boss):  # noqa: F811
    assert names_its_own(boss) == {"default"}


def test_a_key_of_several_namespaces_works_in_the_one_that_it_was_given_or_has_to_name_one(alice, bob):
    def issue(**options: Any) -> Tenant:
        names = ["bob", "alice"]
        now = timezone.now()
        _, token = issue_key(
            name="k", scopes=["read", "write"], namespace_names=names, actor="tests", now=now, **options
        )
        return Tenant(alice.scope, token, Client(headers={"Authorization": f"Bearer {token}"}))

    assert names_its_own(issue(default_namespace="alice")) == {"alice"}
    with pytest.raises(InvalidInput, match="none of those"):
        issue(default_namespace="carol")
    unnamed = issue()
    for answer in (unnamed.post("/v1/search", {"query": "q"}), unnamed.get("/v1/memories")):
        assert answer.status_code == 400
        assert "namespace" in answer.json()["error"]["message"]


def test_a_new_cube_is_named(boss):  # noqa: F811
    assert boss.post("/v1/cubes", {"name": "x"}).status_code == 400
