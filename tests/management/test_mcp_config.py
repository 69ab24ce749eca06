"""`mcp_config` prints the lines in the guide, with a key that opens `/mcp`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from memory.management.mcp_clients import CLIENTS
from memory.models import ApiKey, Memory, Namespace
from tests.api.mcp.client import ask, standalone, work
from tests.docs.pages import DOCS, blocks

pytestmark = pytest.mark.django_db

GUIDE = (DOCS / "guides" / "coding-agents.md").read_text("utf-8")
URL = "http://127.0.0.1:8000/mcp"


def printed(*arguments: str) -> tuple[str, str]:
    """Return the printed lines, and the messages on standard error."""
    out, said = StringIO(), StringIO()
    call_command("mcp_config", *arguments, stdout=out, stderr=said)
    return out.getvalue(), said.getvalue()


def key_in(lines: str) -> str:
    return "mos_" + lines.partition("mos_")[2].partition('"')[0]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_guide_shows_the_lines(name, settings):
    settings.MEMOS_ADDRESS = "http://127.0.0.1:8000"
    lines, said = printed(name)

    section = GUIDE.partition(f"## {CLIENTS[name].title}\n")[2].partition("\n## ")[0]
    [shown] = [block.text for block in blocks(section)]
    assert lines.replace(key_in(lines), "mos_…") == shown
    assert said.startswith(CLIENTS[name].place)
    assert "mos_" not in said


@pytest.mark.parametrize("name", CLIENTS)
def test_the_key_opens_the_door(name):
    lines, _ = printed(name, "--namespace", "ann")
    client = Client(headers={"Authorization": f"Bearer {key_in(lines)}"})

    assert work(client, "add_memory", text="My cat is called Luna.")["accepted"]
    assert Memory.objects.filter(namespace__name="ann").count() == 1
    assert ApiKey.objects.get().name == f"{CLIENTS[name].title} (MCP)"


def test_a_key_that_only_reads():
    lines, said = printed("cursor", "--read-only", "--namespace", "ann")
    client = Client(headers={"Authorization": f"Bearer {key_in(lines)}"})

    assert len(ask(client, "tools/list")["tools"]) == 5
    assert "may read in ann" in said


KEY, HEADERS = "mos_…", {"Authorization": "Bearer mos_…"}
SHAPES: dict[str, Callable[[str], Any]] = {
    "claude-code": lambda url: (
        ["claude", "mcp", "add", "--transport", "http", "memos", url, "--header", f"Authorization: Bearer {KEY}"]
    ),
    "claude-desktop": lambda url: {
        "mcpServers": {
            "memos": {
                "command": "memos",
                "args": ["mcp"],
                "env": {"MEMOS_URL": url.removesuffix("/mcp"), "MEMOS_API_KEY": KEY},
            }
        }
    },
    "cursor": lambda url: {"mcpServers": {"memos": {"url": url, "headers": HEADERS}}},
    "vscode": lambda url: {"servers": {"memos": {"type": "http", "url": url, "headers": HEADERS}}},
    "codex": lambda url: {"mcp_servers": {"memos": {"url": url, "http_headers": HEADERS}}},
    "gemini-cli": lambda url: {"mcpServers": {"memos": {"httpUrl": url, "headers": HEADERS}}},
    "windsurf": lambda url: {"mcpServers": {"memos": {"serverUrl": url, "headers": HEADERS}}},
    "zed": lambda url: {"context_servers": {"memos": {"url": url, "headers": HEADERS}}},
    "opencode": lambda url: {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {"servers": {"memos": {"type": "remote", "url": url, "headers": HEADERS}}},
    },
}


def read_lines(name: str, lines: str) -> Any:
    """Parse the lines as the program does."""
    lines = lines.replace(key_in(lines), KEY)
    if name == "claude-code":
        return shlex.split(lines)
    return tomllib.loads(lines) if name == "codex" else json.loads(lines)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("address", ["https://memos.example.com/mcp", "https://example.com/memos/mcp"])
def test_each_program_is_told_in_its_own_form(name, address):
    lines, _ = printed(name, "--url", address)

    assert read_lines(name, lines) == SHAPES[name](address)


def test_the_address_is_that_of_the_running_server(settings):
    settings.MEMOS_ADDRESS = "https://memos.example.com"

    assert read_lines("cursor", printed("cursor")[0]) == SHAPES["cursor"]("https://memos.example.com/mcp")


@pytest.mark.parametrize(
    "url",
    ["memos", "ftp://x/mcp", "http://", "http://x/$(id)", 'http://x/"', "http://x/ y", "http://[", "http://x/`id`"],
)
def test_an_address_that_is_none_makes_no_key(url):
    with pytest.raises(CommandError, match="--url"):
        printed("claude-code", "--url", url)
    assert not ApiKey.objects.exists()
    assert not Namespace.objects.filter(name="default").exists()


@pytest.mark.django_db(transaction=True)
def test_the_program_of_the_guide_runs(live_server: Any, alice: Any):
    [program] = [block.text for block in blocks(GUIDE) if block.language == "python"]
    done = subprocess.run(
        [sys.executable, "-c", program.replace(URL, f"{live_server.url}/mcp")],
        env={"PATH": os.environ["PATH"], "MEMOS_API_KEY": alice.token, "NO_PROXY": "127.0.0.1,localhost"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "My cat is called Luna.\n", done.stderr


def test_every_tool_is_in_the_guide(alice):
    for tool in ask(alice.client, "tools/list")["tools"]:
        assert f"`{tool['name']}`" in GUIDE
    assert standalone("tools/list")[1]["MCP-Protocol-Version"] in GUIDE
