"""hindsight's own client, unmodified, against a MemOS server: the guide's program."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from memory.models import Memory
from tests.docs.pages import DOCS, ROOT, blocks

GUIDE = (DOCS / "guides" / "existing-clients.md").read_text("utf-8").partition("## hindsight's clients\n")[2]
PYTHON = ROOT / ".venv-clients" / "bin" / "python"

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not PYTHON.exists(), reason="hindsight-client is not installed: make install-clients"),
]


def run(program: str, url: str, key: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PYTHON), "-W", "ignore", "-c", program.replace("http://127.0.0.1:8000", url)],
        env={"PATH": os.environ["PATH"], "MEMOS_API_KEY": key, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_guides_program(live_server: Any, make_tenant: Any):
    tenant = make_tenant("launch")
    program, printed = [block.text for block in blocks(GUIDE) if block.language in ("python", "text")]
    done = run(program, live_server.url, tenant.token)

    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
    assert set(Memory.objects.in_scope(tenant.scope).values_list("role", flat=True)) == {"user"}


def test_its_async_methods_and_what_it_makes_of_an_error(live_server: Any, alice: Any):
    program = """
import asyncio, os, uuid
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import ApiException

async def main():
    client = Hindsight(base_url="http://127.0.0.1:8000", api_key=os.environ["MEMOS_API_KEY"])
    once = str(uuid.uuid4())
    for _ in range(2):
        done = await client.aretain("alice", "The ferry leaves at nine.", retain_async=True, operation_id=once,
                                    metadata={"port": "Kiel"}, context="timetable")
        print(done.success, done.items_count, done.var_async)
    found = await client.arecall("alice", "When does the ferry leave?", budget="low", include_entities=True)
    print([(one.text, one.type, one.context, one.metadata) for one in found.results])
    print((await client.alist_memories("alice", search_query="ferry")).items[0].metadata)
    try:
        await client.arecall("bob", "What does Bob know?")
    except ApiException as error:
        print(error.status, "not_found" in error.body)
    await client.aclose()

asyncio.run(main())
"""
    done = run(program, live_server.url, alice.token)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "True 1 False",
        "True 1 False",
        "[('The ferry leaves at nine.', 'world', 'timetable', {'port': 'Kiel'})]",
        "{'port': 'Kiel'}",
        "404 True",
    ]


def test_a_bank_is_deleted(live_server: Any, alice: Any):
    program = """
import os
from hindsight_client import Hindsight

client = Hindsight(base_url="http://127.0.0.1:8000", api_key=os.environ["MEMOS_API_KEY"])
client.retain("alice", "The ferry leaves at nine.")
for _ in range(2):
    client.delete_bank("alice")
print(client.recall("alice", "When does the ferry leave?").results, client.list_memories("alice").total)
client.close()
"""
    done = run(program, live_server.url, alice.token)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "[] 0\n"
