"""Every refusal, of every route, has one shape."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import unquote_to_bytes

import pytest
from django.core.exceptions import SuspiciousOperation
from django.db import OperationalError
from django.test import Client
from django.urls import get_resolver

from memory.api.urls import urlpatterns

SHAPE = {"code", "message", "detail", "request_id"}
# Additional fields of routes that speak OpenAI's API.
OPENAI = {"type", "param"}
ROUTES = [str(pattern.pattern) for pattern in urlpatterns]


def error_of(answer) -> dict:
    assert answer["Content-Type"].startswith("application/json"), answer.content[:200]
    error = answer.json()["error"]
    assert set(error) in (SHAPE, SHAPE | OPENAI)
    assert error["code"].isidentifier()
    assert error["message"]
    assert error["request_id"] == answer["X-Request-ID"]
    return error


@pytest.mark.parametrize("route", ROUTES)
def test_a_wrong_method_is_refused_in_shape(alice, route):
    path = re.sub(r"<int:\w+>", "0", re.sub(r"<(?:uu)?id:\w+>", "01a1f915-2054-75a1-9f3a-d010f79b72ce", route))
    # Some of mem0's routes, which end with a slash, are MemOS's own for callers who send the key differently.
    scheme = "Token" if route.endswith("/") else "Bearer"
    answer = alice.client.generic("PURGE", f"/{path}", headers={"Authorization": f"{scheme} {alice.token}"})

    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path",
    ["/v1/nothing", "/v1/nothing/", "/v2", "/health/what", "/v1/ops/stats/1", "/%C3%BCnder"],
)
def test_an_unknown_path_is_refused_in_shape(alice, path):
    answer = alice.client.get(path)

    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_nul_in_an_address_is_a_400_on_every_route(method):
    client = Client(raise_request_exception=True)
    for route in [*ROUTES, "", "ops/", "admin/", "static/x.css", "nowhere"]:
        path = f"/{re.sub('<[^>]*>', 'a%00b', route)}"
        for address in (f"{path}%00", f"{path}?namespace=a%00b", *([path] if "%00" in path else [])):
            answer = client.generic(method, address)
            assert answer.status_code == 400, address
            assert "NUL" in error_of(answer)["message"]


@pytest.mark.parametrize("part", ["%ED%A0%80", "%ff", "a%C0%80b"])
def test_what_is_no_utf_8_in_an_address_is_refused(alice, part):
    for route in ROUTES:
        path = re.sub("<[^>]*>", part, route)
        for address in (f"/{path}?namespace={part}", f"/{path}?namespace=alice&cursor={part}&text={part}"):
            answer = alice.client.get(address)
            assert answer.status_code == 400, address
            assert "UTF-8" in error_of(answer)["message"]


@pytest.mark.parametrize(("sent", "status"), [("%ED%A0%80", 400), ("%ff", 400), ("%C3%BC", 404), ("%E6%96%87", 404)])
def test_a_path_is_judged_as_it_was_sent(alice, sent, status):
    answer = alice.client.get(f"/v1/documents/{sent}", **{"memos.path": unquote_to_bytes(f"/v1/documents/{sent}")})

    assert answer.status_code == status, answer.content


def test_a_wrong_host_is_refused_in_shape(alice):
    answer = alice.client.get("/v1/ops/stats", headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert "evil.example" in error_of(answer)["message"]


def test_a_failure_is_a_500_in_shape_that_tells_nothing_of_its_cause(alice, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the secret cause")

    monkeypatch.setattr("memory.api.views.ops.stats.totals", fail)
    alice.client.raise_request_exception = False

    answer = alice.get("/v1/ops/stats")

    assert answer.status_code == 500
    assert error_of(answer)["code"] == "internal_error"
    assert "secret cause" not in answer.content.decode()


def test_a_database_that_is_away_is_a_503_in_shape_and_one_short_line_in_the_log(alice, monkeypatch, caplog):
    def fail(*_, **__):
        raise OperationalError("connection refused")

    monkeypatch.setattr("memory.api.views.query.query", fail)

    answer = alice.post("/v1/query", {"namespace": "alice", "session_id": "s", "query": "q"})

    assert answer.status_code == 503
    assert error_of(answer)["code"] == "database_unavailable"
    assert answer["Retry-After"] == "1"
    [record] = [record for record in caplog.records if record.getMessage() == "database unavailable"]
    assert (record.error, record.reason, record.exc_info) == ("OperationalError", "connection refused", None)


def test_a_suspicious_request_is_refused_in_shape(alice, monkeypatch):
    def fail(*_, **__):
        raise SuspiciousOperation("odd")

    monkeypatch.setattr("memory.api.views.ops.stats.totals", fail)

    assert error_of(alice.get("/v1/ops/stats"))["code"] == "invalid_request"


def test_a_clients_request_id_comes_back_and_a_wild_one_does_not(alice):
    assert alice.client.get("/health", headers={"X-Request-ID": "abc-1"})["X-Request-ID"] == "abc-1"
    wild = alice.client.get("/health", headers={"X-Request-ID": "a b\tc" * 50})["X-Request-ID"]
    assert " " not in wild


def test_pages_keep_their_html_errors(db):
    answer = Client().get("/ops/nothing/here/")

    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_every_route_of_the_api_is_known_to_this_test():
    resolved = {pattern.route for pattern in _leaves(get_resolver().url_patterns)}
    api = {route for route in resolved if not route.startswith(("admin/", "ops/", "guide/"))}

    assert api - {""} == set(ROUTES)


def _leaves(patterns, prefix=""):
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from _leaves(pattern.url_patterns, route)
        else:
            yield SimpleNamespace(route=route)
