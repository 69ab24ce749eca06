"""Programs that speak the Model Context Protocol, and what each must be told to find this server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class McpClient:
    """`place`: where `lines(url, key)` belong."""

    title: str
    place: str
    lines: Callable[[str, str], str]


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)


def _for_claude_code(url: str, key: str) -> str:
    return f'claude mcp add --transport http memos {url} --header "Authorization: Bearer {key}"'


def _for_claude_desktop(url: str, key: str) -> str:
    # It starts local programs only; this one passes on to an address. No space in the arguments: on Windows they
    # would be cut there.
    plain = [] if url.startswith("https:") else ["--allow-http"]
    arguments = ["-y", "mcp-remote", url, "--header", "Authorization:${MEMOS_AUTHORIZATION}", *plain]
    server = {"command": "npx", "args": arguments, "env": {"MEMOS_AUTHORIZATION": f"Bearer {key}"}}
    return _as_json({"mcpServers": {"memos": server}})


def _for_cursor(url: str, key: str) -> str:
    return _as_json({"mcpServers": {"memos": {"url": url, "headers": {"Authorization": f"Bearer {key}"}}}})


def _for_vscode(url: str, key: str) -> str:
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}
    return _as_json({"servers": {"memos": server}})


def _for_codex(url: str, key: str) -> str:
    return f'[mcp_servers.memos]\nurl = "{url}"\nhttp_headers = {{ "Authorization" = "Bearer {key}" }}'


CLIENTS = {
    "claude-code": McpClient("Claude Code", "Run this in a shell:", _for_claude_code),
    "claude-desktop": McpClient(
        "Claude Desktop",
        "Put this into claude_desktop_config.json (Settings, Developer, Edit Config) and start the program again; it "
        "needs Node.js:",
        _for_claude_desktop,
    ),
    "cursor": McpClient("Cursor", "Put this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:", _for_cursor),
    "vscode": McpClient(
        "VS Code", "Put this into .vscode/mcp.json of a project, or where `MCP: Open User Configuration` leads:",
        _for_vscode,
    ),
    "codex": McpClient("Codex", "Put this into ~/.codex/config.toml:", _for_codex),
}  # fmt: skip
