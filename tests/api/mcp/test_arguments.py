"""Arguments as models fill them in: blanks, numbers as text, JSON as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory.api.mcp.tool_arguments import read_arguments
from memory.api.mcp.tools import CHATGPT_TOOLS, TOOLS
from memory.models import Memory, Namespace
from tests.api.mcp.client import message, use, work

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


# A right value of each argument, and what models write for it.
RIGHT: dict[str, Any] = {
    "query": "oolong",
    "text": "oolong",
    "messages": [{"role": "user", "content": "We met at the pier."}],
    "namespace": "alice",
    "session_id": "s1",
    "role": "user",
    "kind": "said",
    "state": "active",
    "speaker": "Ann",
    "occurred_at": "2026-05-08T13:56:00Z",
    "as_of": "2100-01-01T00:00:00Z",
    "valid_at": "2026-05-08T13:56:00Z",
    "since": "2026-05-08T13:56:00Z",
    "until": "2100-01-01T00:00:00Z",
    "filter": {"speaker": "Ann"},
    "metadata": {"a": 1},
    "cubes": [],
    "top_k": 5,
    "limit": 5,
    "offset": 0,
    "max_tokens": 500,
    "min_relevance": 0.5,
    "importance": 0.5,
    "pinned": True,
    "current": True,
    "reason": "why",
}
SOME_ID = "0198c3f2-5b1e-7d3a-9c41-2f60d8a7e513"
NOTHING = ("", " ", "\n", "null", "Null", "None", "undefined", None, [])


FREE_TEXTS = ("query", "text", "speaker", "reason")


def forms_of(name: str, schema: dict[str, Any], value: Any) -> list[Any]:
    """The value as models write it."""
    kind = schema["type"]
    if name in FREE_TEXTS:
        return [value, 3, 4.5]
    forms = [value, json.dumps(value)]
    if kind in ("integer", "number"):
        forms += [float(value), f" {float(value)} "]
    elif kind == "boolean":
        forms += ["True", "TRUE", " true "]
    elif kind == "array":
        forms += [[None, "", *value], *value, *map(json.dumps, value), [json.dumps(item) for item in value]]
    elif kind == "string":
        forms += [f" {value}\n", *([value.upper()] if "enum" in schema else [])]
    return forms


@pytest.mark.parametrize("tool", [*TOOLS, *CHATGPT_TOOLS], ids=lambda tool: str(tool.name))
def test_every_argument_of_every_tool_is_read_as_models_write_it(tool):
    right = {"memory_id": SOME_ID, "id": SOME_ID, **RIGHT}
    needed = {*tool.takes.get("required", ())}
    wrong = []
    for name, schema in tool.takes["properties"].items():
        forms = forms_of(name, schema, right[name]) if name in right else []
        wanted = read_arguments(tool.takes, {name: right.get(name)})
        if name in FREE_TEXTS:
            wrong += [(name, form) for form in forms if type(read_arguments(tool.takes, {name: form})[name]) is not str]
        else:
            wrong += [(name, form) for form in forms if read_arguments(tool.takes, {name: form}) != wanted]
        if name not in needed and name != "namespace" and name not in FREE_TEXTS:
            wrong += [(name, form) for form in NOTHING if read_arguments(tool.takes, {name: form}) != {}]

    assert wrong == []


@pytest.mark.parametrize("tool", [*TOOLS, *CHATGPT_TOOLS], ids=lambda tool: str(tool.name))
def test_every_tool_takes_its_arguments_as_text(alice, remember, tool):
    memory_id = remember(alice, "Ann likes oolong.", speaker="Ann", session="s1")
    right = {"memory_id": memory_id, "id": memory_id, **RIGHT}
    properties = {name: schema for name, schema in tool.takes["properties"].items() if name in right}
    if "text" in properties:
        properties.pop("messages", None)
    texts = {
        name: right[name] if schema["type"] == "string" else json.dumps(right[name])
        for name, schema in properties.items()
    }

    result = use(alice.client, tool.name, **texts)

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


def test_a_name_with_blanks_around_it_is_the_name(make_tenant: Any):
    anyone = make_tenant("any", all_namespaces=True)

    for name in ("ann", " ann\n", '"ann"'):
        work(anyone.client, "add_memory", namespace=name, session_id=f" {name} ", text=f"A fact for {name!r}.")

    assert [*Namespace.objects.filter(name__contains="ann").values_list("name", flat=True)] == ["ann"]
    assert {*Memory.objects.across_namespaces().values_list("session", flat=True)} == {"ann"}


def test_a_text_may_say_null(alice):
    work(alice.client, "add_memory", text="null", speaker="Null")

    memory = Memory.objects.in_scope(alice.scope).get()
    assert (memory.text, memory.speaker) == ("null", "Null")


@pytest.mark.parametrize(("name", "value"), [("top_k", "five"), ("top_k", "true"), ("filter", "[1]"), ("cubes", "x")])
def test_what_cannot_be_read_is_refused_by_its_name(alice, name, value):
    result = use(alice.client, "search_memories", **{**ASKED, name: value})

    assert result["isError"]
    assert f'"field":"{name}' in result["content"][0]["text"]


@pytest.mark.parametrize("name", [" ", "\t\n", "null", "Null", " None ", "undefined", '"null"', '""'])
def test_no_namespace_is_made_of_a_name_that_stands_for_none(make_tenant: Any, name: str):
    anyone = make_tenant("any", all_namespaces=True)

    for tool, arguments in (("add_memory", SAID), ("search_memories", ASKED), ("list_memories", {})):
        result = use(anyone.client, tool, namespace=name, **arguments)
        assert result["isError"]
        assert '"field":"namespace"' in result["content"][0]["text"]
    assert '"' in name or anyone.post("/v1/ingest", {"namespace": name, "text": "hello"}).status_code == 400
    assert not Namespace.objects.filter(name=name).exists()


@pytest.mark.parametrize("name", ["null", " ", "n" * 129])
def test_a_header_that_names_no_namespace(alice, name):
    body = message("tools/call", {"name": "add_memory", "arguments": {"text": "Tea is at five."}})
    answer = alice.post("/mcp", body, X_MemOS_Namespace=name).json()
    assert "X-MemOS-Namespace" in answer["error"]["message"]
    assert not Memory.objects.across_namespaces().exists()
