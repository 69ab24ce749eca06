"""The configuration with which programs that speak the Model Context Protocol find this server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class McpClient:
    """A program. `lines(url, key)` is its configuration, and `place` says where it belongs."""

    title: str
    place: str
    lines: Callable[[str, str], str]


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _for_claude_code(url: str, key: str) -> str:
    return f'claude mcp add --transport http memos {url} --header "Authorization: Bearer {key}"'


def _for_claude_desktop(url: str, key: str) -> str:
    # Claude Desktop starts local programs only, so `memos mcp` forwards to the server.
    parts = urlsplit(url)
    server = parts._replace(path=parts.path.removesuffix("/mcp"), query="", fragment="").geturl()
    entry = {"command": "memos", "args": ["mcp"], "env": {"MEMOS_URL": server, "MEMOS_API_KEY": key}}
    return _as_json({"mcpServers": {"memos": entry}})


def _for_cursor(url: str, key: str) -> str:
    return _as_json({"mcpServers": {"memos": {"url": url, "headers": _headers(key)}}})


def _for_vscode(url: str, key: str) -> str:
    return _as_json({"servers": {"memos": {"type": "http", "url": url, "headers": _headers(key)}}})


def _for_gemini_cli(url: str, key: str) -> str:
    # `url` would select server-sent events instead of streamable HTTP.
    return _as_json({"mcpServers": {"memos": {"httpUrl": url, "headers": _headers(key)}}})


def _for_windsurf(url: str, key: str) -> str:
    return _as_json({"mcpServers": {"memos": {"serverUrl": url, "headers": _headers(key)}}})


def _for_zed(url: str, key: str) -> str:
    return _as_json({"context_servers": {"memos": {"url": url, "headers": _headers(key)}}})


def _for_opencode(url: str, key: str) -> str:
    server = {"type": "remote", "url": url, "headers": _headers(key)}
    return _as_json({"$schema": "https://opencode.ai/config.json", "mcp": {"servers": {"memos": server}}})


def _for_codex(url: str, key: str) -> str:
    return f'[mcp_servers.memos]\nurl = "{url}"\nhttp_headers = {{ "Authorization" = "Bearer {key}" }}'


CLIENTS = {
    "claude-code": McpClient("Claude Code", "Run this in a shell:", _for_claude_code),
    "claude-desktop": McpClient(
        "Claude Desktop",
        "Put this into claude_desktop_config.json (Settings, Developer, Edit Config) and start the program again. It "
        "starts `memos`, which `pip install ./sdk/python` in a checkout of MemOS installs; where it is not found, "
        "write its whole path:",
        _for_claude_desktop,
    ),
    "cursor": McpClient("Cursor", "Put this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:", _for_cursor),
    "vscode": McpClient(
        "VS Code", "Put this into .vscode/mcp.json of a project, or where `MCP: Open User Configuration` leads:",
        _for_vscode,
    ),
    "codex": McpClient("Codex", "Put this into ~/.codex/config.toml:", _for_codex),
    "gemini-cli": McpClient(
        "Gemini CLI", "Put this into ~/.gemini/settings.json, or .gemini/settings.json of a project:", _for_gemini_cli
    ),
    "windsurf": McpClient("Windsurf", "Put this into ~/.codeium/windsurf/mcp_config.json:", _for_windsurf),
    "zed": McpClient("Zed", "Put this into Zed's settings.json (`zed: open settings file`):", _for_zed),
    "opencode": McpClient(
        "OpenCode", "Put this into ~/.config/opencode/opencode.json, or opencode.json of a project:", _for_opencode
    ),
}  # fmt: skip
