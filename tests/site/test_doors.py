"""Request paths and headers: pages with the strict policy, and existing namespaces."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memory.errors import NotFound
from memory.models.queries import tenancy as queries
from memory.services.tenancy import namespaces
from memory.types import Access

POLICY = "default-src 'none'; script-src 'self'"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/ops/", "/admin/login/", "/docs", "/docs?script="])
@pytest.mark.parametrize("script", ["", "/elsewhere", "/v1"])
def test_pages_have_the_strict_policy_whatever_they_are_mounted_under(path, script):
    answer = Client(SCRIPT_NAME=script).get(path)

    assert answer.headers["Content-Security-Policy"].startswith(POLICY)


@pytest.mark.django_db
def test_the_api_is_no_page_even_under_a_pages_path():
    answer = Client(SCRIPT_NAME="/ops").get("/health/live")

    assert "Content-Security-Policy" not in answer.headers
    assert Client(SCRIPT_NAME="/ops").get("/nothing").json()["error"]["code"] == "not_found"


def test_the_documentation_has_nothing_inline_and_nothing_from_elsewhere():
    html = Client().get("/docs").content.decode()

    assert not re.search(r"<style|\son\w+=|style=", html)
    assert not re.search(r"<script[^>]*>[^<]", html)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html)
    assert "/static/" in html
    assert Client().get("/docs?script=").headers["Content-Type"].startswith("application/javascript")


@pytest.mark.django_db
def test_another_tenants_namespace_costs_what_one_that_is_not_there_costs(alice, bob, monkeypatch):
    """A process that knows the name would answer sooner, and so reveal that the namespace exists."""
    asked: list[str] = []
    find = queries.find_namespace_id

    def counted(name: str) -> int | None:
        asked.append(name)
        return find(name)

    monkeypatch.setattr(queries, "find_namespace_id", counted)
    reader = Access(actor="t", scopes=frozenset({"read"}), namespace_ids=frozenset({bob.scope.namespace_id}))
    namespaces.scope_for(Access(actor="t", scopes=frozenset({"read"}), all_namespaces=True), name="alice")
    asked.clear()

    for name in ("alice", "nowhere", "alice", "nowhere"):
        with pytest.raises(NotFound):
            namespaces.scope_for(reader, name=name)
    assert asked == ["alice", "nowhere", "alice", "nowhere"]
    for _ in range(3):
        assert namespaces.scope_for(reader, name="bob").namespace_id == bob.scope.namespace_id
    assert asked[4:] == ["bob"]
