"""Holds the messages of a start to its supervisor, and prints them. It does not load Django."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos_site.servers import in_environment


@dataclass(frozen=True, slots=True)
class StartSettings:
    """Holds the settings that the supervisor of the servers needs.

    `address`: the URL of the web server; `public_address`: the URL for programs on other machines. `embedding`: the
    arguments of the embedding process, None if none is needed. `hf_idle_seconds`: how long the process of local models
    stays without requests.
    """

    address: str
    public_address: str
    demo: bool
    logging: dict[str, Any]
    embedding: list[str] | None
    hf_idle_seconds: float


@dataclass(frozen=True, slots=True)
class FirstStart:
    """Holds what this start created; None for what existed already. Password and key cannot be shown again."""

    admin_user: str | None
    admin_password: str | None
    api_key: str | None
    demo_memories: int


def list_secrets(made: FirstStart, folder: Path) -> list[str]:
    """Returns lines with the login and key that this start created, or with the commands that make others."""
    python = f"{in_environment(folder)}.venv/bin/python manage.py"
    login = f"  login      made at the first start (forgotten: {python} changepassword {made.admin_user or 'admin'})"
    if made.admin_user:
        shown = made.admin_password or "(the one in MEMOS_ADMIN_PASSWORD)"
        login = f"  login      {made.admin_user} / {shown}    (shown once)"
    key = f"  API key    another: {python} issue_api_key NAME --all-namespaces"
    if made.api_key:
        key = f"  API key    {made.api_key}    (shown once)"
    return [login, key]


def announce(address: str, folder: Path, made: FirstStart, *, demo: bool) -> None:
    """Prints the addresses of MemOS, and what to try first."""
    shown_key = made.api_key or "$MEMOS_API_KEY"
    route, body = "/v1/ingest", '{"namespace": "mine", "text": "I prefer the train to the plane."}'
    if demo:
        route = "/v1/query"
        body = '{"namespace": "demo", "query": "How many working days does the store review need?", "lean": true}'
    lines = [
        "",
        f"  MemOS is up at {address}",
        "",
        f"  console    {address}/ops/",
        f"  admin      {address}/admin/",
        f"  API docs   {address}/docs",
        f"  data       {folder}",
        f"  logs       {folder / 'logs'}",
        *list_secrets(made, folder),
    ]
    lines += [
        "",
        "  Try it:",
        "",
        f'    curl -s {address}{route} -H "Authorization: Bearer {shown_key}" \\',
        f"      -H 'Content-Type: application/json' -d '{body}'",
        "",
        "  Ctrl-C stops everything; the data stay.",
        "",
    ]
    print("\n".join(lines), flush=True)
