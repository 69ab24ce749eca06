"""An unused name: callers who reach all get an empty answer, others learn that it is out of reach."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from memory import caches
from memory.models import Namespace, Session
from memory.stores.redis import call

QUESTION = {"session_id": "s1", "query": "Where is the kiln?"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/query", QUESTION),
    ("/v1/query", QUESTION | {"dry_run": True}),
    ("/v1/query", {"query": "Where is the kiln?"}),
    ("/v1/search", {"query": "Where is the kiln?", "explain": True}),
    ("/v1/answer", QUESTION),
    ("/v1/sessions/reset", {"session_id": "s1", "confirm": True}),
    ("/v1/sessions/reset", {"session_id": "s1", "confirm": True, "clear_audit": True}),
    ("/v1/sessions/reset", {"session_id": "s1", "confirm": True, "dry_run": True}),
    ("/api/v1/memory/query", {"query": "Where is the kiln?"}),
]
IDS = [f"{path}-{number}" for number, (path, _) in enumerate(CALLS)]


def ask(tenant: Any, path: str, name: str, body: dict[str, Any]) -> Any:
    return tenant.post(path, {"group_id" if path.startswith("/api") else "namespace": name, **body})


def rows() -> dict[str, int]:
    """Return the number of rows in each of our tables."""
    return {model.__name__: model._base_manager.count() for model in apps.get_app_config("memory").get_models()}


def kept_in_redis() -> set[str]:
    """Return the keys of sessions and memories in Redis, without the counts of requests."""
    found = call(lambda client: {bytes(key).decode() for key in client.scan_iter("memos:*")})
    return {key for key in found if "window" in key or "working" in key}


@pytest.mark.parametrize(("path", "body"), CALLS, ids=IDS)
@pytest.mark.parametrize("known_to_the_process", [False, True])
def test_absent_and_another_tenants_are_the_same_to_a_key_of_some_namespaces(
    alice, bob, remember, path, body, known_to_the_process
):
    remember(bob, "The kiln is behind the harbour.")
    if known_to_the_process:
        ask(bob, path, "bob", body)
    else:
        caches.forget_all()
    answers = [ask(alice, path, name, body) for name in ("bob", "nobody")]

    assert [answer.status_code for answer in answers] == [404, 404]
    there, absent = (answer.json()["error"] for answer in answers)
    assert there["message"].replace("bob", "nobody") == absent["message"]
    assert (there["code"], there["detail"]) == (absent["code"], absent["detail"])
    assert set(answers[0].headers) == set(answers[1].headers)


@pytest.mark.parametrize(("path", "body"), CALLS, ids=IDS)
def test_a_key_without_the_scope_is_refused_before_any_name_is_looked_at(make_tenant, path, body):
    writer = make_tenant("any", scopes=("write",), all_namespaces=True)
    assert [ask(writer, path, name, body).status_code for name in ("any", "nobody")] == [403, 403]


@pytest.mark.parametrize(("path", "body"), CALLS, ids=IDS)
def test_who_reaches_all_is_answered_with_nothing_and_makes_nothing(make_tenant, path, body):
    everyone = make_tenant("any", all_namespaces=True)
    everyone.get("/v1/ops/stats")
    before, kept = rows(), kept_in_redis()

    answer = ask(everyone, path, "new", body)

    assert answer.status_code == 200
    assert answer.json()["degraded"] == ["namespace_unknown"]
    assert rows() == before
    assert kept_in_redis() == kept
    assert not Namespace.objects.filter(name="new").exists()


def test_a_query_has_every_field_and_its_pack_is_empty(make_tenant):
    everyone = make_tenant("any", all_namespaces=True)
    known = everyone.post("/v1/query", QUESTION | {"namespace": "any"}).json()
    unknown = everyone.post("/v1/query", QUESTION | {"namespace": "new"}).json()

    assert set(unknown) == set(known)
    assert set(unknown["context_pack"]) == set(known["context_pack"])
    assert (unknown["raw_chunks"], unknown["answerable"]) == ([], False)
    assert unknown["context_pack"]["text"] == "Memories:\n- No stored memory answers this question.\n"
    assert unknown["context_pack_id"] is None
    assert isinstance(unknown["id"], str)
    assert unknown["context_pack"]["working_memory"]["session_summary"] == ""


def test_a_reset_counts_nothing_and_still_wants_a_confirmation(make_tenant):
    everyone = make_tenant("any", all_namespaces=True)
    body = everyone.post("/v1/sessions/reset", {"namespace": "new", "session_id": "s", "confirm": True}).json()
    assert set(body["deleted_counts"].values()) == {0}
    refused = everyone.post("/v1/sessions/reset", {"namespace": "new", "session_id": "s"})
    assert refused.status_code == 400


def test_a_wrong_field_is_refused_whether_or_not_the_namespace_is_there(make_tenant):
    everyone = make_tenant("any", all_namespaces=True)
    answers = [everyone.post("/v1/query", {"namespace": name, "query": ""}) for name in ("any", "new")]
    assert [answer.status_code for answer in answers] == [400, 400]


def test_a_reset_of_a_session_that_never_was_leaves_no_session(alice, remember):
    remember(alice, "hello", session="s1")
    for more in ({}, {"clear_audit": True}, {"dry_run": True}):
        body = {"namespace": "alice", "session_id": f"never {more}", "confirm": True, **more}
        assert alice.post("/v1/sessions/reset", body).status_code == 200
    assert list(Session.objects.in_scope(alice.scope).values_list("name", flat=True)) == ["s1"]


def test_what_is_asked_makes_nothing_and_what_is_told_makes_the_namespace(make_tenant):
    everyone = make_tenant("any", all_namespaces=True)
    everyone.post("/v1/query", QUESTION | {"namespace": "new"})
    everyone.post("/v1/ingest", {"namespace": "new", "text": "The kiln is behind the harbour."})
    answer = everyone.post("/v1/query", QUESTION | {"namespace": "new"}).json()
    assert (len(answer["raw_chunks"]), answer["degraded"]) == (1, [])
