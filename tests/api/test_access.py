"""Keys, scopes, limits and the walls between tenants."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client, override_settings
from django.utils import timezone

from memory import caches
from memory.api.urls import urlpatterns
from memory.models import ApiKey, Memory, Namespace
from memory.services.tenancy.keys import revoke_key
from tests.conftest import Tenant

TURN = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "hello", "metadata": {}}
QUESTION = {"namespace": "alice", "session_id": "s1", "query": "hello?"}
CALLS = [
    ("post", "/v1/ingest", TURN),
    ("post", "/v1/ingest/batch", {"items": [TURN]}),
    ("post", "/v1/query", QUESTION),
    ("post", "/v1/answer", QUESTION),
    ("post", "/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True}),
    ("post", "/v1/dev/seed?namespace=alice", None),
    ("get", "/v1/ops/stats", None),
    ("get", "/v1/ops/pipeline", None),
    ("get", "/v1/ops/audit", None),
    ("get", "/v1/ops/condensations", None),
    ("get", "/v1/ops/context_packs", None),
    ("get", "/v1/ops/procedural", None),
    ("post", "/v1/evaluations", {"namespace": "alice"}),
    ("get", "/v1/evaluations", None),
    ("get", "/v1/evaluations/compare", None),
    ("get", "/v1/evaluations/01a1f915-2054-75a1-9f3a-d010f79b72ce", None),
    ("post", "/v1/judgements", {"namespace": "alice"}),
    ("get", "/v1/judgements", None),
]
# Routes without a key; all others of the URL conf need one.
PUBLIC = {
    "health", "health/live", "health/ready", "metrics", "openapi.json", "docs", ".well-known/oauth-protected-resource",
    ".well-known/oauth-protected-resource/mcp",
}  # fmt: skip
# Routes open to every key: each MCP tool needs a separate scope (tests/api/mcp).
OPEN_TO_ALL = {"post mcp"}
# The routes that read by POST, and what a key without the scope "admin" cannot do.
READ_BY_POST = {
    "v1/memories/search/",
    "v2/memories/",
    "v2/memories/search/",
    "v3/memories/",
    "v3/memories/search/",
    "search",
    "v1/default/banks/<str:bank_id>/memories/recall",
    "v1/default/banks/<str:bank_id>/reflect",
    "v1/query",
    "v1/search",
    "v1/retrieval",
    "v1/search/batch",
    "v1/answer",
    "v1/answer/stream",
    "v1/why",
    "api/v1/memory/query",
    "v1/policy/preview",
    "v1/cubes/<id:cube_id>/dump",
    "product/search",
    "product/get_all",
    "product/get_memory",
    "product/get_memory_by_ids",
    "product/get_memory_dashboard",
    "product/suggestions",
    "product/get_user_names_by_memory_ids",
    "product/chat/complete",
    "product/chat/stream",
    "product/chat/stream/playground",
    "product/exist_mem_cube_id",
    "product/scheduler/wait",
    "product/scheduler/wait/stream",
    "chat",
    "memtensor/search",
    "v1/embeddings",
    "v1/messages/count_tokens",
    "api/openmem/v1/search/memory",
    "api/openmem/v1/get/memory",
    "api/openmem/v1/get/message",
    "api/openmem/v1/get/status",
}
ADMIN = {
    "post reset",
    "post v1/sessions/reset", "get v1/erasures", "post v1/erasures", "get v1/erasures/<id:erasure_id>",
    "post v1/evaluations", "put v1/policy", "post v1/policy/exemptions", "post v1/quarantine/<id:item_id>/release",
    "post v1/quarantine/<id:item_id>/discard", "get v1/webhooks", "post v1/webhooks",
    "get v1/webhooks/<id:webhook_id>", "patch v1/webhooks/<id:webhook_id>",
    "delete v1/webhooks/<id:webhook_id>", "post v1/webhooks/<id:webhook_id>/secret",
    "post v1/webhooks/<id:webhook_id>/test", "post v1/webhooks/<id:webhook_id>/replay",
    "get v1/webhooks/<id:webhook_id>/deliveries",
    "post v1/webhooks/<id:webhook_id>/deliveries/<id:delivery_id>/replay",
    "post v1/exports/training", "get v1/exports/training", "get v1/exports/training/<id:dataset_id>",
    "delete v1/exports/training/<id:dataset_id>", "get v1/exports/training/<id:dataset_id>/<str:file>",
    "post v1/adapters", "post v1/adapters/<id:adapter_id>/activate", "post v1/adapters/<id:adapter_id>/retire",
    "delete v1/users/<id:user_id>", "get v1/users/<id:user_id>/erasure", "post v1/cubes",
    "post v1/cubes/register", "patch v1/cubes/<id:cube_id>", "delete v1/cubes/<id:cube_id>",
    "get v1/cubes/<id:cube_id>/shares", "post v1/cubes/<id:cube_id>/shares",
    "delete v1/cubes/<id:cube_id>/shares/<id:user_id>", "post product/create_cube",
    "post product/register_cube", "post configure", "post mem_cubes",
    "delete mem_cubes/<str:mem_cube_id>", "post mem_cubes/<str:mem_cube_id>/share",
}  # fmt: skip
# Quarantined items are shown to those who may release them, and uploads to those who send them.
SEEN_BY_WRITERS = {"get v1/quarantine", "get v1/quarantine/<id:item_id>", "get v1/uploads/<id:upload_id>"}

# These routes write and return stored content, or show quarantined items, so the key needs the scope to read as well.
READ_AS_WELL = {
    "get v1/quarantine", "get v1/quarantine/<id:item_id>", "post v1/documents/<path:document_id>/reparse",
    "post v1/ops/jobs/<id:job_id>/replay", "post v1/ops/jobs/<id:job_id>/discard",
    "post v1/cubes/files/<id:file_id>/cancel", "post v1/memories/bulk/<id:change_id>/undo",
    "post v1/entities/<id:entity_id>/merge", "post v1/entities/<id:entity_id>/split",
    "post v1/imports/<id:import_id>/cancel", "put memories/<str:mem_cube_id>/<id:memory_id>",
    "put v1/memories/<id:memory_id>/", "post v1/users", "patch v1/users/<id:user_id>",
}  # fmt: skip


def routes() -> list[tuple[str, str]]:
    """Return every (method, route) of the API's URL configuration except the public ones.

    A view that was called has HEAD, too, which is GET.
    """
    return [
        (method, str(pattern.pattern))
        for pattern in urlpatterns
        if str(pattern.pattern) not in PUBLIC and not str(pattern.pattern).startswith(("docs/", "openapi/"))
        for method in pattern.callback.actions
        if method != "head"
    ]


def address(route: str) -> str:
    filled = re.sub(r"<id:\w+>", "01a1f915-2054-75a1-9f3a-d010f79b72ce", route)
    return "/" + filled.replace("<path:document_id>", "x").replace("<int:number>", "1")


def call(client: Client, method: str, path: str, body: object) -> object:
    return getattr(client, method)(path, data=body, content_type="application/json")


@pytest.mark.parametrize(("method", "route"), routes())
def test_without_a_key_nothing_is_served(olga, method, route):
    answer = call(olga, method, address(route), {} if method != "get" else None)

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer mos_",
        "Bearer mos_00000000_x",
        "Bearer \x00",
        "mos_1_2",
        "Bearer mos__",
    ],
)
def test_a_key_that_is_none_is_refused(db, header):
    assert Client(headers={"Authorization": header}).get("/v1/ops/stats").status_code == 401


def test_a_right_prefix_with_a_wrong_secret_is_refused_like_an_unknown_key(alice):
    prefix = alice.token.split("_")[1]
    wrong = Client(headers={"Authorization": f"Bearer mos_{prefix}_wrong"}).get("/v1/ops/stats")
    unknown = Client(headers={"Authorization": "Bearer mos_ffffffff_wrong"}).get("/v1/ops/stats")

    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json()["error"]["message"] == unknown.json()["error"]["message"]


def test_an_expired_and_a_revoked_key_are_refused(alice, make_tenant):
    late = make_tenant("late", expires_at=timezone.now() + timedelta(hours=1))
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired" in late.get("/v1/ops/stats").json()["error"]["message"]

    ApiKey.objects.update(expires_at=None)
    assert alice.get("/v1/ops/stats").status_code == 200
    key = ApiKey.objects.get(prefix=alice.token.split("_")[1])
    revoke_key(key_id=key.pk, actor="tests", now=timezone.now())
    refused = alice.get("/v1/ops/stats")
    assert refused.status_code == 401
    assert "revoked" in refused.json()["error"]["message"]


def test_only_a_digest_of_the_key_is_stored(alice):
    row = ApiKey.objects.values().get(prefix=alice.token.split("_")[1])

    assert alice.token.split("_", 2)[2] not in str(row)


def test_last_use_is_noted_at_most_once_a_minute(alice):
    alice.get("/v1/ops/stats")
    first = ApiKey.objects.get().last_used_at
    alice.get("/v1/ops/stats")

    assert first is not None
    assert ApiKey.objects.get().last_used_at == first


# The scopes of keys: routes that need two are asked with two as well.
ONE_SCOPE = (("read",), ("write",), ("admin",))
SCOPES = (*ONE_SCOPE, ("read", "write"), ("read", "admin"))


def test_a_scope_opens_its_routes_and_no_other(make_tenant):
    keys = {scopes: make_tenant("alice", scopes=scopes) for scopes in SCOPES}
    wrong = {}
    for method, route in routes():
        asked = SCOPES if f"{method} {route}" in READ_AS_WELL else ONE_SCOPE
        opened = {scopes for scopes in asked if opens(keys[scopes], method, route)}
        if opened != openers(method, route) & {*asked}:
            wrong[f"{method} {route}"] = opened

    assert wrong == {}


def openers(method: str, route: str) -> set[tuple[str, ...]]:
    """Which of SCOPES the route needs."""
    name = f"{method} {route}"
    reads = (method == "get" and name not in SEEN_BY_WRITERS) or route in READ_BY_POST
    needed = {"admin" if name in ADMIN else "read" if reads else "write"}
    if name in READ_AS_WELL:
        needed.add("read")
    return {scopes for scopes in SCOPES if name in OPEN_TO_ALL or needed <= set(scopes)}


def opens(key: Tenant, method: str, route: str) -> bool:
    """Return whether the key is let in. Nothing of what the route does stays, and the keys are known anew."""
    # As mem0's clients send it: of their routes, some lead to ours else, which have no slash at the end.
    client = Client(headers={"Authorization": f"Token {key.token}"}) if route.endswith("/") else key.client
    with transaction.atomic():
        answer = call(client, method, address(route), {} if method != "get" else None)
        if answer.streaming:
            # Read to its end, it is no longer one of the key's open streams.
            b"".join(answer)
        transaction.set_rollback(True)
    caches.forget_all()
    # What a policy forbids is looked at only after the scope.
    return answer.status_code != 403 or b"training.consent" in answer.content


def test_another_tenants_namespace_is_not_there(alice, bob, remember):
    remember(alice, "Alice's secret is a blue door.")

    for method, path, body in CALLS[:5]:
        answer = call(bob.client, method, path, body)
        assert answer.status_code == 404, path
        absent = call(bob.client, method, path.replace("alice", "nobody"), replaced(body))
        assert absent.status_code == 404, path
        assert answer.json()["error"]["code"] == absent.json()["error"]["code"]
    for path in ("audit", "condensations", "context_packs"):
        assert bob.get(f"/v1/ops/{path}", namespace="alice").status_code == 404
    assert Memory.objects.across_namespaces().count() == 1


def replaced(body: object) -> object:
    if isinstance(body, dict):
        return {name: replaced(value) for name, value in body.items()}
    if isinstance(body, list):
        return [replaced(value) for value in body]
    return "nobody" if body == "alice" else body


def test_listings_and_totals_show_the_callers_own_namespaces_only(alice, bob, remember):
    remember(alice, "Alice's secret is a blue door.")
    alice.post("/v1/query", QUESTION)
    remember(bob, "Bob likes red.")

    assert bob.get("/v1/ops/stats").json()["total_memories"] == 1
    assert {event["namespace"] for event in bob.get("/v1/ops/audit").json()["events"]} == {"bob"}
    assert bob.get("/v1/ops/context_packs").json()["context_packs"] == []
    assert len(alice.get("/v1/ops/context_packs").json()["context_packs"]) == 1


def test_a_query_never_returns_another_tenants_memory(alice, bob, remember):
    for number in range(30):
        remember(alice, f"blue door number {number}")
    own = remember(bob, "something else entirely")

    body = bob.post("/v1/query", QUESTION | {"namespace": "bob", "query": "blue door", "top_k": 50}).json()

    assert [chunk["id"] for chunk in body["raw_chunks"]] == [own]


def test_a_key_for_all_namespaces_makes_new_ones_only_if_it_may_write(make_tenant):
    writer = make_tenant("any", all_namespaces=True)
    reader = make_tenant("any", scopes=("read",), all_namespaces=True)

    assert reader.post("/v1/ingest", TURN | {"namespace": "fresh"}).status_code == 403
    assert not Namespace.objects.filter(name="fresh").exists()
    assert writer.post("/v1/ingest", TURN | {"namespace": "fresh"}).status_code == 200
    assert reader.post("/v1/query", QUESTION | {"namespace": "fresh"}).status_code == 200
    assert Namespace.objects.filter(name="fresh").exists()


def test_the_rate_limit_of_a_key_is_kept(make_tenant, monkeypatch):
    monkeypatch.setattr("memory.api.throttling.time.time", lambda: 1_800_000_015.0)
    slow = make_tenant("slow", requests_per_minute=3)
    fast = make_tenant("fast")

    assert [slow.get("/v1/ops/stats").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = slow.get("/v1/ops/stats")
    assert refused["Retry-After"] == "46"
    assert refused.json()["error"]["code"] == "rate_limited"
    assert fast.get("/v1/ops/stats").status_code == 200


@override_settings(MEMOS_ANONYMOUS=True)
def test_anonymous_clients_are_served_where_the_server_allows_it(olga):
    assert olga.post("/v1/ingest", data=TURN, content_type="application/json").status_code == 200
    assert olga.post("/v1/query", data=QUESTION, content_type="application/json").status_code == 200


@override_settings(MEMOS_ANONYMOUS=True)
def test_a_wrong_key_is_refused_also_where_anonymous_clients_are_served(db):
    assert Client(headers={"Authorization": "Bearer nonsense"}).get("/v1/ops/stats").status_code == 401
