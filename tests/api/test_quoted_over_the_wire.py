"""No route returns texts that were erased or are no longer shared, as seen by clients of a running server."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.api.test_cubes import ben, boss, cube
from tests.job_queue import run_task

__all__ = ["ben", "boss", "cube"]

NUMBER = "X1234567"
ASKED = "What is my passport number?"


class Caller:
    """A client with a key."""

    def __init__(self, url: str, tenant: Any) -> None:
        self._url, self._tenant = url, tenant
        self.namespace = tenant.scope.namespace

    def call(self, method: str, path: str, body: Any = None) -> str:
        request = urllib.request.Request(
            self._url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._tenant.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            text: str = response.read().decode()
        return text

    def post(self, path: str, **body: Any) -> Any:
        return json.loads(self.call("POST", path, body))

    def erase(self, **target: Any) -> Any:
        asked = self.post("/v1/erasures", reason="asked by Ada", **target)
        run_task("erase", self._tenant.scope.namespace_id, asked["id"])
        return json.loads(self.call("GET", f"/v1/erasures/{asked['id']}"))

    def told(self, *sessions: str) -> str:
        """Return everything that the routes return about the namespace."""
        name = self.namespace
        parts = [
            self.call("POST", "/v1/answer", {"query": ASKED}),
            self.call("POST", "/v1/search", {"query": f"passport number {NUMBER}", "top_k": 50}),
            self.call("GET", f"/v1/memories/export?namespace={name}"),
            self.call("GET", f"/v1/memories?namespace={name}"),
            self.call("GET", f"/v1/ops/context_packs?namespace={name}&include_pack=true"),
            self.call("GET", f"/v1/ops/condensations?namespace={name}"),
            *(self.call("POST", "/v1/query", {"query": ASKED, "session_id": one}) for one in sessions),
        ]
        return "".join(parts)


@pytest.mark.django_db(transaction=True)
def test_an_erased_passport_number_is_told_by_no_route(live_server, alice):
    ada = Caller(live_server.url, alice)
    ada.post("/v1/ingest", session_id="s0", text=f"My passport number is {NUMBER}.", speaker="Ada")
    ada.post("/v1/ingest", session_id="s0", text="The harbour is old and quiet.", speaker="Bea")
    for session in ("s1", "s2"):
        answered = ada.post("/v1/answer", query=ASKED, session_id=session, remember=True)
        assert NUMBER in answered["answer"]
        assert [turn["role"] for turn in answered["remembered"]] == ["user", "agent"]
    assert NUMBER in ada.told("s1")

    receipt = ada.erase(speaker="Ada")

    assert (receipt["status"], receipt["proof"]["left"], receipt["named"], receipt["found"]) == ("finished", 0, 1, 3)
    assert receipt["proof"]["words"]["left"] == 0
    assert not any(receipt["proof"]["words"]["found"].values())
    assert NUMBER not in ada.told("s0", "s1", "s2")


@pytest.mark.django_db(transaction=True)
def test_what_was_quoted_of_a_shared_cube_does_not_stay_with_its_reader(live_server, boss, alice, bob, ben, cube):
    ada, reader = Caller(live_server.url, alice), Caller(live_server.url, bob)
    ada.post("/v1/ingest", session_id="s0", text=f"My passport number is {NUMBER}.", speaker="Ada")
    shares = f"/v1/cubes/{cube['id']}/shares"
    Caller(live_server.url, boss).post(shares, user_id=str(ben.pk), level="read")
    for session in ("s1", "s2"):
        said = reader.post("/v1/chat", message=ASKED, session_id=session, cubes=[cube["id"]])
        assert NUMBER in said["answer"]
        assert [turn["role"] for turn in said["remembered"]] == ["user"]
        assert "turn_not_remembered" in said["degraded"]
    assert NUMBER not in reader.told("s1", "s2")

    Caller(live_server.url, boss).call("DELETE", f"{shares}/{ben.pk}")
    receipt = ada.erase(speaker="Ada")

    assert (receipt["status"], receipt["proof"]["left"]) == ("finished", 0)
    assert NUMBER not in reader.told("s1", "s2")
    assert NUMBER not in ada.told("s0")
