"""Middleware: superfluous slashes, and pages for browsers."""

from __future__ import annotations

import pytest

ORIGINS = [f"http://{host}:{port}" for host in ("localhost", "127.0.0.1") for port in (3000, 5173)]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/v1/query/", "/v1/query"),
        ("/v1/query//", "/v1/query"),
        ("/v1/ops/audit/?limit=2&namespace=a%20b", "/v1/ops/audit?limit=2&namespace=a%20b"),
        ("/api/v1/memory/query/", "/api/v1/memory/query"),
        ("/health/", "/health"),
        ("/openapi.json/", "/openapi.json"),
        # mem0's routes for callers who do not send the key as mem0 does.
        ("/v1/memories/?namespace=alice", "/v1/memories?namespace=alice"),
        ("/v1/entities/", "/v1/entities"),
    ],
)
def test_a_slash_too_many_leads_to_the_route_with_method_and_body(alice, path, target):
    answer = alice.client.post(path, data={}, content_type="application/json")
    assert (answer.status_code, answer["Location"]) == (307, target)


def test_a_question_with_a_slash_too_many_is_answered(alice, remember):
    remember(alice, "The kiln is behind the harbour.")
    answer = alice.client.post(
        "/v1/query/", {"namespace": "alice", "query": "kiln"}, content_type="application/json", follow=True
    )
    assert answer.redirect_chain == [("/v1/query", 307)]
    assert len(answer.json()["raw_chunks"]) == 1


@pytest.mark.parametrize(
    "path",
    ["/v1/nothing/", "/v1/query/%0d%0aSet-Cookie:%20a=b/", "/\\evil.example/", "/v1//query/"],
)
def test_nobody_is_sent_elsewhere(alice, path):
    answer = alice.client.get(path)
    assert answer.status_code == 404
    assert "Location" not in answer


@pytest.mark.parametrize("path", ["/v1/ping", "/v3/memories/add"])
def test_a_route_of_mem0s_without_its_slash_is_not_there(alice, path):
    assert alice.client.post(path, data={}, content_type="application/json").status_code == 404


def test_a_page_without_its_slash_is_found(client, db):
    assert client.get("/ops")["Location"] == "/ops/"


@pytest.mark.parametrize("path", ["/ops/", "/admin/login/"])
def test_pages_keep_their_slash(client, db, path):
    assert "/ops/?" not in (answer := client.get(path)).get("Location", "")
    assert answer.status_code in (200, 302)


@pytest.mark.parametrize("origin", ORIGINS)
def test_consoles_that_are_developed_on_this_machine_may_call(alice, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization,content-type"
    preflight = alice.client.options("/v1/query", headers=asked)
    assert preflight["Access-Control-Allow-Origin"] == origin
    assert {"authorization", "content-type"} <= set(preflight["Access-Control-Allow-Headers"].split(", "))
    assert alice.client.get("/v1/ops/stats", headers={"Origin": origin})["Access-Control-Allow-Origin"] == origin
    # Cookies are not allowed, so a page without a key reads nothing.
    assert "Access-Control-Allow-Credentials" not in preflight


@pytest.mark.parametrize("origin", ["http://localhost:3001", "https://localhost:3000", "http://evil.example", "null"])
def test_other_pages_may_not(alice, origin):
    answer = alice.client.get("/v1/ops/stats", headers={"Origin": origin})
    assert "Access-Control-Allow-Origin" not in answer
