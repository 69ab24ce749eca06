"""`mcp_config` prints the lines that the guide shows, with a key that opens `/mcp`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
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

GUIDE = (DOCS / "guides" / "mcp.md").read_text("utf-8")
URL = "http://127.0.0.1:8000/mcp"


def printed(*arguments: str) -> tuple[str, str]:
    """The lines, and what is said beside them."""
    out, said = StringIO(), StringIO()
    call_command("mcp_config", *arguments, stdout=out, stderr=said)
    return out.getvalue(), said.getvalue()


def key_in(lines: str) -> str:
    return "mos_" + lines.partition("mos_")[2].partition('"')[0]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_guide_shows_the_lines(name, settings):
    settings.MEMOS_PORT = 8000
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

    assert len(ask(client, "tools/list")["tools"]) == 7
    assert "may read in ann" in said


def read_address(name: str, lines: str) -> str:
    """The address, as the program reads it."""
    if name == "claude-code":
        return str(shlex.split(lines)[6])
    if name == "codex":
        return str(tomllib.loads(lines)["mcp_servers"]["memos"]["url"])
    server = next(iter(json.loads(lines).values()))["memos"]
    return str(server["url"] if "url" in server else server["args"][2])


@pytest.mark.parametrize("name", CLIENTS)
def test_another_address(name):
    lines, _ = printed(name, "--url", "https://memos.example.com/mcp")

    assert read_address(name, lines) == "https://memos.example.com/mcp"
    assert "--allow-http" not in lines


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", URL), ("::", URL), ("::1", "http://[::1]:8000/mcp"), ("10.0.0.5", "http://10.0.0.5:8000/mcp")],
)
def test_the_address_is_one_that_can_be_reached(settings, host, address):
    settings.MEMOS_HOST, settings.MEMOS_PORT = host, 8000

    assert read_address("cursor", printed("cursor")[0]) == address


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
