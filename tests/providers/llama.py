"""A real language model for tests: SmolLM2-135M-Instruct under llama.cpp's server, one for all tests of a process.

It is too small to answer people; it is real on the wire: tokens, streams, schemas, cached prompts, cancelled calls.
Keep prompts short (200 tokens take a second or two), and ask nothing of its wits.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = "smollm2"


@dataclass(frozen=True)
class Llama:
    """A running server: `url` is its OpenAI-compatible address, `folder` the place where it saves slots."""

    url: str
    folder: Path

    def serve(self, settings: Any) -> None:
        """Configure the server as the chat model for every purpose."""
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_PROVIDER = "llamacpp"
        settings.MEMOS_LLM_BASE_URL = self.url
        settings.MEMOS_LLM_MODEL = MODEL
        # Much more time than the model needs, since the machine may be busy with other work.
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 300.0


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("slots")
    command = [sys.executable, "-m", "tests.providers.llama_server", str(port), str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        ready = server.stdout.readline()
        assert ready, f"the server of the small model ended with {server.wait()}: run make install-dev"
        yield Llama(f"http://127.0.0.1:{port}/v1", folder)
        server.stdin.close()
        server.wait(30)
