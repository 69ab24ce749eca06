"""Every route handles requests that are not meant for it: unknown fields, wrong methods, ids and cursors."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from django.urls import Resolver404, resolve

from memory.api.urls import urlpatterns
from memory.api.views.openapi import build_document, build_whole

ID = "01a1f915-2054-75a1-9f3a-d010f79b72ce"
# Routes for other vendors' clients, which send more than is read.
OTHERS = {"Anthropic", "mem0", "Hindsight", "MemTensor", "OpenAI"}


def operations() -> list[tuple[str, str, dict]]:
    return [
        (method.upper(), re.sub(r"\{\w+\}", ID, path.replace("{number}", "1")), operation)
        for path, methods in build_whole()["paths"].items()
        for method, operation in methods.items()
        if not path.startswith(("/health", "/v1/retrieval"))
    ]


OURS = [(method, path, described) for method, path, described in operations() if not OTHERS & set(described["tags"])]
COMPATIBLE = [(method, path) for method, path, described in operations() if OTHERS & set(described["tags"])]
WITH_BODY = [
    (method, path)
    for method, path, described in OURS
    if "application/json" in described.get("requestBody", {}).get("content", {})
]
WITHOUT_BODY = [(method, path) for method, path, described in OURS if "requestBody" not in described]


def problems(answer) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    return {one["field"]: one["problem"] for one in answer.json()["error"]["detail"]}


@pytest.fixture
def admin(make_tenant):
    return make_tenant("alice", scopes=["read", "write", "admin"])


def send(tenant, method: str, path: str, body: object = None, query: str = ""):
    return tenant.client.generic(
        method,
        f"{path}?{query}" if query else path,
        data="" if body is None else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {tenant.token}"},
    )


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in OURS])
def test_a_parameter_that_nothing_reads_is_refused(admin, method, path):
    answer = send(admin, method, path, {} if (method, path) in WITH_BODY else None, "zzqx=1")

    assert "zzqx" in problems(answer)


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_a_field_that_nothing_reads_is_refused(admin, method, path):
    assert "zzqx" in problems(send(admin, method, path, {"zzqx": 1}))


@pytest.mark.parametrize(("method", "path"), [one for one in WITHOUT_BODY if one[0] != "GET"])
def test_a_body_where_none_is_read_is_refused(admin, method, path):
    assert "zzqx" in problems(send(admin, method, path, {"zzqx": 1}))


@pytest.mark.parametrize(("method", "path"), COMPATIBLE)
def test_the_routes_of_other_makers_take_what_their_clients_send(admin, method, path):
    answer = send(admin, method, path, {"zzqx": 1} if method != "GET" else None, "zzqx=1")

    said = getattr(answer, "content", b"")
    assert b"did you mean" not in said
    assert b"is not known here" not in said


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/query", {"namespace": "alice", "query": "q", "filters": {}}, "filters: did you mean filter?"),
        ("/v1/search", {"namespace": "alice", "query": "q", "topk": 3}, "topk: did you mean top_k?"),
        ("/v1/search", {"namespace": "alice", "query": "q", "Top_K": 3}, "Top_K: did you mean top_k?"),
        ("/v1/ingest", {"namespace": "alice", "txt": "t"}, "txt: did you mean text?"),
        (
            "/v1/ingest/batch",
            {"items": [{"namespace": "alice", "text": "t"}, {"namespace": "alice", "text": "t", "sesion_id": "s"}]},
            "items[1].sesion_id: did you mean session_id?",
        ),
    ],
)
def test_an_unknown_field_is_told_with_the_nearest(alice, path, body, says):
    answer = alice.post(path, body)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(says)


def test_a_field_in_the_wrong_place_is_told_where_it_belongs(alice):
    in_query = send(alice, "POST", "/v1/query", {"query": "q"}, "namespace=alice")
    in_body = send(alice, "DELETE", f"/v1/memories/{ID}", {"reason": "wrong"})

    assert problems(in_query)["namespace"] == "belongs into the body."
    assert problems(in_body)["reason"] == "belongs into the query string."


def test_a_question_of_a_batch_is_refused_by_itself(alice):
    questions = [{"query": "q"}, {"query": "q", "filters": {}}]
    answer = alice.post("/v1/search/batch", {"questions": questions, "defaults": {"namespace": "alice"}})

    first, second = answer.json()["results"]
    assert (first["status"], second["status"]) == (200, 400)
    assert second["error"]["message"] == "filters: did you mean filter?"


def test_a_misspelt_field_of_a_filter_is_told_with_the_nearest(alice):
    answer = alice.post("/v1/search", {"namespace": "alice", "query": "q", "filter": {"sesion_id": "s"}})

    assert problems(answer)["filter.sesion_id"].startswith("did you mean session_id?")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_wrong_method_is_told_which_is_taken(alice, method):
    for path, taken in (("/v1/query", "POST"), ("/v1/ops/stats", "GET"), ("/health", "GET"), ("/mcp", "POST")):
        if method == taken:
            continue
        answer = send(alice, method, path)
        assert answer.status_code == 405
        assert answer.json()["error"]["message"] == f"{method} is not taken here: send {taken} {path}."
        assert taken in answer["Allow"]


@pytest.mark.parametrize("route", [str(one.pattern) for one in urlpatterns if "<id:" in str(one.pattern)])
def test_an_id_that_is_none_says_so(admin, route):
    path = "/" + re.sub(r"<id:\w+>", "seven", re.sub(r"<(?!id:)\w+:\w+>", "7", route))
    view = resolve(path).func
    for method in set(view.actions) - {"head"}:
        # mem0's routes with a final slash are MemOS's own routes for callers with a bearer key.
        key = {"headers": {"Authorization": f"Token {admin.token}"}} if path.endswith("/") else {}
        answer = admin.client.generic(method.upper(), path, data="{}", content_type="application/json", **key)
        assert answer.status_code == 400, answer.content
        assert "must be a UUID" in answer.content.decode()


def test_an_id_hides_no_route():
    for pattern in urlpatterns:
        route = str(pattern.pattern)
        if "<" not in route:
            assert resolve(f"/{route}").route == route
    with pytest.raises(Resolver404):
        resolve("/v1/memories/seven/nothing")


CURSORS = {
    path: parameter
    for path, operation in (
        (path, methods["get"]) for path, methods in build_document()["paths"].items() if "get" in methods
    )
    for parameter in operation.get("parameters", ())
    if parameter["name"] == "cursor"
}


@pytest.mark.parametrize("path", CURSORS)
def test_a_cursor_of_another_route_is_refused(admin, path):
    other = "users" if path != "/v1/users" else "memories"
    address = re.sub(r"\{\w+\}", ID, path)
    for cursor in (f"{other}.{uuid.uuid4()}", str(uuid.uuid4()), "users", "x"):
        answer = admin.get(address, namespace="alice", cursor=cursor)
        assert answer.status_code == 400, answer.content
        assert "cursor" in str(answer.json()["error"]["detail"])


def test_a_cursor_leads_to_the_next_page(alice):
    for number in range(3):
        alice.post("/v1/ingest", {"namespace": "alice", "text": f"The parcel {number} has arrived."})
    first = alice.get("/v1/memories", namespace="alice", limit=2).json()
    rest = alice.get("/v1/memories", namespace="alice", limit=2, cursor=first["next_cursor"]).json()

    assert first["next_cursor"].startswith("memories.")
    texts = [one["text"] for one in [*first["memories"], *rest["memories"]]]
    assert sorted(texts) == [f"The parcel {number} has arrived." for number in range(3)]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("operator", ["contains", "icontains"])
def test_the_empty_text_is_in_no_memory(alice, operator):
    alice.post("/v1/ingest", {"namespace": "alice", "text": "The parcel has arrived."})
    question = {"namespace": "alice", "query": "the parcel"}

    assert alice.post("/v1/search", {**question, "filter": {"text": {operator: ""}}}).json()["hits"] == []
    assert alice.post("/v1/search", {**question, "filter": {"text": {operator: "parcel"}}}).json()["hits"]


@pytest.mark.parametrize("place", ["text", "namespace", "metadata"])
def test_half_of_a_surrogate_pair_in_a_body_is_refused(alice, place):
    fields = {"namespace": '"alice"', "text": '"a text"', "metadata": "{}"}
    fields[place] = '{"a": {"b": ["\\ud800"]}}' if place == "metadata" else '"x\\udfff"'
    body = "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
    headers = {"Authorization": f"Bearer {alice.token}"}
    for path in ("/v1/ingest", "/v3/memories/add/", "/mcp", "/product/add", "/v1/chat/completions"):
        answer = alice.client.generic("POST", path, data=body, content_type="application/json", headers=headers)
        assert answer.status_code == 400, (path, answer.content)
