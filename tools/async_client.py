#!/usr/bin/env python
"""Generates the async twin of the Python client from client.py.

    .venv/bin/python tools/async_client.py

Methods that only forward a request return its awaitable. The few that wait themselves are listed here.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "sdk/python/src/memos_client"
SOURCE, TWIN = FOLDER / "client.py", FOLDER / "async_client.py"

_REPLACED = (
    (r"\A", "# Made from client.py by tools/async_client.py: change that one.\n"),
    ("The client. Every call raises", "The async client. Every call raises"),
    ("import contextlib\n", "import asyncio\nimport contextlib\n"),
    ("import Iterator, Mapping", "import AsyncIterator, Awaitable, Mapping"),
    (r"(?<!Async)\bIterator\[", "AsyncIterator["),
    (r"-> (types\.\w+)(:| \|)", r"-> Awaitable[\1]\2"),
    (r"\b(MemOS|Memories|Sessions|Documents|Imports|Changes)\b(?=[:(])", r"Async\1"),
    ("in a `with` block", "in an `async with` block"),
    (r"client: MemOS\)", "client: AsyncMemOS)"),
    (r"httpx2\.Client", "httpx2.AsyncClient"),
    (r"httpx2\.BaseTransport", "httpx2.AsyncBaseTransport"),
    (r"def (send|stream|all|start|follow|close|__enter__|__exit__)\(", r"async def \1("),
    (r"(async def start\([^)]*\) -> )Awaitable\[(types\.\w+)\]", r"\1\2"),
    (r"(?<= )(?<!return )self\._client\.send\(", "await self._client.send("),
    (r"files\.(measure|read_part)\(", r"await asyncio.to_thread(files.\1, "),
    (r"__(enter|exit)__", r"__a\1__"),
    (r"self\._http\.request\(", "await self._http.request("),
    (r"time\.sleep", "await asyncio.sleep"),
    (r"with self\._http\.stream", "async with self._http.stream"),
    (r"response\.read\(\)", "await response.aread()"),
    (r"for line in response\.iter_lines", "async for line in response.aiter_lines"),
    (r"self\._http\.close\(\)", "await self._http.aclose()"),
    (r"(?<=        )self\.close\(\)", "await self.close()"),
    (r"page = self\.list", "page = await self.list"),
    (r'( +)yield from page\["memories"\]', r'\1for memory in page["memories"]:\n\1    yield memory'),
)


def write_twin(source: str) -> str:
    """Return the source of the async client."""
    for pattern, replacement in _REPLACED:
        source, count = re.subn(pattern, replacement, source)
        if not count:
            raise SystemExit(f"client.py has nothing like {pattern!r} any more: mend tools/async_client.py.")
    return source


if __name__ == "__main__":
    TWIN.write_text(write_twin(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
