"""Builds API requests as commands to copy, with the filters of a page, and without the key itself."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Snippets:
    """The same request in two forms. The key is read from the environment variable MEMOS_API_KEY."""

    curl: str
    python: str


def ask_api(request: HttpRequest, path: str, body: Mapping[str, Any]) -> Snippets:
    """Return a request to this server."""
    return snippets(request.build_absolute_uri("/").rstrip("/"), path, body)


def snippets(server: str, path: str, body: Mapping[str, Any]) -> Snippets:
    """Return a request to `server`, given without a final slash. Members of `body` that are None are left out."""
    given = {name: value for name, value in body.items() if value is not None}
    quoted = shlex.quote(json.dumps(given, ensure_ascii=False))
    curl = (
        f'curl -sS {server}{path} -H "Authorization: Bearer $MEMOS_API_KEY" \\\n'
        f'  -H "Content-Type: application/json" \\\n  -d {quoted}'
    )
    literal = pprint.pformat(given, sort_dicts=False, width=100).replace("\n", "\n    ")
    python = (
        "import os\n\nimport requests\n\n"
        f"answer = requests.post(\n    {server + path!r},\n"
        '    headers={"Authorization": f"Bearer {os.environ[\'MEMOS_API_KEY\']}"},\n'
        f"    json={literal},\n    timeout=30,\n)\n"
        "answer.raise_for_status()\nprint(answer.json())"
    )
    return Snippets(curl, python)
