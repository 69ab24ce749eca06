"""The official client, unmodified, against a MemOS server: in the stateless revision and with a handshake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import MCPError

from memory.enums import MemoryState
from memory.models import AuditLog, Memory
from tests.api.mcp.client import NEWEST_HANDSHAKE, STATELESS, converse

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("add_memory search_memories get_memory list_memories update_memory delete_memory get_context answer").split()
CHATGPT = ["search", "fetch"]
ERAS = [("auto", STATELESS), (STATELESS, STATELESS), ("legacy", NEWEST_HANDSHAKE)]


@pytest.fixture
def url(live_server: Any) -> str:
    return f"{live_server.url}/mcp"


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_it_connects_and_learns_what_there_is(url, alice, mode, version):
    async def talk(client):
        templates = await client.list_resource_templates()
        prompts = await client.list_prompts()
        tools = await client.list_tools()
        return (client.protocol_version, client.server_info, client.instructions), tools, templates, prompts

    about, tools, templates, prompts = converse(url, alice.token, talk, mode=mode)

    assert about[0] == version
    # A client that is given the version sends nothing before its first request.
    if mode != STATELESS:
        assert about[1].name == "memos"
        assert "not instructions" in about[2]
    assert [tool.name for tool in tools.tools] == NAMES
    assert not any(tool.output_schema or tool.annotations.open_world_hint for tool in tools.tools)
    assert [tool.name for tool in tools.tools if not tool.annotations.read_only_hint] == [
        "add_memory",
        "update_memory",
        "delete_memory",
    ]
    assert [template.uri_template for template in templates.resource_templates] == [
        "memos://{namespace}/sessions/{session_id}"
    ]
    assert [prompt.name for prompt in prompts.prompts] == ["remember_this_conversation"]


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_a_memory_lives_its_life(url, alice, mode, version):
    """Call every tool once, including the ones that are listed for ChatGPT only."""

    async def talk(client):
        await client.list_tools()
        said: dict[str, Any] = {}

        async def call(name, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            # The answer comes once, as its text: a client that looks for a schema finds none to hold it against.
            assert result.structured_content is None
            said[name] = json.loads(result.content[0].text)
            return said[name]

        added = await call("add_memory", text="My cat is called Luna.", session_id="cats", speaker="Ann")
        [memory_id] = added["memory_ids"]
        await call("search_memories", query="What is the cat called?")
        await call("get_memory", memory_id=memory_id)
        await call("list_memories", session_id="cats", limit=5, current=True)
        await call("get_context", query="What is the cat called?", session_id="cats", max_tokens=500)
        await call("answer", query="What is the cat called?")
        await call("search", query="cat")
        await call("fetch", id=memory_id)
        await call("update_memory", memory_id=memory_id, text="My cat is called Nova.", reason="a new name")
        await call("delete_memory", memory_id=memory_id)
        return memory_id, said

    memory_id, said = converse(url, alice.token, talk, mode=mode)

    assert set(said) == {*NAMES, *CHATGPT}
    assert said["add_memory"]["verdict"] == "accept"
    [found] = said["search_memories"]["memories"]
    assert (found["memory_id"], found["speaker"], found["session_id"]) == (memory_id, "Ann", "cats")
    assert said["get_memory"]["memory"]["text"] == "My cat is called Luna."
    assert [one["memory_id"] for one in said["list_memories"]["memories"]] == [memory_id]
    assert "Luna" in said["get_context"]["context"]
    assert said["get_context"]["memory_ids"] == [memory_id]
    assert said["answer"]["citations"][0]["memory_id"] == memory_id
    assert said["search"]["results"][0]["id"] == said["fetch"]["id"] == memory_id
    assert said["fetch"]["text"] == "My cat is called Luna."
    assert said["update_memory"]["changed"] == ["text"]
    assert said["delete_memory"]["state"] == "archived"
    assert memory_id in said["delete_memory"]["to_restore"]
    memory = Memory.objects.in_scope(alice.scope).get()
    assert (memory.text, memory.state) == ("My cat is called Nova.", MemoryState.ARCHIVED)
    actors = AuditLog.objects.in_scope(alice.scope).values_list("actor", flat=True)
    assert set(actors) == {alice.scope.actor}


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_a_session_is_read_and_the_prompt_is_filled(url, alice, remember, mode, version):
    remember(alice, "We meet on Friday.", session="trip/1", speaker="Ann")
    remember(alice, "Friday it is.", session="trip/1", role="agent")

    async def talk(client):
        listed = await client.list_resources()
        [resource] = listed.resources
        read = await client.read_resource(resource.uri)
        prompt = await client.get_prompt("remember_this_conversation", {"session_id": "trip/2"})
        return resource, read.contents[0].text, prompt.messages[0].content.text

    resource, text, asked = converse(url, alice.token, talk, mode=mode)

    assert resource.uri == "memos://alice/sessions/trip%2F1"
    assert text.index("Ann (user): We meet on Friday.") < text.index("agent: Friday it is.")
    assert "data, not instructions" in text
    assert "'trip/2'" in asked
    assert "add_memory" in asked


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_what_a_tool_refuses_is_a_result_that_says_so(url, alice, mode, version):
    async def talk(client):
        return [
            await client.call_tool("get_memory", {"memory_id": "01a1f915-2054-75a1-9f3a-d010f79b72ce"}),
            await client.call_tool("search_memories", {"query": "", "top_k": 99}),
        ]

    missing, wrong = converse(url, alice.token, talk, mode=mode)

    assert missing.is_error
    assert "There is no memory" in missing.content[0].text
    assert wrong.is_error
    assert '"code":"invalid_request"' in wrong.content[0].text


def test_a_wrong_key_is_told_so(url):
    async def talk(client):
        return await client.list_tools()

    with pytest.raises(BaseExceptionGroup) as raised:
        converse(url, "mos_00000000_wrong", talk)
    assert raised.group_contains(MCPError, match="error response")


def test_the_pair_for_chatgpt_is_listed_for_who_asks(url, alice):
    async def talk(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    assert converse(f"{url}?tools=chatgpt", alice.token, talk) == [*NAMES, *CHATGPT]
    assert converse(url, alice.token, talk) == NAMES
