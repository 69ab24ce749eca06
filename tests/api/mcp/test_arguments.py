"""Arguments as models fill them in: blanks, numbers as text, JSON as text."""

from __future__ import annotations

from typing import Any

import pytest

from memory.models import Memory, Namespace
from tests.api.mcp.client import use, work

pytestmark = pytest.mark.django_db

ASKED = {"query": "oolong"}
SAID = {"text": "A plain fact."}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        *(("search_memories", {**ASKED, name: value}) for name in ("filter", "as_of", "valid_at", "top_k", "cubes")
          for value in ("", " ", "null", None)),
        ("search_memories", {**ASKED, "top_k": "5", "min_relevance": "0.1"}),
        ("search_memories", {**ASKED, "filter": '{"speaker": "Ann"}', "cubes": "[]", "namespace": ""}),
        ("add_memory", {**SAID, "messages": []}),
        ("add_memory", {**SAID, "messages": "[]", "session_id": "", "occurred_at": "", "idempotency_key": ""}),
        ("add_memory", {**SAID, "metadata": '{"a": 1}', "speaker": "", "role": ""}),
        ("add_memory", {"text": "", "messages": '[{"role": "user", "content": "hello there", "name": ""}]'}),
        ("add_memory", {"messages": ['{"role": "user", "content": "hello there"}']}),
        ("list_memories", {"role": "", "state": "", "since": "", "limit": "", "cursor": "", "pinned": ""}),
        ("list_memories", {"pinned": "False", "current": "true", "limit": "3"}),
        ("get_context", {**ASKED, "session_id": "", "max_tokens": "500"}),
        ("answer", {**ASKED, "max_tokens": " 300 ", "session_id": "null"}),
    ],
)  # fmt: skip
def test_what_stands_for_nothing_or_says_it_as_text_is_read(alice, tool, arguments):
    result = use(alice.client, tool, **arguments)

    assert not result["isError"], result["content"]


def test_what_is_read_counts(alice, remember):
    for number in range(4):
        remember(alice, f"Ann likes oolong number {number}.", speaker="Ann" if number else "Bob")

    assert len(work(alice.client, "list_memories", limit="2")["memories"]) == 2
    found = work(alice.client, "search_memories", query="oolong", filter='{"speaker": "Bob"}')["memories"]
    assert [one["speaker"] for one in found] == ["Bob"]
    changed = work(
        alice.client, "update_memory", memory_id=found[0]["memory_id"], metadata='{"a": [1]}', text="", revision="1"
    )
    assert changed["changed"] == ["metadata"]
    assert Memory.objects.in_scope(alice.scope).get(pk=found[0]["memory_id"]).metadata == {"a": [1]}


def test_a_text_may_say_null(alice):
    work(alice.client, "add_memory", text="null", speaker="Null")

    memory = Memory.objects.in_scope(alice.scope).get()
    assert (memory.text, memory.speaker) == ("null", "Null")


@pytest.mark.parametrize(("name", "value"), [("top_k", "five"), ("top_k", "true"), ("filter", "[1]"), ("cubes", "x")])
def test_what_cannot_be_read_is_refused_by_its_name(alice, name, value):
    result = use(alice.client, "search_memories", **{**ASKED, name: value})

    assert result["isError"]
    assert f'"field":"{name}"' in result["content"][0]["text"]


@pytest.mark.parametrize("name", [" ", "\t\n", "null", "Null", " None ", "undefined"])
def test_no_namespace_is_made_of_a_name_that_stands_for_none(make_tenant: Any, name: str):
    anyone = make_tenant("any", all_namespaces=True)

    for tool, arguments in (("add_memory", SAID), ("search_memories", ASKED), ("list_memories", {})):
        result = use(anyone.client, tool, namespace=name, **arguments)
        assert result["isError"]
        assert '"field":"namespace"' in result["content"][0]["text"]
    assert anyone.post("/v1/ingest", {"namespace": name, "text": "hello"}).status_code == 400
    assert not Namespace.objects.filter(name=name).exists()
