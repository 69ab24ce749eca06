"""`memos mcp`: the official client over standard input and output, and unavailable servers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memory.models import Memory
from tests.api.mcp.client import NEWEST_HANDSHAKE, STATELESS, message
from tests.sdk.flaky import flaky_proxy

pytestmark = pytest.mark.django_db(transaction=True)

FACT = "Priya reviews the migration."
HELLO = {"protocolVersion": NEWEST_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


def converse(
    memos: Path, url: str, key: str, talk: Callable[[Client], Awaitable[Any]], *, mode: str, **environment: str
) -> Any:
    """Connect the official client to `memos mcp`, have `talk` use it, and return its result."""
    environment |= {
        "PYTHONPATH": str(memos.parents[1]), "MEMOS_URL": url, "MEMOS_API_KEY": key, "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    server = StdioServerParameters(command=str(memos), args=["mcp"], env=environment)

    async def run() -> Any:
        async with Client(stdio_client(server), mode=mode) as client:
            return await talk(client)

    return asyncio.run(run())


@pytest.fixture
def memos(installed: Path) -> Path:
    """Return the path of the installed command."""
    return installed / "bin" / "memos"


@pytest.fixture
def start(memos: Path, alice: Any) -> Iterator[Callable[[str], Any]]:
    """Return a function that starts `memos mcp` for a server's address; the process ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(url: str, key: str = alice.token) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(memos.parents[1]), "NO_PROXY": "127.0.0.1"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [str(memos), "mcp", "--url", url, "--key", key]
        started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return started[-1]

    yield run
    for program in started:
        program.communicate(timeout=60)


def send(program: Any, *messages: Any) -> None:
    for one in messages:
        program.stdin.write((one if isinstance(one, str) else json.dumps(one)) + "\n")
    program.stdin.flush()


def read(program: Any) -> Any:
    return json.loads(program.stdout.readline())


def add(text: str, **named: Any) -> dict[str, Any]:
    return message("tools/call", {"name": "add_memory", "arguments": {"text": text}}, **named)


@pytest.mark.parametrize(("mode", "version"), [("auto", STATELESS), ("legacy", NEWEST_HANDSHAKE)])
def test_the_official_client_remembers_and_finds(memos, live_server, alice, mode, version):
    async def talk(client):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("add_memory", {"text": FACT, "session_id": "s1"})
        found = await client.call_tool("search_memories", {"query": "Who reviews the migration?"})
        [resource] = (await client.list_resources()).resources
        text = (await client.read_resource(resource.uri)).contents[0].text
        prompt = (await client.get_prompt("remember_this_conversation", {"session_id": "s1"})).messages[0].content.text
        several = [client.call_tool("search_memories", {"query": f"migration {n}"}) for n in range(5)]
        answers = await asyncio.gather(*several)
        return client.protocol_version, tools, found, text, prompt, answers

    spoken, tools, found, text, prompt, answers = converse(memos, live_server.url, alice.token, talk, mode=mode)

    assert spoken == version
    assert "add_memory" in tools
    assert json.loads(found.content[0].text)["memories"][0]["text"] == FACT
    assert FACT in text
    assert "'s1'" in prompt
    assert not any(answer.is_error for answer in answers)


@pytest.mark.parametrize("name", ["bob", "Zoë 夜"])
def test_the_environment_names_the_namespace_of_calls_that_name_none(memos, live_server, make_tenant, name):
    everywhere = make_tenant("default", all_namespaces=True)
    make_tenant(name)

    async def talk(client):
        await client.call_tool("add_memory", {"text": FACT, "session_id": "s1"})
        await client.call_tool("add_memory", {"text": "Elsewhere.", "namespace": "default"})
        found = await client.call_tool("search_memories", {"query": "Who reviews the migration?"})
        return found, (await client.list_resources()).resources

    named = {"mode": "legacy", "MEMOS_NAMESPACE": name}
    found, resources = converse(memos, live_server.url, everywhere.token, talk, **named)

    stored = Memory.objects.across_namespaces().values_list("namespace__name", "text")
    assert set(stored) == {(name, FACT), ("default", "Elsewhere.")}
    assert [one["text"] for one in json.loads(found.content[0].text)["memories"]] == [FACT]
    assert len(resources) == 1


def test_lines_are_answered_as_the_server_answers(start, live_server):
    program = start(live_server.url)

    send(program, message("initialize", HELLO), message("notifications/initialized") | {"id": 7}, "", "no json")
    answers = [read(program) for _ in range(3)]

    by_id = {answer.get("id"): answer for answer in answers}
    assert by_id[1]["result"]["serverInfo"]["name"] == "memos"
    assert by_id[7]["error"]["code"] == -32601
    assert by_id[None]["error"]["code"] == -32700
    send(program, {"jsonrpc": "2.0", "method": "notifications/initialized"}, message("ping", message_id="é夜"))
    assert read(program) == {"jsonrpc": "2.0", "id": "é夜", "result": {}}
    out, said = program.communicate(timeout=60)
    assert (out, said, program.returncode) == ("", "", 0)


def test_it_waits_for_a_server_that_is_away(start, live_server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    program = start(f"http://127.0.0.1:{port}")

    send(program, message("initialize", HELLO), add(FACT, message_id=2))
    told = program.stderr.readline()
    with flaky_proxy(live_server.url, port=port) as flaky:
        flaky.faults[:] = ["busy"]
        answers = {answer["id"]: answer for answer in (read(program), read(program))}
        out, _ = program.communicate(timeout=60)

    assert "does not answer" in told
    assert "Trying again" in told
    assert "result" in answers[1]
    assert not answers[2]["result"]["isError"]
    assert out == ""
    assert Memory.objects.across_namespaces().count() == 1


def test_what_may_have_been_done_is_not_sent_again(start, live_server):
    with flaky_proxy(live_server.url) as flaky:
        program = start(flaky.url)
        flaky.faults[:] = ["lost", "lost", "", "spent"]
        send(program, add(FACT))
        lost = read(program)
        send(program, message("tools/list", message_id=2))
        listed = read(program)
        send(program, message("ping", message_id=3))
        spent = read(program)
        _, said = program.communicate(timeout=60)

    assert "does not answer" in lost["error"]["message"]
    assert listed["result"]["tools"]
    assert "429" in spent["error"]["message"]
    assert said.count("does not answer") == 2
    assert Memory.objects.across_namespaces().count() == 1


def test_a_wrong_key_is_told_to_the_program_and_on_standard_error(start, live_server):
    program = start(live_server.url, "mos_00000000_wrong")

    send(program, message("initialize", HELLO))
    answer = read(program)
    _, said = program.communicate(timeout=60)

    assert answer["id"] == 1
    assert "401" in answer["error"]["message"]
    assert said.startswith("memos: ")
    assert "401" in said
