"""Answers of tools fit into a result and say how to get the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory.api.mcp.result_size import fit, part_of, size_of
from tests.api.mcp.client import ask, message, post, use, work

pytestmark = pytest.mark.django_db

LIMIT = 25_000
SENTENCE = "The harbour review covers scheduling, budget and staffing for the northern quay. "


@pytest.fixture
def harbour(alice: Any) -> list[str]:
    """The ids of 60 long memories of one session, oldest first."""
    ids = []
    for start in range(0, 60, 20):
        items = [
            {
                "namespace": "alice",
                "session_id": "s",
                "text": f'Entry {number} "quoted"\n' + (SENTENCE * 60)[:3_900] + f" code{number}",
                "metadata": {"blob": "m" * 2_000, **{f"key{place}": place for place in range(50)}},
            }
            for number in range(start, start + 20)
        ]
        answer = alice.post("/v1/ingest/batch", {"items": items})
        assert answer.status_code == 200, answer.content
        ids += [item["memory_id"] for item in answer.json()["results"]]
    return ids


def text_of(result: dict[str, Any]) -> str:
    [content] = result["content"]
    return str(content["text"])


def test_every_tool_fits(alice, harbour):
    for tool, arguments in (
        ("search_memories", {"query": "harbour review"}),
        ("search_memories", {"query": "harbour review", "top_k": 50}),
        ("list_memories", {"limit": 200}),
        ("get_context", {"query": "harbour review", "session_id": "s", "max_tokens": 200_000}),
        ("answer", {"query": "What does the review cover?"}),
        ("search", {"query": "harbour review"}),
        ("fetch", {"id": harbour[0]}),
        ("get_memory", {"memory_id": harbour[0]}),
    ):
        result = use(alice.client, tool, **arguments)
        assert not result["isError"], result
        assert len(text_of(result)) <= LIMIT, (tool, arguments)
        # Nothing of it comes a second time.
        assert size_of({**result, "_meta": None}) <= 2 * LIMIT
    resource = ask(alice.client, "resources/read", {"uri": "memos://alice/sessions/s"})
    assert size_of(resource["contents"]) <= LIMIT + 200
    assert "code59" in resource["contents"][0]["text"]
    assert "`list_memories`" in resource["contents"][0]["text"]


def test_each_hit_is_there_by_its_id_and_leads_to_the_whole(alice, harbour):
    found = work(alice.client, "search_memories", query="harbour review", top_k=50)
    ids = [one["memory_id"] for one in found["memories"]] + found.get("more_ids", [])

    assert len(set(ids)) == 50
    assert set(ids) <= set(harbour)
    assert "text" in found["memories"][0]["cut"]
    whole = work(alice.client, "get_memory", memory_id=ids[-1])["memory"]
    assert whole["text"].endswith(f"code{harbour.index(ids[-1])}")
    assert "cut" not in whole


def test_the_pages_of_a_list_leave_nothing_out(alice, harbour):
    seen: list[str] = []
    cursor = None
    while True:
        page = work(alice.client, "list_memories", limit=200, cursor=cursor)
        assert size_of(page) <= LIMIT
        seen += [one["memory_id"] for one in page["memories"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == harbour[::-1]


def test_a_long_text_is_read_in_parts(alice, remember):
    said = "".join(f'Line {number}: "so" he said.\n' for number in range(700))
    memory_id = remember(alice, said)
    parts, fetched, offset = [], [], 0
    while offset is not None:
        result = use(alice.client, "get_memory", memory_id=memory_id, offset=offset)
        assert len(text_of(result)) <= LIMIT
        memory = json.loads(text_of(result))["memory"]
        parts.append(memory["text"])
        offset = memory.get("next_offset")
    offset = 0
    while offset is not None:
        document = work(alice.client, "fetch", id=memory_id, offset=offset)
        fetched.append(document["text"])
        offset = document["metadata"].get("next_offset")

    assert "".join(parts) == "".join(fetched) == alice.get(f"/v1/memories/{memory_id}").json()["text"]
    assert len(parts) == 1 + (len(said) > LIMIT)


def test_the_limit_is_a_setting(alice, harbour, settings):
    settings.MEMOS_MCP_RESULT_CHARS = 4_000

    for tool, arguments in (("search_memories", {"query": "harbour", "top_k": 50}), ("list_memories", {})):
        assert len(text_of(use(alice.client, tool, **arguments))) <= 4_000


def test_a_refusal_of_many_faults_fits(alice):
    messages = [{"role": "nobody", "content": 5} for _ in range(1_000)]

    result = use(alice.client, "add_memory", messages=messages)

    assert result["isError"]
    assert len(text_of(result)) <= LIMIT


def test_what_becomes_of_many_messages_fits(alice):
    messages = [{"role": "user", "content": f"We met at pier {number}."} for number in range(400)]

    told = use(alice.client, "add_memory", messages=messages, session_id="many")

    assert not told["isError"]
    assert len(text_of(told)) <= LIMIT
    answer = json.loads(text_of(told))
    assert len(answer["memory_ids"]) + answer["left_out"]["memory_ids"] == 400


@pytest.mark.parametrize("value", ["x" * 90_000, "\n" * 90_000, "夜" * 90_000, "\x01" * 90_000])
def test_any_answer_is_cut_to_the_limit(value):
    for answer in (
        {"memories": [{"memory_id": str(number), "text": value} for number in range(300)], "note": "n"},
        {"error": {"message": "m", "detail": [{"field": "a", "problem": value}] * 50}},
        {"answer": value, "citations": [{"n": 1, "quote": value}]},
        {"a": [value[:30]] * 2_000, "b": list(range(20_000))},
    ):
        assert size_of(fit(answer, LIMIT)) <= LIMIT
    parts, offset = [], 0
    while offset is not None:
        part, offset = part_of(value, offset, 10_000)
        assert size_of(part) <= 10_000
        parts.append(part)
    assert "".join(parts) == value


def test_a_small_answer_stays_as_it_is():
    answer = {"memories": [{"text": "x" * 100, "metadata": {}}], "note": "n"}

    assert fit(answer, LIMIT) is answer


def test_the_list_of_tools_names_no_format_that_clients_refuse(alice):
    tools = post(alice.client, message("tools/list")).json()["result"]["tools"]

    assert '"format"' not in json.dumps(tools)
    assert not any("outputSchema" in tool for tool in tools)
